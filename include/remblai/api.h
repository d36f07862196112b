// The mark of what the shared library exports. Every function and class that these headers declare
// and that is not inline carries it; everything else in the library is hidden.
#pragma once

#if defined(__GNUC__)
#define REMBLAI_API __attribute__((visibility("default")))
#else
#define REMBLAI_API
#endif
