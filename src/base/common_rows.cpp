// Common rows once, and the rows of a shard beside them.
#include "base/common_rows.h"

#include <algorithm>
#include <utility>

#include "base/linalg.h"

namespace remblai {

Matrix CommonRows::sum(Index rows, Index height, Index width,
                       const std::function<Matrix(Rows)>& part) const {
  if (!divided()) return part({0, rows});
  Matrix total = shard.sum(rows - common, height, width, [&](Rows some) {
    return part({some.begin + common, some.end + common});
  });
  const linalg::Threads alone(1);
  const Index pieces = common > 0 ? piece_count(common) : 0;
  std::vector<Matrix> ready;
  for (Index first = 0; first < pieces; first += static_cast<Index>(ready.size())) {
    ready.resize(
        static_cast<std::size_t>(std::min(shard.parts_at_once(height * width), pieces - first)));
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

namespace {

Rows share_of_rank(const Comm& comm, Index total, int rank) {
  return {total * rank / comm.size(), total * (rank + 1) / comm.size()};
}

}  // namespace

void keep_share(const Comm& comm, Matrix& rows) {
  const Rows own = share_of_rank(comm, rows.rows(), comm.rank());
  Matrix share = rows.middleRows(own.begin, own.end - own.begin);
  rows = std::move(share);
}

// Some rows of each rank at a time, so that no second copy of all is needed on the way.
void unite_shares(const Comm& comm, Index total, Matrix& rows) {
  constexpr Index numbers = Index{1} << 20;  // of all ranks at a time, about
  const Index d = rows.cols(), most = std::max<Index>(1, numbers / (comm.size() * d));
  const Index longest = (total + comm.size() - 1) / comm.size();
  Matrix all(total, d);
  for (Index begin = 0; begin < longest; begin += most) {
    std::vector<Rows> parts;
    std::vector<Index> sizes;
    for (int rank = 0; rank < comm.size(); ++rank) {
      const Rows share = share_of_rank(comm, total, rank);
      const Index first = std::min(share.begin + begin, share.end);
      parts.push_back({first, std::min(first + most, share.end)});
      sizes.push_back((parts.back().end - first) * d);
    }
    const Index own = sizes[static_cast<std::size_t>(comm.rank())];
    const Vector sent =
        own > 0 ? Vector(Eigen::Map<const Vector>(rows.row(begin).data(), own)) : Vector();
    const Vector received = comm.gather(sent, sizes);
    Index place = 0;
    for (std::size_t rank = 0; rank < parts.size(); ++rank) {
      if (sizes[rank] > 0)
        Eigen::Map<Vector>(all.row(parts[rank].begin).data(), sizes[rank]) =
            received.segment(place, sizes[rank]);
      place += sizes[rank];
    }
  }
  rows = std::move(all);
}

}  // namespace remblai
