// Functions of every entry of a vector, by those of the standard library. Eigen's own take another
// way for the last entries of a vector, so a result would depend on how a vector is divided.
#pragma once

#include <cmath>

#include "remblai/types.h"

namespace remblai {

inline Vector log_of(const Vector& x) {
  return x.unaryExpr([](double value) { return std::log(value); });
}
inline Vector log2_of(const Vector& x) {
  return x.unaryExpr([](double value) { return std::log2(value); });
}
inline Vector exp_of(const Vector& x) {
  return x.unaryExpr([](double value) { return std::exp(value); });
}
inline Vector expm1_of(const Vector& x) {
  return x.unaryExpr([](double value) { return std::expm1(value); });
}

}  // namespace remblai
