// Common rows once, and the rows of a shard beside them.
#include "base/common_rows.h"

#include <algorithm>
#include <utility>

#include "base/linalg.h"

namespace remblai {

Matrix CommonRows::sum(Index rows, Index height, Index width,
                       const std::function<Matrix(Rows)>& part,
                       const std::function<void()>& between) const {
  if (!divided()) return part({0, rows});
  Matrix total = shard.sum(
      rows - common, height, width,
      [&](Rows some) {
        return part({some.begin + common, some.end + common});
      },
      between);
  const linalg::Threads alone(1);
  const Index pieces = common > 0 ? piece_count(common) : 0;
  std::vector<Matrix> ready;
  for (Index first = 0; first < pieces; first += static_cast<Index>(ready.size())) {
    ready.resize(
        static_cast<std::size_t>(std::min(shard.parts_at_once(height * width), pieces - first)));
    for (std::size_t i = 0; between && i < ready.size(); ++i) between();
    run_pieces(static_cast<Index>(ready.size()), static_cast<int>(ready.size()), [&](Index k) {
      ready[static_cast<std::size_t>(k)] = part(piece(common, pieces, first + k));
    });
    for (const Matrix& one : ready) total += one;
  }
  return total;
}

double CommonRows::sum(const Vector& values) const {
  if (!divided()) return values.sum();
  return values.head(common).sum() + shard.sum(Vector(values.tail(values.size() - common)));
}

double CommonRows::dot(const Vector& a, const Vector& b) const {
  return divided() ? sum(Vector(a.cwiseProduct(b))) : a.dot(b);
}

void CommonRows::visit(Index rows, Index most, const std::function<void(Rows)>& visit) const {
  const auto cut = [&](Rows some) {
    for (Index first = some.begin; first < some.end; first += most)
      visit({first, std::min(first + most, some.end)});
  };
  if (!divided()) return cut({0, rows});
  cut({0, common});
  for (Index k = 0; k < shard.pieces(); ++k)
    cut({shard.piece(k).begin + common, shard.piece(k).end + common});
}

Matrix CommonRows::rows_of(const Matrix& rows, const std::vector<Index>& numbers) const {
  if (!divided()) return rows(numbers, Eigen::all);
  std::vector<Index> others;
  for (const Index number : numbers)
    if (number >= common) others.push_back(number - common);
  const Matrix found = shard.rows_of(rows.bottomRows(rows.rows() - common), others);
  Matrix chosen(static_cast<Index>(numbers.size()), rows.cols());
  Index next = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < common)
      chosen.row(static_cast<Index>(i)) = rows.row(numbers[i]);
    else
      chosen.row(static_cast<Index>(i)) = found.row(next++);
  }
  return chosen;
}

Matrix CommonRows::united(const Matrix& rows) const {
  if (!divided()) return rows;
  Matrix all(total(rows.rows()), rows.cols());
  all << rows.topRows(common), remblai::united(shard, rows.bottomRows(rows.rows() - common));
  return all;
}

Matrix CommonRows::own(const Matrix& all) const {
  if (!divided()) return all;
  const Index here = shard.rows_of_ranks()[static_cast<std::size_t>(shard.comm()->rank())];
  Matrix rows(common + here, all.cols());
  rows << all.topRows(common), all.middleRows(common + shard.first(), here);
  return rows;
}

void keep_share(const Comm& comm, Matrix& rows) {
  const auto [begin, end] = share_of(rows.rows(), comm.rank(), comm.size());
  Matrix share = rows.middleRows(begin, end - begin);
  rows = std::move(share);
}

void visit_shares(const Shard& shares, const Matrix& own,
                  const std::function<void(Index, const Matrix&)>& body) {
  if (!shares.divided()) return body(0, own);
  constexpr Index numbers = Index{1} << 19;  // that cross at a time, about
  const Index total = shares.total(own.rows()), d = own.cols();
  const Index most = std::max<Index>(1, numbers / std::max<Index>(1, d));
  for (Index first = 0; first < total; first += most) {
    const Index last = std::min(first + most, total);
    std::vector<Index> sizes;
    Index before = 0;  // rows of the ranks before this one
    const auto within = [&](Index row) { return std::clamp(row, first, last); };
    for (const Index rows : shares.rows_of_ranks()) {
      sizes.push_back((within(before + rows) - within(before)) * d);
      before += rows;
    }
    const Index begin = within(shares.first()) - shares.first();
    const Index size = sizes[static_cast<std::size_t>(shares.comm()->rank())];
    const Vector sent =
        size > 0 ? Vector(Eigen::Map<const Vector>(own.row(begin).data(), size)) : Vector();
    const Vector received = shares.comm()->gather(sent, sizes);
    body(first, Eigen::Map<const Matrix>(received.data(), last - first, d));
  }
}

Matrix united(const Shard& shares, const Matrix& own) {
  Matrix all(shares.total(own.rows()), own.cols());
  visit_shares(shares, own,
               [&](Index first, const Matrix& rows) { all.middleRows(first, rows.rows()) = rows; });
  return all;
}

}  // namespace remblai
