// The division of a GPU's memory, and how costs come there.
#include "transport/cuda/storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/linalg.h"
#include "remblai/error.h"
#include "transport/cuda/entries.h"

namespace remblai::cuda {
namespace {

// Of a matrix in double that stands between the product and its rounded copy.
constexpr std::int64_t staged_bytes = std::int64_t{1} << 28;

constexpr Index float_lane = 16 / sizeof(float);

Index rounded_up(Index n, Index lane) {
  return (n + lane - 1) / lane * lane;
}

}  // namespace

template <class T>
void Storage<T>::release() {
  entries_.release();
  kernel_.release();
  rounded_.release();
  staged_.release();
  u_.release();
  v_.release();
  split_u_.release();
  split_v_.release();
}

template <class T>
double Storage<T>::bytes() const {
  return static_cast<double>(entries_.bytes() + kernel_.bytes() + rounded_.bytes() +
                             staged_.bytes() + u_.bytes() + v_.bytes() + split_u_.bytes() +
                             split_v_.bytes());
}

// All entries and K, or as many rows of them as fit.
template <class T>
void Storage<T>::plan(double beside, double held) {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "the size of its memory");
  const double rows = static_cast<double>(m()), columns = static_cast<double>(stride_);
  const double row_bytes = 2 * sizeof(T) * columns;
  const double k = cost_->is_dense() ? 0 : static_cast<double>(cost_->u().cols());
  const double numbers = beside + (rows + columns) * (is_double ? k : 2.5 * k);
  const double other = sizeof(double) * numbers + static_cast<double>(staged_bytes);
  const double room = 0.9 * (static_cast<double>(free) + held + bytes()) - other;
  const double given = resources_.memory_bytes();
  const double allowed = given > 0 ? std::min(given, room) : room;
  stored_ = row_bytes * rows <= (cost_->is_dense() ? room : allowed);
  may_round_ = is_double && stored_ && 1.25 * row_bytes * rows <= allowed;
  const double least = row_bytes * (cost_->is_dense() ? rows : 1);
  if (least > room)
    throw Error({.field = "device",
                 .value = fmt::format("{:.1f} GiB free", static_cast<double>(free) / 0x1p30),
                 .problem = fmt::format("are not enough for {} x {} points, which need {:.1f} GiB",
                                        m(), n(), (least + other) / 0x1p30),
                 .remedy = "give the $device cpu"});
  // Four gigabytes of rows are enough for the GPU to be busy, which likes round numbers of them.
  auto some = static_cast<Index>(std::max(1.0, std::min(allowed, 0x1p32) / row_bytes));
  if (some > 256) some -= some % 256;
  tile_rows_ = stored_ ? m() : std::min(m(), some);
}

template <class T>
void Storage<T>::use(const GroundCost& cost, double beside, double held, cudaStream_t stream) {
  cost_ = &cost;
  constexpr Index lane = 16 / sizeof(T);
  stride_ = rounded_up(n(), lane);
  plan(beside, held);
  entries_.resize(tile_rows_ * stride_);
  check(cudaMemset2DAsync(entries_.data() + n(), static_cast<std::size_t>(stride_) * sizeof(T), 0,
                          static_cast<std::size_t>(stride_ - n()) * sizeof(T),
                          static_cast<std::size_t>(tile_rows_), stream),
        "zeros beyond the last column");
  kernel_.resize(tile_rows_ * stride_);
  rounded();  // takes its memory
  unit_ = 1;
  if (!cost.is_dense()) {
    const Index k = cost.u().cols();
    u_.resize(m() * k);
    v_.resize(n() * k);
    channel_.send(cost.u().data(), m() * k, u_.data());
    channel_.send(cost.v().data(), n() * k, v_.data());
  }
  if (stored_)
    store(stream);
  else
    keep_factors(stream);
}

template <class T>
void Storage<T>::keep_factors(cudaStream_t stream) {
  if constexpr (!is_double) {
    const GroundCost& cost = *cost_;
    const double u_size = linalg::power_of_two_above(linalg::longest_row(cost.u()));
    const double v_size = linalg::power_of_two_above(linalg::longest_row(cost.v()));
    unit_ = u_size * v_size;
    const Index k = cost.u().cols();
    split_u_.resize(3 * m() * k);
    split_v_.resize(3 * n() * k);
    split(u_.data(), 1 / u_size, m(), k, Side::left, split_u_.data(), stream);
    split(v_.data(), 1 / v_size, n(), k, Side::right, split_v_.data(), stream);
  }
}

// Products are made in double, which tensor cores do as fast as float, and rounded once.
template <class T>
void Storage<T>::store(cudaStream_t stream) {
  const GroundCost& cost = *cost_;
  const bool dense = cost.is_dense();
  if constexpr (!is_double)
    unit_ = linalg::power_of_two_above(
        dense ? cost.largest() : 2 * linalg::longest_row(cost.u()) * linalg::longest_row(cost.v()));
  if (const MatrixOnGpu* there = cost.on_gpu()) {
    if (there->in_float)
      narrow(static_cast<const float*>(there->data), 1 / unit_, tile(0, m()), stream);
    else
      narrow(static_cast<const double*>(there->data), 1 / unit_, tile(0, m()), stream);
    return;
  }
  if (is_double && !dense) return make_entries(0, m());
  const Index rows = staged_rows();
  double* to = staged();
  for (Index first = 0; first < m(); first += rows) {
    const Index count = std::min(rows, m() - first);
    if (dense)
      channel_.send(cost.matrix().row(first).data(), count * n(), to);
    else
      blas_.times_transpose(count, n(), cost.u().cols(), -2.0, u_.data() + first * cost.u().cols(),
                            v_.data(), to, n());
    narrow(to, 1 / unit_, tile(first, count), stream);
  }
}

template <class T>
void Storage<T>::make_entries(Index first, Index count) const {
  const Index k = cost_->u().cols();
  T* to = tile(first, count).entries;
  if constexpr (is_double)
    blas_.times_transpose(count, n(), k, -2.0, u_.data() + first * k, v_.data(), to, stride_);
  else
    blas_.times_transpose_of_split(count, n(), 3 * k, -2.0F, split_u_.data() + first * 3 * k,
                                   split_v_.data(), to, stride_);
}

template <class T>
Tile<T> Storage<T>::tile(Index first, Index count) const {
  const Index offset = stored_ ? first * stride_ : 0;
  return {entries_.data() + offset, kernel_.data() + offset, count, n(), stride_};
}

template <class T>
Tile<float> Storage<T>::rounded() const {
  if (!may_round_) return {};
  const Index stride = rounded_up(n(), float_lane);
  try {
    rounded_.resize(m() * stride);
  } catch (const Error&) {  // what was free before is not any more; the doubles will do
    may_round_ = false;
    return {};
  }
  return {nullptr, rounded_.data(), m(), n(), stride};
}

template <class T>
Index Storage<T>::staged_rows() const {
  return std::clamp<Index>(staged_bytes / static_cast<Index>(sizeof(double)) / n(), 1, m());
}

template <class T>
double* Storage<T>::staged() const {
  staged_.resize(staged_rows() * n());
  return staged_.data();
}

template class Storage<float>;
template class Storage<double>;

}  // namespace remblai::cuda
