// NumPy arrays in and out. What comes in is read where it lies; what goes out is not copied: an
// array owns the matrix that was returned to it, or keeps the model alive that it is a view of.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <optional>
#include <utility>

#include "remblai/predict.h"
#include "remblai/types.h"

namespace remblai::python {

namespace nb = nanobind;

// Arguments: C order, float64 or int64, read-only arrays included.
using MatrixIn = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using VectorIn = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using LabelsIn = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline Eigen::Map<const Matrix> read(const MatrixIn& a) {
  return {a.data(), static_cast<Index>(a.shape(0)), static_cast<Index>(a.shape(1))};
}
inline Eigen::Map<const Vector> read(const VectorIn& a) {
  return {a.data(), static_cast<Index>(a.shape(0))};
}
inline Eigen::Map<const Labels> read(const LabelsIn& a) {
  return {a.data(), static_cast<Index>(a.shape(0))};
}

// What an optional argument holds, or nothing.
template <class Out, class In>
Out value_or_empty(const std::optional<In>& array) {
  return array ? Out(read(*array)) : Out();
}

// Results: arrays that own their memory.
using MatrixOut = nb::ndarray<nb::numpy, double, nb::ndim<2>, nb::c_contig>;
using VectorOut = nb::ndarray<nb::numpy, double, nb::ndim<1>, nb::c_contig>;
using LabelsOut = nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>, nb::c_contig>;

// Views: read-only arrays into an object that Python holds.
using ReadOnlyMatrix = nb::ndarray<nb::numpy, const double, nb::ndim<2>, nb::c_contig>;
using ReadOnlyVector = nb::ndarray<nb::numpy, const double, nb::ndim<1>, nb::c_contig>;
using ReadOnlyLabels = nb::ndarray<nb::numpy, const std::int64_t, nb::ndim<1>, nb::c_contig>;

template <class Values>
std::pair<Values*, nb::capsule> keep(Values values) {
  auto kept = std::make_unique<Values>(std::move(values));
  nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<Values*>(p); });
  return {kept.release(), std::move(owner)};
}

inline MatrixOut give(Matrix values) {
  const auto [kept, owner] = keep(std::move(values));
  const auto rows = static_cast<std::size_t>(kept->rows());
  const auto columns = static_cast<std::size_t>(kept->cols());
  return MatrixOut(kept->data(), {rows, columns}, owner);
}
inline VectorOut give(Vector values) {
  const auto [kept, owner] = keep(std::move(values));
  return VectorOut(kept->data(), {static_cast<std::size_t>(kept->size())}, owner);
}
inline LabelsOut give(Labels values) {
  const auto [kept, owner] = keep(std::move(values));
  return LabelsOut(kept->data(), {static_cast<std::size_t>(kept->size())}, owner);
}

inline nb::tuple give(ClassShares shares) {
  return nb::make_tuple(give(std::move(shares.classes)), give(std::move(shares.shares)));
}

inline ReadOnlyMatrix view(const Matrix& values, nb::handle owner) {
  const auto rows = static_cast<std::size_t>(values.rows());
  const auto columns = static_cast<std::size_t>(values.cols());
  return ReadOnlyMatrix(values.data(), {rows, columns}, owner);
}
inline ReadOnlyVector view(const Vector& values, nb::handle owner) {
  return ReadOnlyVector(values.data(), {static_cast<std::size_t>(values.size())}, owner);
}
inline ReadOnlyLabels view(const Labels& values, nb::handle owner) {
  return ReadOnlyLabels(values.data(), {static_cast<std::size_t>(values.size())}, owner);
}

/// Runs `work` without the interpreter's lock. It must not touch a Python object.
template <class Work>
auto unlocked(Work&& work) {
  nb::gil_scoped_release release;
  return work();
}

}  // namespace remblai::python
