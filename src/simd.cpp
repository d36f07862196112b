// The inner loops of the transport engine, compiled once for each instruction set by Highway.
// Every loop runs over full vectors, then over the rest one number at a time.
#include "simd.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace remblai::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<double>;
using Single = hn::CappedTag<double, 1>;
using Size = std::size_t;

// 2^x = 2^n 2^r with n the nearest integer. Adding 1.5 * 2^52 leaves n in the low bits of the sum,
// from where it is shifted into the exponent. The polynomial interpolates 2^r on [-1/2, 1/2] at
// Chebyshev nodes: relative error 4e-18 before rounding.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp2_vector(D d, V x) {
  const V lowest = hn::Set(d, -1000.0);
  const auto vanishes = hn::Lt(x, lowest);
  x = hn::Min(hn::Max(x, lowest), hn::Set(d, 1000.0));
  const V magic = hn::Set(d, 6755399441055744.0);
  const V shifted = hn::Add(x, magic);
  const V r = hn::Sub(x, hn::Sub(shifted, magic));
  const V r2 = hn::Mul(r, r);
  const V r4 = hn::Mul(r2, r2);
  const auto pair = [&](double even, double odd) {
    return hn::MulAdd(r, hn::Set(d, odd), hn::Set(d, even));
  };
  const V p01 = pair(1.0, 0.6931471805599453);
  const V p23 = pair(0.24022650695910158, 0.055504108664821625);
  const V p45 = pair(0.009618129107587256, 0.001333355814640647);
  const V p67 = pair(0.00015403530463724353, 1.5252733841556773e-05);
  const V p89 = pair(1.3215432535912375e-06, 1.0178057087733941e-07);
  const V p1011 = pair(7.074194297288521e-09, 4.4558179083360645e-10);
  const V low = hn::MulAdd(r2, p23, p01);
  const V middle = hn::MulAdd(r2, p67, p45);
  const V high = hn::MulAdd(r2, p1011, p89);
  const V p = hn::MulAdd(r4, hn::MulAdd(r4, high, middle), low);
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::Add(hn::BitCast(du, p), hn::ShiftLeft<52>(hn::BitCast(du, shifted)));
  return hn::IfThenZeroElse(vanishes, hn::BitCast(d, bits));
}

// Calls body(tag, j) for j = 0, lanes, 2 lanes, ... and then for every number left.
template <class Body>
HWY_INLINE void for_lanes(Index n, Body&& body) {
  const Wide wide;
  const Index lanes = static_cast<Index>(hn::Lanes(wide));
  Index j = 0;
  for (; j + lanes <= n; j += lanes) body(wide, j);
  for (; j < n; ++j) body(Single(), j);
}

// A sum that takes vectors and single numbers alike.
struct Sum {
  hn::Vec<Wide> wide;
  hn::Vec<Single> single;

  HWY_INLINE Sum() : wide(hn::Zero(Wide())), single(hn::Zero(Single())) {}

  template <class D>
  HWY_INLINE auto& part(D) {
    if constexpr (std::is_same_v<D, Wide>)
      return wide;
    else
      return single;
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE void add(D d, V x) {
    part(d) = hn::Add(part(d), x);
  }
  template <class D, class V = hn::Vec<D>>
  HWY_INLINE void add_product(D d, V x, V y) {
    part(d) = hn::MulAdd(x, y, part(d));
  }
  HWY_INLINE double total() const {
    return hn::GetLane(hn::SumOfLanes(Wide(), wide)) + hn::GetLane(single);
  }
};

void exp2_array(const double* x, double* y, Index n) {
  for_lanes(n, [&](auto d, Index j)
                   HWY_ATTR { hn::StoreU(exp2_vector(d, hn::LoadU(d, x + j)), d, y + j); });
}

double shifted_max_row(const double* c, const double* v, double s, Index n) {
  const double none = -std::numeric_limits<double>::infinity();
  auto wide = hn::Set(Wide(), none);
  auto single = hn::Set(Single(), none);
  const auto value = [&](auto d, Index j) HWY_ATTR {
    return hn::NegMulAdd(hn::Set(d, s), hn::LoadU(d, c + j), hn::LoadU(d, v + j));
  };
  const Index lanes = static_cast<Index>(hn::Lanes(Wide()));
  Index j = 0;
  for (; j + lanes <= n; j += lanes) wide = hn::Max(wide, value(Wide(), j));
  for (; j < n; ++j) single = hn::Max(single, value(Single(), j));
  return std::max(hn::GetLane(hn::MaxOfLanes(Wide(), wide)), hn::GetLane(single));
}

double exp2_shifted_row(const double* c, const double* v, double s, double shift, double* k,
                        Index n) {
  Sum sum;
  for_lanes(n, [&](auto d, Index j) HWY_ATTR {
    const auto moved = hn::Add(hn::LoadU(d, v + j), hn::Set(d, shift));
    const auto e = exp2_vector(d, hn::NegMulAdd(hn::Set(d, s), hn::LoadU(d, c + j), moved));
    hn::StoreU(e, d, k + j);
    sum.add(d, e);
  });
  return sum.total();
}

double dot_row(const double* a, const double* b, Index n) {
  Sum sum;
  for_lanes(n, [&](auto d, Index j)
                   HWY_ATTR { sum.add_product(d, hn::LoadU(d, a + j), hn::LoadU(d, b + j)); });
  return sum.total();
}

double dot_squares_row(const double* k, const double* w, Index n) {
  Sum sum;
  for_lanes(n, [&](auto d, Index j) HWY_ATTR {
    const auto x = hn::LoadU(d, k + j);
    sum.add_product(d, hn::Mul(x, x), hn::LoadU(d, w + j));
  });
  return sum.total();
}

void dot_four_rows(const double* k, Index stride, const double* b, Index n, double* out) {
  Sum s0, s1, s2, s3;
  for_lanes(n, [&](auto d, Index j) HWY_ATTR {
    const auto x = hn::LoadU(d, b + j);
    s0.add_product(d, hn::LoadU(d, k + j), x);
    s1.add_product(d, hn::LoadU(d, k + stride + j), x);
    s2.add_product(d, hn::LoadU(d, k + 2 * stride + j), x);
    s3.add_product(d, hn::LoadU(d, k + 3 * stride + j), x);
  });
  out[0] = s0.total();
  out[1] = s1.total();
  out[2] = s2.total();
  out[3] = s3.total();
}

void add_four_rows(const double* k, Index stride, const double* a, double* t, Index n) {
  for_lanes(n, [&](auto d, Index j) HWY_ATTR {
    auto x = hn::LoadU(d, t + j);
    x = hn::MulAdd(hn::Set(d, a[0]), hn::LoadU(d, k + j), x);
    x = hn::MulAdd(hn::Set(d, a[1]), hn::LoadU(d, k + stride + j), x);
    x = hn::MulAdd(hn::Set(d, a[2]), hn::LoadU(d, k + 2 * stride + j), x);
    x = hn::MulAdd(hn::Set(d, a[3]), hn::LoadU(d, k + 3 * stride + j), x);
    hn::StoreU(x, d, t + j);
  });
}

void add_one_row(const double* k, double a, double* t, Index n) {
  for_lanes(n, [&](auto d, Index j) HWY_ATTR {
    const auto x = hn::MulAdd(hn::Set(d, a), hn::LoadU(d, k + j), hn::LoadU(d, t + j));
    hn::StoreU(x, d, t + j);
  });
}

}  // namespace remblai::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace remblai::simd {

HWY_EXPORT(exp2_array);
HWY_EXPORT(shifted_max_row);
HWY_EXPORT(exp2_shifted_row);
HWY_EXPORT(dot_row);
HWY_EXPORT(dot_squares_row);
HWY_EXPORT(dot_four_rows);
HWY_EXPORT(add_four_rows);
HWY_EXPORT(add_one_row);

void exp2(const double* x, double* y, Index n) {
  HWY_DYNAMIC_DISPATCH(exp2_array)(x, y, n);
}

double shifted_max(const double* c, const double* v, double s, Index n) {
  return HWY_DYNAMIC_DISPATCH(shifted_max_row)(c, v, s, n);
}

double exp2_row(const double* c, const double* v, double s, double shift, double* k, Index n) {
  return HWY_DYNAMIC_DISPATCH(exp2_shifted_row)(c, v, s, shift, k, n);
}

double dot(const double* a, const double* b, Index n) {
  return HWY_DYNAMIC_DISPATCH(dot_row)(a, b, n);
}

double dot_squares(const double* k, const double* w, Index n) {
  return HWY_DYNAMIC_DISPATCH(dot_squares_row)(k, w, n);
}

void dot_rows4(const double* k, Index stride, const double* b, Index n, double out[4]) {
  HWY_DYNAMIC_DISPATCH(dot_four_rows)(k, stride, b, n, out);
}

void add_rows4(const double* k, Index stride, const double a[4], double* t, Index n) {
  HWY_DYNAMIC_DISPATCH(add_four_rows)(k, stride, a, t, n);
}

void add_row(const double* k, double a, double* t, Index n) {
  HWY_DYNAMIC_DISPATCH(add_one_row)(k, a, t, n);
}

}  // namespace remblai::simd
#endif
