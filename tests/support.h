// Small deterministic inputs for the tests: random matrices, weights and a two-domain problem.
// Uniform bits come from std::mt19937_64 and normals from Box-Muller, the same on every platform.
#pragma once

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <numbers>
#include <random>
#include <string>

#include "remblai/domain.h"
#include "remblai/error.h"

namespace remblai::test {

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// Uniform in (0, 1).
inline double uniform(std::mt19937_64& engine) {
  return (static_cast<double>(engine() >> 11) + 0.5) * 0x1p-53;
}

/// Independent standard normals.
inline Matrix random_matrix(Index rows, Index cols, unsigned seed) {
  std::mt19937_64 engine(seed);
  Matrix values(rows, cols);
  for (Index i = 0; i < values.size(); ++i) {
    const double radius = std::sqrt(-2 * std::log(uniform(engine)));
    values.data()[i] = radius * std::cos(2 * std::numbers::pi * uniform(engine));
  }
  return values;
}

/// Columns orthonormal to rounding (Gram-Schmidt, twice).
inline Matrix random_orthogonal(Index d, unsigned seed) {
  Matrix q = random_matrix(d, d, seed);
  for (Index j = 0; j < d; ++j) {
    for (int pass = 0; pass < 2; ++pass)
      for (Index k = 0; k < j; ++k) q.col(j) -= q.col(k).dot(q.col(j)) * q.col(k);
    q.col(j) /= q.col(j).norm();
  }
  return q;
}

/// Eigenvalues spread evenly on a logarithmic scale from 1 down to 1/condition.
inline Matrix random_spd(Index d, double condition, unsigned seed) {
  const Matrix q = random_orthogonal(d, seed);
  Vector values(d);
  for (Index i = 0; i < d; ++i)
    values(i) =
        std::pow(condition, -static_cast<double>(i) / static_cast<double>(d > 1 ? d - 1 : 1));
  const Matrix a = q * values.asDiagonal() * q.transpose();
  return (a + a.transpose()) / 2;
}

/// Positive, summing to 1.
inline Vector random_weights(Index n, unsigned seed) {
  std::mt19937_64 engine(seed);
  Vector weights(n);
  for (Index i = 0; i < n; ++i) weights(i) = 0.1 + uniform(engine);
  return weights / weights.sum();
}

/// Two labelled classes (labels 3 and 7, alternating) far apart in the first coordinate; the target
/// is another draw, turned by 0.5 in the first plane, stretched and shifted. The classes can be
/// told apart after transport. d >= 2.
inline Problem small_problem(Index m = 30, Index n = 40, Index d = 5, unsigned seed = 1) {
  const auto draw = [d](Index size, unsigned draw_seed) {
    Domain domain;
    domain.points = random_matrix(size, d, draw_seed);
    domain.labels.resize(size);
    for (Index i = 0; i < size; ++i) {
      domain.labels(i) = i % 2 ? 7 : 3;
      domain.points(i, 0) += i % 2 ? 4 : -4;
    }
    return domain;
  };
  Problem problem;
  problem.source = draw(m, 2 * seed);
  problem.target = draw(n, 2 * seed + 1);
  Matrix& z = problem.target.points;
  const Vector first = z.col(0), second = z.col(1);
  z.col(0) = std::cos(0.5) * first - std::sin(0.5) * second;
  z.col(1) = std::sin(0.5) * first + std::cos(0.5) * second;
  z.col(d - 1) *= 1.5;
  z.array() += 1;
  return problem;
}

/// A path that no other test has, though each runs in a process of its own and several at a time.
inline std::string scratch_path(const std::string& name) {
  return (std::filesystem::temp_directory_path() / (name + "-" + std::to_string(getpid())))
      .string();
}

/// The message of the Error that `call` throws; empty when it throws none.
template <class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Largest absolute entry of a - b; infinite when the shapes differ or an entry is not a number.
inline double difference(const Matrix& a, const Matrix& b) {
  const bool same = a.rows() == b.rows() && a.cols() == b.cols() && a.allFinite() && b.allFinite();
  if (!same) return HUGE_VAL;
  return a.size() ? (a - b).cwiseAbs().maxCoeff() : 0;
}

}  // namespace remblai::test
