// Models as files: a .npz that NumPy opens, with a format version.
#pragma once

#include <string>

#include "remblai/api.h"
#include "remblai/model.h"

namespace remblai {

/// Writes a model to a file, as a whole or not at all. Throws Error for the model of one of several
/// ranks: `gathered` gives the one to write.
REMBLAI_API void save(const Model& model, const std::string& path);

/// Loads a model that `save` wrote. Its predictions are the same bit for bit. Throws Error for any
/// other file.
REMBLAI_API Model load(const std::string& path);

/// True when the file is a .npz with the arrays by which a model is known. Its content is not
/// checked. Throws Error when a file of that name cannot be read.
REMBLAI_API bool is_model_file(const std::string& path);

}  // namespace remblai
