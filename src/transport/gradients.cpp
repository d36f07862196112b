// Conjugate gradients with vectors on the processor.
#include "transport/gradients.h"

#include "transport/kernel.h"

namespace remblai {
namespace {

class ProcessorGradients final : public Gradients {
 public:
  ProcessorGradients(const Kernel& kernel, const Hessian& hessian, const Vector& x,
                     const Vector& residual, const Vector* root)
      : kernel_(kernel), hessian_(hessian), root_(root), x_(x), residual_(residual) {
    if (root) return;
    const Vector squares = kernel.squares_transpose_times(hessian.weights);
    jacobi_ = (hessian.diagonal - hessian.b.cwiseAbs2().cwiseProduct(squares))
                  .cwiseMax(1e-6 * hessian.diagonal);
  }

  double begin(double) override {
    precondition();
    direction_ = z_;
    return residual_.lpNorm<1>();
  }

  std::optional<double> step(bool) override {
    const Vector sums =
        kernel_.fused(hessian_.b.cwiseProduct(direction_), RowRule::weigh(hessian_.weights));
    const Vector image = hessian_.diagonal.cwiseProduct(direction_) - hessian_.b.cwiseProduct(sums);
    const double curvature = direction_.dot(image);
    if (!(curvature > 0)) return std::nullopt;
    const double before = product_, length = before / curvature;
    x_ += length * direction_;
    residual_ -= length * image;
    precondition();
    direction_ = z_ + (product_ / before) * direction_;
    return residual_.lpNorm<1>();
  }

  void take(Vector& x, Vector& r) override {
    x = x_;
    r = residual_;
  }

 private:
  void precondition() {
    z_ = root_ ? Vector(kernel_.precondition(residual_.cwiseQuotient(*root_)).cwiseQuotient(*root_))
               : Vector(residual_.cwiseQuotient(jacobi_));
    product_ = residual_.dot(z_);
  }

  const Kernel& kernel_;
  const Hessian& hessian_;
  const Vector* root_;
  Vector jacobi_, x_, residual_, z_, direction_;
  double product_ = 0;  // r . z
};

}  // namespace

std::unique_ptr<Gradients> gradients_on_processor(const Kernel& kernel, const Hessian& hessian,
                                                  const Vector& x, const Vector& residual,
                                                  const Vector* root) {
  return std::make_unique<ProcessorGradients>(kernel, hessian, x, residual, root);
}

}  // namespace remblai
