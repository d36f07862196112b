// The inner loops of the transport engine, compiled once for each instruction set by Highway.
// Every loop runs over full vectors, then over the rest one number at a time.
#include "base/simd.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base/simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace remblai::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<double>;

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

// 2^x in float for an exponent in double, so that exponents of many digits lose none: the whole
// part is taken off in double (0 below 2^-80, so that products with other small numbers are not
// subnormal, which is slow), the polynomial (interpolation at Chebyshev nodes, relative error
// 3e-9 before rounding) is in float.
template <class D, class F = hn::Rebind<float, D>>
HWY_INLINE hn::Vec<F> exp2_to_float(D d, hn::Vec<D> x) {
  const F f;
  const hn::Rebind<std::int32_t, D> di;
  const auto vanishes = hn::Lt(hn::DemoteTo(f, x), hn::Set(f, -80.0f));
  x = hn::Min(hn::Max(x, hn::Set(d, -80.0)), hn::Set(d, 125.0));
  const auto whole = hn::Round(x);
  const auto r = hn::DemoteTo(f, hn::Sub(x, whole));
  auto p = hn::Set(f, 0.0001546144469856913f);
  for (const float c : {0.0013400428177615838f, 0.009618056678524637f, 0.05550327226670302f,
                        0.24022650922288757f, 0.6931472067028326f, 1.0f})
    p = hn::MulAdd(p, r, hn::Set(f, c));
  const auto power = hn::ShiftLeft<23>(hn::Add(hn::DemoteTo(di, whole), hn::Set(di, 127)));
  return hn::IfThenZeroElse(vanishes, hn::Mul(p, hn::BitCast(f, power)));
}

// Calls body(tag, j) for j = 0, lanes, 2 lanes, ... and then for every number left.
template <class T, class Body>
HWY_INLINE void for_lanes(Index n, Body&& body) {
  const hn::ScalableTag<T> wide;
  const Index lanes = static_cast<Index>(hn::Lanes(wide));
  Index j = 0;
  for (; j + lanes <= n; j += lanes) body(wide, j);
  for (; j < n; ++j) body(hn::CappedTag<T, 1>(), j);
}

// A sum that takes vectors and single numbers alike.
template <class T>
struct Sum {
  using Wides = hn::ScalableTag<T>;
  using Single = hn::CappedTag<T, 1>;
  hn::Vec<Wides> wide;
  hn::Vec<Single> single;

  HWY_INLINE Sum() : wide(hn::Zero(Wides())), single(hn::Zero(Single())) {}

  template <class D>
  HWY_INLINE auto& part(D) {
    if constexpr (std::is_same_v<D, Wides>)
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
    return static_cast<double>(hn::GetLane(hn::SumOfLanes(Wides(), wide))) +
           static_cast<double>(hn::GetLane(single));
  }
};

// body(first, count) over stretches short enough for a sum in float; double needs no such care.
template <class T, class Body>
HWY_INLINE void for_stretches(Index n, Body&& body) {
  const Index longest = std::is_same_v<T, float> ? 512 : n;
  for (Index first = 0; first < n; first += longest) body(first, std::min(longest, n - first));
}

void exp2_array(const double* x, double* y, Index n) {
  for_lanes<double>(n, [&](auto d, Index j)
                           HWY_ATTR { hn::StoreU(exp2_vector(d, hn::LoadU(d, x + j)), d, y + j); });
}

// Four or eight numbers of either type as doubles.
template <class D>
HWY_INLINE hn::Vec<D> load_double(D d, const double* x) {
  return hn::LoadU(d, x);
}
template <class D>
HWY_INLINE hn::Vec<D> load_double(D d, const float* x) {
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), x));
}

template <class T>
double shifted_max_of(const T* c, const double* v, double s, Index n) {
  const double none = -std::numeric_limits<double>::infinity();
  auto wide = hn::Set(Wide(), none);
  double rest = none;
  for_lanes<double>(n, [&](auto d, Index j) HWY_ATTR {
    const auto value = hn::NegMulAdd(hn::Set(d, s), load_double(d, c + j), hn::LoadU(d, v + j));
    if constexpr (std::is_same_v<decltype(d), Wide>)
      wide = hn::Max(wide, value);
    else
      rest = std::max(rest, hn::GetLane(value));
  });
  return std::max(hn::GetLane(hn::MaxOfLanes(Wide(), wide)), rest);
}

template <class T>
double exp2_row_of(const T* c, const double* v, double s, double shift, T* k, Index n) {
  double total = 0;
  for_stretches<T>(n, [&](Index first, Index count) HWY_ATTR {
    Sum<double> sum;
    for_lanes<double>(count, [&](auto d, Index l) HWY_ATTR {
      const Index j = first + l;
      const auto moved = hn::Add(hn::LoadU(d, v + j), hn::Set(d, shift));
      const auto exponent = hn::NegMulAdd(hn::Set(d, s), load_double(d, c + j), moved);
      if constexpr (std::is_same_v<T, double>) {
        const auto e = exp2_vector(d, exponent);
        hn::StoreU(e, d, k + j);
        sum.add(d, e);
      } else {
        const hn::Rebind<float, decltype(d)> f;
        const auto e = exp2_to_float(d, exponent);
        hn::StoreU(e, f, k + j);
        sum.add(d, hn::PromoteTo(d, e));
      }
    });
    total += sum.total();
  });
  return total;
}

template <class T>
double dot_of(const T* a, const T* b, Index n) {
  double total = 0;
  for_stretches<T>(n, [&](Index first, Index count) HWY_ATTR {
    Sum<T> sum;
    for_lanes<T>(count, [&](auto d, Index l) HWY_ATTR {
      sum.add_product(d, hn::LoadU(d, a + first + l), hn::LoadU(d, b + first + l));
    });
    total += sum.total();
  });
  return total;
}

template <class T>
void dot_rows4_of(const T* k, Index stride, const T* b, Index n, double* out) {
  for (int i = 0; i < 4; ++i) out[i] = 0;
  for_stretches<T>(n, [&](Index first, Index count) HWY_ATTR {
    Sum<T> s0, s1, s2, s3;
    for_lanes<T>(count, [&](auto d, Index l) HWY_ATTR {
      const Index j = first + l;
      const auto x = hn::LoadU(d, b + j);
      s0.add_product(d, hn::LoadU(d, k + j), x);
      s1.add_product(d, hn::LoadU(d, k + stride + j), x);
      s2.add_product(d, hn::LoadU(d, k + 2 * stride + j), x);
      s3.add_product(d, hn::LoadU(d, k + 3 * stride + j), x);
    });
    out[0] += s0.total();
    out[1] += s1.total();
    out[2] += s2.total();
    out[3] += s3.total();
  });
}

template <class T>
void add_rows4_of(const T* k, Index stride, const T* a, T* t, Index n) {
  for_lanes<T>(n, [&](auto d, Index j) HWY_ATTR {
    auto x = hn::LoadU(d, t + j);
    x = hn::MulAdd(hn::Set(d, a[0]), hn::LoadU(d, k + j), x);
    x = hn::MulAdd(hn::Set(d, a[1]), hn::LoadU(d, k + stride + j), x);
    x = hn::MulAdd(hn::Set(d, a[2]), hn::LoadU(d, k + 2 * stride + j), x);
    x = hn::MulAdd(hn::Set(d, a[3]), hn::LoadU(d, k + 3 * stride + j), x);
    hn::StoreU(x, d, t + j);
  });
}

template <class T>
void add_row_of(const T* k, T a, T* t, Index n) {
  for_lanes<T>(n, [&](auto d, Index j) HWY_ATTR {
    const auto x = hn::MulAdd(hn::Set(d, a), hn::LoadU(d, k + j), hn::LoadU(d, t + j));
    hn::StoreU(x, d, t + j);
  });
}

template <class T>
void add_squares_of(const T* k, T a, T* t, Index n) {
  for_lanes<T>(n, [&](auto d, Index j) HWY_ATTR {
    const auto x = hn::LoadU(d, k + j);
    hn::StoreU(hn::MulAdd(hn::Mul(hn::Set(d, a), x), x, hn::LoadU(d, t + j)), d, t + j);
  });
}

template <class T>
void round_row_of(const T* k, double a, const double* b, float* y, Index n) {
  for_lanes<double>(n, [&](auto d, Index j) HWY_ATTR {
    const auto scaled = hn::Mul(hn::Mul(load_double(d, k + j), hn::Set(d, a)), hn::LoadU(d, b + j));
    const auto kept = hn::IfThenElseZero(hn::Ge(scaled, hn::Set(d, 1e-15)), scaled);
    const hn::Rebind<float, decltype(d)> f;
    hn::StoreU(hn::DemoteTo(f, kept), f, y + j);
  });
}

template <class T>
const Loops<T>& table() {
  static constexpr Loops<T> loops{&shifted_max_of<T>, &exp2_row_of<T>,  &dot_of<T>,
                                  &dot_rows4_of<T>,   &add_rows4_of<T>, &add_row_of<T>,
                                  &add_squares_of<T>, &round_row_of<T>};
  return loops;
}
const Loops<double>& double_table() {
  return table<double>();
}
const Loops<float>& float_table() {
  return table<float>();
}

}  // namespace remblai::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace remblai::simd {

HWY_EXPORT(exp2_array);
HWY_EXPORT(double_table);
HWY_EXPORT(float_table);

void exp2(const double* x, double* y, Index n) {
  HWY_DYNAMIC_DISPATCH(exp2_array)(x, y, n);
}

template <>
const Loops<double>& loops<double>() {
  return HWY_DYNAMIC_DISPATCH(double_table)();
}

template <>
const Loops<float>& loops<float>() {
  return HWY_DYNAMIC_DISPATCH(float_table)();
}

}  // namespace remblai::simd
#endif
