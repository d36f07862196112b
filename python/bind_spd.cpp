// Functions of symmetric positive definite matrices.
#include <vector>

#include "arrays.h"
#include "bindings.h"
#include "remblai/options.h"
#include "remblai/spd.h"

namespace remblai::python {

using namespace nb::literals;

void bind_spd(nb::module_& core) {
  const auto unary = [&](const char* function, Matrix (*of)(const Matrix&), const char* help) {
    core.def(
        function, [of](const MatrixIn& a) { return give(unlocked([&] { return of(read(a)); })); },
        "a"_a, help);
  };
  unary("spd_sqrt", spd::sqrt, "square root");
  unary("spd_inverse_sqrt", spd::inverse_sqrt, "inverse square root");
  unary("spd_log", spd::log, "logarithm, a symmetric matrix");
  unary("spd_exp", spd::exp, "exponential of a symmetric matrix");
  unary("spd_inverse", spd::inverse, "inverse");
  core.def(
      "spd_power",
      [](const MatrixIn& a, double exponent) {
        return give(unlocked([&] { return spd::power(read(a), exponent); }));
      },
      "a"_a, "exponent"_a, "real power");
  const auto between = [&](const char* function, Matrix (*of)(const Matrix&, const Matrix&, double),
                           const char* help) {
    core.def(
        function,
        [of](const MatrixIn& a, const MatrixIn& b, double t) {
          return give(unlocked([&] { return of(read(a), read(b), t); }));
        },
        "a"_a, "b"_a, "t"_a = Options().geodesic, help);
  };
  between("spd_geometric_mean", spd::geometric_mean, "A #_t B");
  between("spd_geodesic", spd::geodesic, "the point at t of the geodesic from A to B");
  between("spd_riccati", spd::riccati, "C^-1 #_t D; for t = 1/2 the solution A of A C A = D");
  core.def(
      "spd_distance",
      [](const MatrixIn& a, const MatrixIn& b) {
        return unlocked([&] { return spd::distance(read(a), read(b)); });
      },
      "a"_a, "b"_a, "affine-invariant distance");
  using Stack = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
  core.def(
      "spd_karcher_mean",
      [](const Stack& matrices) {
        std::vector<Matrix> all;
        const auto rows = static_cast<Index>(matrices.shape(1));
        const auto columns = static_cast<Index>(matrices.shape(2));
        for (std::size_t k = 0; k < matrices.shape(0); ++k)
          all.emplace_back(Eigen::Map<const Matrix>(
              matrices.data() + static_cast<Index>(k) * rows * columns, rows, columns));
        return give(unlocked([&] { return spd::karcher_mean(all); }));
      },
      "matrices"_a, "the mean under the affine-invariant distance");
}

}  // namespace remblai::python
