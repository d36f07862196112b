// Models as files: an .npz that NumPy opens, with a format version.
#pragma once

#include <string>

#include "remblai/api.h"
#include "remblai/model.h"

namespace remblai {

/// Writes the whole model or nothing.
REMBLAI_API void save(const Model& model, const std::string& path);

/// Loads what save wrote; the predictions are the same bit for bit. Throws Error on another file.
REMBLAI_API Model load(const std::string& path);

/// True when the file looks like one of ours.
REMBLAI_API bool is_model_file(const std::string& path);

}  // namespace remblai
