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

  Residual begin() override {
    const Residual first = precondition();
    direction_ = z_;
    return first;
  }

  std::optional<Residual> step(double product) override {
    const Vector sums =
        kernel_.fused(hessian_.b.cwiseProduct(direction_), RowRule::weigh(hessian_.weights));
    const Vector image = hessian_.diagonal.cwiseProduct(direction_) - hessian_.b.cwiseProduct(sums);
    const double curvature = direction_.dot(image);
    if (!(curvature > 0)) return std::nullopt;
    const double length = product / curvature;
    x_ += length * direction_;
    residual_ -= length * image;
    const Residual next = precondition();
    direction_ = z_ + (next.product / product) * direction_;
    return next;
  }

  void take(Vector& x, Vector& r) override {
    x = x_;
    r = residual_;
  }

 private:
  Residual precondition() {
    z_ = root_ ? Vector(kernel_.precondition(residual_.cwiseQuotient(*root_)).cwiseQuotient(*root_))
               : Vector(residual_.cwiseQuotient(jacobi_));
    return {residual_.dot(z_), residual_.lpNorm<1>()};
  }

  const Kernel& kernel_;
  const Hessian& hessian_;
  const Vector* root_;
  Vector jacobi_, x_, residual_, z_, direction_;
};

}  // namespace

std::unique_ptr<Gradients> gradients_on_processor(const Kernel& kernel, const Hessian& hessian,
                                                  const Vector& x, const Vector& residual,
                                                  const Vector* root) {
  return std::make_unique<ProcessorGradients>(kernel, hessian, x, residual, root);
}

}  // namespace remblai
