// Dense linear algebra on a GPU: a stream, a handle of cuBLAS and memory of its own for each
// engine, so that several work side by side and none changes the bits of another.
#pragma once

#include <memory>
#include <vector>

#include "base/engine.h"
#include "transport/cuda/channel.h"
#include "transport/cuda/ridge_cuda.h"
#include "transport/cuda/runtime.h"

namespace remblai::cuda {

class CudaEngine final : public linalg::Engine {
 public:
  explicit CudaEngine(int gpu);

  /// A GPU that was asked for throws where it fails; otherwise its engine says so, and rests.
  void insist(bool asked_for) { insists_ = asked_for; }

  ~CudaEngine() override;

  bool worth(double multiplications, double numbers) const override;
  bool multiply(const linalg::Operand& a, const linalg::Operand& b, double alpha,
                double* c) override;
  void start_sum(Index rows, Index columns) override;
  void add_to_sum(const linalg::Operand& a, const linalg::Operand& b) override;
  bool fetch_sum(double* c) override;
  bool inverse_fourth_root(Index order, const double* m, double least, double* root,
                           double& trace) override;

  bool ridge(const linalg::RidgeTask& task, linalg::RidgeFit& fit) override;

  /// Gives large memory back. False where it failed and is of no use any more.
  bool rest();

 private:
  // Y and Z of the iteration that makes M^(1/2) and M^(-1/2) of M, with two more to write to.
  struct Roots {
    Buffer<double> y, z, next, step;
  };

  template <class Work>
  bool attempt(Work&& work);
  void product(const linalg::Operand& a, const linalg::Operand& b, double alpha, double* c);
  void tall_product(const linalg::Operand& a, const linalg::Operand& b, double* c);
  void add(const linalg::Operand& a, const linalg::Operand& b);
  void take_sum(double* c);
  bool fourth_root(Index order, const double* m, double least, double* root, double& trace);
  void settle() const;
  std::vector<Buffer<double>*> buffers();
  void fetch(const Buffer<double>& from, Index count, double* to);
  void send(const linalg::Operand& a, Buffer<double>& to);
  void square_product(Index order, const Buffer<double>& a, const Buffer<double>& b,
                      Buffer<double>& c) const;
  bool make_roots(Index order, double least);

  int gpu_ = 0;
  bool insists_ = true, failed_ = false;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<Blas> blas_;
  Channel channel_;
  Buffer<std::byte> workspace_;
  Buffer<double> left_, right_, product_, sum_;
  Index sum_rows_ = 0, sum_columns_ = 0, summed_ = 0;
  bool symmetric_ = false;  // the sum
  Roots roots_;
  Buffer<double> by_row_;
  std::unique_ptr<CudaRidge> ridge_;
};

}  // namespace remblai::cuda
