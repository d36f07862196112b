// The few types that all parts share. Points are rows, so matrices are row-major: one point is one
// contiguous run of memory.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <utility>

namespace remblai {

// Matrices are allocated on one side of the interface and freed on the other, and Eigen's allocator
// depends on this number. The CMake target sets it.
static_assert(EIGEN_MAX_ALIGN_BYTES == 64, "compile with -DEIGEN_MAX_ALIGN_BYTES=64");

using Index = Eigen::Index;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// A matrix to read: a Matrix, or rows in the caller's own memory, which are not copied.
using MatrixView = Eigen::Ref<const Matrix>;
using Vector = Eigen::VectorXd;
using Labels = Eigen::Matrix<std::int64_t, Eigen::Dynamic, 1>;
using PointPair = std::pair<Matrix, Matrix>;  ///< points of the source and of the target

}  // namespace remblai
