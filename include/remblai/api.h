// The mark of what the shared library exports. Every function and class that these headers declare
// and that is not inline carries it; everything else in the library is hidden. REMBLAI_LOCAL hides
// a type inside a class that is exported.
#pragma once

#if defined(__GNUC__)
#define REMBLAI_API __attribute__((visibility("default")))
#define REMBLAI_LOCAL __attribute__((visibility("hidden")))
#else
#define REMBLAI_API
#define REMBLAI_LOCAL
#endif
