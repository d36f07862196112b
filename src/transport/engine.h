// Where the dense linear algebra of a fit is done: threads of BLAS, and a GPU where one is asked
// for or the plan goes there too.
#pragma once

#include <memory>
#include <optional>

#include "base/engine.h"
#include "base/linalg.h"
#include "remblai/resources.h"

namespace remblai {

/// The GPU that takes a problem of m x n pairs, or none. A GPU that was asked for and is not there
/// throws Error; one that was not is taken where the problem is large enough to win.
std::optional<int> gpu_for(const Resources& resources, Index m, Index n);

/// An engine of this GPU. It is kept when it is not needed any more, for who asks next. nullptr in
/// a build without CUDA. Throws Error where the GPU cannot be used; one that was asked for also
/// when it fails later.
std::shared_ptr<linalg::Engine> make_cuda_engine(int gpu, bool asked_for);

/// The engine for a problem of m x n pairs, on the GPU that `gpu_for` says; null where the
/// processor does it all, or the thread has an engine already.
std::shared_ptr<linalg::Engine> make_engine(const Resources& resources, Index m, Index n);

/// While it lives, the linear algebra of this thread has so many threads, and the engine of these
/// resources.
class DenseWork {
 public:
  DenseWork(int threads, const Resources& resources, Index m, Index n)
      : threads_(threads), engine_(make_engine(resources, m, n)) {}

 private:
  linalg::Threads threads_;
  linalg::OnEngine engine_;
};

}  // namespace remblai
