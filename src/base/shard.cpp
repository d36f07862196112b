// The tree of sums, and what each rank sends of it.
#include "base/shard.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "base/linalg.h"

namespace remblai {
namespace {

// Below this many numbers all subtrees go to all ranks at once; beyond, each rank adds up its share
// of the columns.
constexpr Index few = 4096;

// Four sums side by side, from the first value on. Eigen's would begin where memory is aligned,
// which depends on what stands before.
template <class Value>
double plain_sum(Rows rows, const Value& value) {
  double sums[4] = {};
  Index i = rows.begin;
  for (; i + 4 <= rows.end; i += 4)
    for (Index k = 0; k < 4; ++k) sums[k] += value(i + k);
  for (; i < rows.end; ++i) sums[0] += value(i);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

Index middle(Index begin, Index end) {
  return begin + (end - begin) / 2;
}

// Calls visit(begin, end) for the largest subtrees of [begin, end) within [first, last), in order.
template <class Visit>
void visit_within(Index begin, Index end, Index first, Index last, Visit&& visit) {
  if (begin >= last || end <= first || begin == end) return;
  if (begin >= first && end <= last) return visit(begin, end);
  const Index half = middle(begin, end);
  visit_within(begin, half, first, last, visit);
  visit_within(half, end, first, last, visit);
}

// The sum of the leaves [begin, end) in the order of the tree, from `value` of a leaf or subtree
// where that is known.
template <class Known, class Value>
auto sum_of_tree(Index begin, Index end, const Known& known, const Value& value)
    -> decltype(value(begin, end)) {
  if (known(begin, end)) return value(begin, end);
  const Index half = middle(begin, end);
  auto left = sum_of_tree(begin, half, known, value);
  left += sum_of_tree(half, end, known, value);
  return left;
}

}  // namespace

Shard::Shard(std::shared_ptr<const Comm> comm, Index rows, int threads)
    : comm_(std::move(comm)), threads_(std::max(1, threads)) {
  if (!comm_) return;
  const auto ranks = static_cast<std::size_t>(comm_->size());
  const Vector all =
      comm_->gather(Vector::Constant(1, static_cast<double>(rows)), std::vector<Index>(ranks, 1));
  for (std::size_t k = 0; k < ranks; ++k) {
    if (static_cast<int>(k) == comm_->rank()) first_ = total_;
    rows_.push_back(static_cast<Index>(all[static_cast<Index>(k)]));
    total_ += rows_.back();
  }
  whole_ = take_whole_pieces();
  if (!whole_) take_one_leaf_each();
  find_nodes();
}

// True where every share begins and ends with a piece of all rows.
bool Shard::take_whole_pieces() {
  const Index count = piece_count(total_);
  Index leaf = 0, row = 0;
  leaves_.clear();
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    leaves_.push_back(leaf);
    row += rows_[k];
    while (leaf < count && remblai::piece(total_, count, leaf).end <= row) {
      const Rows global = remblai::piece(total_, count, leaf++);
      if (static_cast<int>(k) == comm_->rank())
        pieces_.push_back({global.begin - first_, global.end - first_});
    }
    const Index reached = leaf == count ? total_ : remblai::piece(total_, count, leaf).begin;
    if (reached != row) return false;
  }
  leaves_.push_back(count);
  return leaf == count;
}

void Shard::take_one_leaf_each() {
  pieces_.clear();
  leaves_.clear();
  Index leaf = 0;
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    leaves_.push_back(leaf);
    if (rows_[k] == 0) continue;
    ++leaf;
    if (static_cast<int>(k) != comm_->rank()) continue;
    const Index count = piece_count(rows_[k]);
    for (Index p = 0; p < count; ++p) pieces_.push_back(remblai::piece(rows_[k], count, p));
  }
  leaves_.push_back(leaf);
}

void Shard::find_nodes() {
  const Index count = leaves_.back();
  nodes_.resize(rows_.size());
  for (std::size_t k = 0; k < rows_.size(); ++k)
    visit_within(0, count, leaves_[k], leaves_[k + 1], [&](Index begin, Index end) {
      nodes_[k].push_back({begin, end});
      places_.emplace(std::pair(begin, end), static_cast<Index>(places_.size()));
    });
}

Vector Shard::sum(Index rows, Index size, const std::function<Vector(Rows)>& part) const {
  if (!comm_) return part({0, rows});
  return sum_parts(size, [&](Index k) { return part(piece(k)); });
}

Vector Shard::sum_parts(Index size, const std::function<Vector(Index)>& part) const {
  assert(comm_);
  const auto rank = static_cast<std::size_t>(comm_->rank());
  const std::vector<Node>& nodes = nodes_[rank];
  const auto is_leaf = [](Index begin, Index end) { return end - begin == 1; };
  Vector sums(size * static_cast<Index>(nodes.size()));
  Index place = 0;
  for (const Node& node : nodes) {
    sums.segment(place, size) =
        whole_ ? sum_of_tree(node.begin, node.end, is_leaf,
                             [&](Index leaf, Index) { return part(leaf - leaves_[rank]); })
               : sum_of_tree(0, pieces(), is_leaf, [&](Index k, Index) { return part(k); });
    place += size;
  }
  return reduce(size, sums);
}

Vector Shard::sum_of_ranks(const Vector& local) const {
  if (!comm_) return local;
  const Index size = local.size();
  Vector sums = Vector::Zero(
      size * static_cast<Index>(nodes_[static_cast<std::size_t>(comm_->rank())].size()));
  if (sums.size() > 0) sums.head(size) = local;
  return reduce(size, sums);
}

// Completes the tree from the subtrees of all ranks. `nodes` has the local ones, one behind the
// other.
Vector Shard::reduce(Index size, const Vector& nodes) const {
  const std::size_t ranks = rows_.size();
  const auto rank = static_cast<std::size_t>(comm_->rank());
  const bool divide = size > few && ranks > 1;
  // The columns [begin, end) that a rank adds up; all of them where there are few.
  const auto columns = [&](std::size_t k) -> Rows {
    if (!divide) return {0, size};
    return {size * static_cast<Index>(k) / static_cast<Index>(ranks),
            size * static_cast<Index>(k + 1) / static_cast<Index>(ranks)};
  };
  const auto width = [&](std::size_t k) { return columns(k).end - columns(k).begin; };
  const Index own = width(rank);
  std::vector<Index> in;
  for (std::size_t k = 0; k < ranks; ++k) in.push_back(static_cast<Index>(nodes_[k].size()) * own);
  Vector received;
  if (!divide) {
    received = comm_->gather(nodes, in);
  } else {
    std::vector<Index> out;
    Vector sent(nodes.size());
    Index place = 0;
    for (std::size_t k = 0; k < ranks; ++k) {
      for (std::size_t node = 0; node < nodes_[rank].size(); ++node) {
        sent.segment(place, width(k)) =
            nodes.segment(static_cast<Index>(node) * size + columns(k).begin, width(k));
        place += width(k);
      }
      out.push_back(static_cast<Index>(nodes_[rank].size()) * width(k));
    }
    received = comm_->exchange(sent, out, in);
  }
  Vector total = sum_of_tree(
      0, leaves_.back(),
      [&](Index begin, Index end) {
        return places_.contains({begin, end});
      },
      [&](Index begin, Index end) -> Vector {
        return received.segment(places_.at({begin, end}) * own, own);
      });
  if (!divide) return total;
  std::vector<Index> widths;
  for (std::size_t k = 0; k < ranks; ++k) widths.push_back(width(k));
  return comm_->gather(total, widths);
}

// About four copies of a part are in memory while it is made.
Index Shard::parts_at_once(Index size) const {
  constexpr double bytes = 2.0 * (1 << 30);
  const double most = bytes / (4 * sizeof(double) * std::max(1.0, static_cast<double>(size)));
  return std::clamp<Index>(static_cast<Index>(std::min(most, 1e6)), 1, threads_);
}

void Shard::even_out(Index own, const std::function<void()>& ask) const {
  const auto most = static_cast<Index>(maximum(static_cast<double>(own)));
  for (Index k = own; k < most; ++k) ask();
}

Matrix Shard::sum(Index rows, Index height, Index width, const std::function<Matrix(Rows)>& part,
                  const std::function<void()>& between) const {
  if (!comm_) return part({0, rows});
  if (between) even_out(pieces(), between);
  const linalg::Threads alone(1);
  std::vector<Vector> ready;  // of the pieces from `begin` on: they are asked for in order
  const Index at_once = parts_at_once(height * width);
  Index begin = 0;
  const Vector total = sum_parts(height * width, [&](Index k) -> Vector {
    if (k >= begin + static_cast<Index>(ready.size())) {
      begin = k;
      ready.resize(static_cast<std::size_t>(std::min(at_once, pieces() - k)));
      for (std::size_t i = 0; between && i < ready.size(); ++i) between();
      run_pieces(static_cast<Index>(ready.size()), threads_, [&](Index place) {
        const Matrix one = part(piece(begin + place));
        ready[static_cast<std::size_t>(place)] = Eigen::Map<const Vector>(one.data(), one.size());
      });
    }
    return std::move(ready[static_cast<std::size_t>(k - begin)]);
  });
  return Eigen::Map<const Matrix>(total.data(), height, width);
}

namespace {

Matrix piecewise(const Matrix& rows, const std::vector<Rows>& pieces, int threads, Index width,
                 const Shard::MakeIn& make, Matrix out) {
  const linalg::Threads alone(1);
  out.resize(rows.rows(), width);
  run_pieces(static_cast<Index>(pieces.size()), threads, [&](Index k) {
    const Rows piece = pieces[static_cast<std::size_t>(k)];
    const Index count = piece.end - piece.begin;
    out.middleRows(piece.begin, count) = make(rows.middleRows(piece.begin, count), {});
  });
  return out;
}

std::vector<Rows> pieces_of(Index rows) {
  const Index count = piece_count(rows);
  std::vector<Rows> pieces;
  for (Index k = 0; k < count; ++k) pieces.push_back(piece(rows, count, k));
  return pieces;
}

}  // namespace

Matrix Shard::by_pieces(const Matrix& local, Index width,
                        const std::function<Matrix(const Matrix&)>& make) const {
  return by_pieces(local, width, [&](const Matrix& rows, const Matrix&) { return make(rows); }, {});
}

Matrix Shard::by_common_pieces(const Matrix& rows, Index width,
                               const std::function<Matrix(const Matrix&)>& make) const {
  return by_common_pieces(rows, width,
                          [&](const Matrix& some, const Matrix&) { return make(some); }, {});
}

Matrix Shard::by_pieces(const Matrix& local, Index width, const MakeIn& make, Matrix room) const {
  if (!comm_) return make(local, std::move(room));
  return piecewise(local, pieces_, threads_, width, make, std::move(room));
}

Matrix Shard::by_common_pieces(const Matrix& rows, Index width, const MakeIn& make,
                               Matrix room) const {
  if (!comm_) return make(rows, std::move(room));
  return piecewise(rows, pieces_of(rows.rows()), threads_, width, make, std::move(room));
}

double Shard::sum(const Vector& values) const {
  if (!comm_) return values.sum();
  return sum(values.size(), 1, [&](Rows rows) -> Vector {
    return Vector::Constant(1, plain_sum(rows, [&](Index i) { return values[i]; }));
  })[0];
}

double Shard::dot(const Vector& a, const Vector& b) const {
  if (!comm_) return a.dot(b);
  return sum(a.size(), 1, [&](Rows rows) -> Vector {
    return Vector::Constant(1, plain_sum(rows, [&](Index i) { return a[i] * b[i]; }));
  })[0];
}

double Shard::norm1(const Vector& values) const {
  return comm_ ? sum(Vector(values.cwiseAbs())) : values.lpNorm<1>();
}

double Shard::maximum(double value) const {
  return comm_ ? comm_->maximum(Vector::Constant(1, value))[0] : value;
}

double Shard::largest(const Eigen::Ref<const Vector>& values) const {
  constexpr double none = -std::numeric_limits<double>::infinity();
  return maximum(values.size() > 0 ? values.maxCoeff() : none);
}

double Shard::smallest(const Eigen::Ref<const Vector>& values) const {
  constexpr double none = std::numeric_limits<double>::infinity();
  return -maximum(values.size() > 0 ? -values.minCoeff() : -none);
}

Matrix Shard::compressed_rows(const Matrix& local) const {
  if (!comm_) return linalg::triangle_of(local);
  const linalg::Threads alone(1);
  const Index d = local.cols();
  const auto rank = static_cast<std::size_t>(comm_->rank());
  struct Stack {
    Matrix rows;
    Stack& operator+=(const Stack& below) {
      Matrix both(rows.rows() + below.rows.rows(), rows.cols());
      both << rows, below.rows;
      rows = linalg::triangle_of(both);
      return *this;
    }
  };
  // Every rank knows the rows of each leaf, and so the height of what comes of a subtree.
  const auto rows_before = [&](Index leaf) -> Index {
    if (whole_) return leaf == leaves_.back() ? total_ : total_ * leaf / leaves_.back();
    Index rows = 0;
    for (std::size_t k = 0; k < rows_.size() && leaves_[k] < leaf; ++k) rows += rows_[k];
    return rows;
  };
  const auto height = [&](const Node& node) {
    return std::min(d, rows_before(node.end) - rows_before(node.begin));
  };
  const auto is_leaf = [](Index begin, Index end) { return end - begin == 1; };
  const auto leaf_of = [&](Index k) -> Stack {
    const Rows rows = piece(k);
    return {linalg::triangle_of(local.middleRows(rows.begin, rows.end - rows.begin))};
  };
  std::vector<Index> sizes;
  for (const std::vector<Node>& nodes : nodes_) {
    sizes.push_back(0);
    for (const Node& node : nodes) sizes.back() += height(node) * d;
  }
  Vector part(sizes[rank]);
  Index place = 0;
  for (const Node& node : nodes_[rank]) {
    const Stack stack =
        whole_ ? sum_of_tree(node.begin, node.end, is_leaf,
                             [&](Index leaf, Index) { return leaf_of(leaf - leaves_[rank]); })
               : sum_of_tree(0, pieces(), is_leaf, [&](Index k, Index) { return leaf_of(k); });
    part.segment(place, stack.rows.size()) =
        Eigen::Map<const Vector>(stack.rows.data(), stack.rows.size());
    place += stack.rows.size();
  }
  const Vector all = comm_->gather(part, sizes);
  std::map<std::pair<Index, Index>, Stack> known;
  place = 0;
  for (const std::vector<Node>& nodes : nodes_)
    for (const Node& node : nodes) {
      known[{node.begin, node.end}] = {
          Eigen::Map<const Matrix>(all.data() + place, height(node), d)};
      place += height(node) * d;
    }
  return sum_of_tree(
             0, leaves_.back(),
             [&](Index begin, Index end) {
               return known.contains({begin, end});
             },
             [&](Index begin, Index end) {
               return known.at({begin, end});
             })
      .rows;
}

Matrix Shard::rows_of(const Matrix& local, const std::vector<Index>& numbers) const {
  if (!comm_) return local(numbers, Eigen::all);
  const auto rank = static_cast<std::size_t>(comm_->rank());
  // Whose rows they are, in the order of the ranks, is known everywhere.
  std::vector<Index> sizes(rows_.size(), 0), order(numbers.size());
  std::vector<Index> begins{0};
  for (const Index rows : rows_) begins.push_back(begins.back() + rows);
  std::vector<std::vector<Index>> wanted(rows_.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto owner = static_cast<std::size_t>(
        std::upper_bound(begins.begin(), begins.end(), numbers[i]) - begins.begin() - 1);
    wanted[owner].push_back(static_cast<Index>(i));
    sizes[owner] += local.cols();
  }
  Vector part(sizes[rank]);
  for (std::size_t i = 0; i < wanted[rank].size(); ++i)
    part.segment(static_cast<Index>(i) * local.cols(), local.cols()) =
        local.row(numbers[static_cast<std::size_t>(wanted[rank][i])] - first_);
  const Vector all = comm_->gather(part, sizes);
  Matrix rows(static_cast<Index>(numbers.size()), local.cols());
  Index place = 0;
  for (const std::vector<Index>& of_rank : wanted)
    for (const Index i : of_rank) {
      rows.row(i) = all.segment(place, local.cols());
      place += local.cols();
    }
  return rows;
}

Vector Shard::everywhere(const Vector& local) const {
  return comm_ ? comm_->gather(local, rows_) : local;
}

void Shard::agree(const std::function<void()>& work) const {
  remblai::agree(comm_.get(), work);
}

}  // namespace remblai
