// What all ranks of any kind do in the same way.
#include "remblai/comm.h"

#include <cstdlib>
#include <exception>

#include "base/parallel.h"
#include "remblai/error.h"

namespace remblai {

Comm::~Comm() = default;

void agree(const Comm* comm, const std::function<void()>& work) {
  if (!comm) return work();
  const int none = comm->size();
  int failed = none;
  std::string text;
  try {
    work();
  } catch (const Error& error) {
    const Message& m = error.message();
    failed = comm->rank();
    text = m.field + '\0' + m.value + '\0' + m.problem + '\0' + m.remedy + '\0' +
           std::to_string(m.code);
  } catch (const std::exception& error) {  // no memory, as a rule
    failed = comm->rank();
    text = std::string(2, '\0') + error.what() + std::string(2, '\0') + '0';
  }
  const int first = -static_cast<int>(comm->maximum(Vector::Constant(1, -failed))[0]);
  if (first == none) return;
  comm->broadcast(text, first);
  std::vector<std::string> parts(1);
  for (const char c : text)
    if (c == '\0')
      parts.emplace_back();
    else
      parts.back() += c;
  parts.resize(5);
  throw Error({.field = parts[0],
               .value = parts[1],
               .problem = parts[2],
               .remedy = parts[3],
               .code = std::atoi(parts[4].c_str())});
}

Matrix gather_rows(const Comm* comm, const Matrix& rows) {
  if (!comm) return rows;
  const Vector counts = comm->gather(Vector::Constant(1, static_cast<double>(rows.rows())),
                                     std::vector<Index>(static_cast<std::size_t>(comm->size()), 1));
  if (comm->rank() > 0) {
    if (rows.size() > 0) comm->send(rows.data(), rows.size(), 0);
    return {};
  }
  Matrix all(static_cast<Index>(counts.sum()), rows.cols());
  all.topRows(rows.rows()) = rows;
  Index first = rows.rows();
  for (int rank = 1; rank < comm->size(); ++rank) {
    const auto count = static_cast<Index>(counts[rank]);
    if (count > 0) comm->receive(all.row(first).data(), count * all.cols(), rank);
    first += count;
  }
  return all;
}

std::pair<Index, Index> share_of(Index points, int rank, int size) {
  const Index count = piece_count(points);
  const Index first = count * rank / size, last = count * (rank + 1) / size;
  return {points * first / count, points * last / count};
}

}  // namespace remblai
