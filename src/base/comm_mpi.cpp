// Ranks by MPI. The only file that includes its header.
#include <mpi.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <thread>

#include "remblai/comm.h"
#include "remblai/error.h"

namespace remblai {
namespace {

constexpr Index most_at_once = Index{1} << 28;  // numbers of one message: MPI counts in an int

std::vector<int> counts_of(const std::vector<Index>& sizes) {
  return {sizes.begin(), sizes.end()};
}

std::vector<int> places_of(const std::vector<Index>& sizes) {
  std::vector<int> places;
  Index place = 0;
  for (const Index size : sizes) {
    places.push_back(static_cast<int>(place));
    place += size;
  }
  if (place > std::numeric_limits<int>::max())
    throw Error({.field = "comm",
                 .value = std::to_string(place) + " numbers",
                 .problem = "are more than MPI can gather at once",
                 .remedy = "start fewer ranks"});
  return places;
}

Index sum_of(const std::vector<Index>& sizes) {
  Index total = 0;
  for (const Index size : sizes) total += size;
  return total;
}

class MpiComm final : public Comm {
 public:
  /// A communicator of its own, so that its messages are never taken for those of the caller.
  explicit MpiComm(MPI_Comm comm) {
    MPI_Comm_dup(comm, &comm_);
    MPI_Comm_dup(comm, &aside_);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    MPI_Comm here = MPI_COMM_NULL;
    MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &here);
    MPI_Comm_rank(here, &rank_here_);
    MPI_Comm_size(here, &ranks_here_);
    MPI_Comm_free(&here);
  }

  ~MpiComm() override {
    int over = 0;
    MPI_Finalized(&over);
    if (over) return;
    MPI_Comm_free(&comm_);
    MPI_Comm_free(&aside_);
  }
  MpiComm(const MpiComm&) = delete;
  MpiComm& operator=(const MpiComm&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int rank_here() const override { return rank_here_; }
  int ranks_here() const override { return ranks_here_; }

  Vector gather(const Vector& part, const std::vector<Index>& sizes) const override {
    Vector all(sum_of(sizes));
    const std::vector<int> counts = counts_of(sizes), places = places_of(sizes);
    MPI_Allgatherv(part.data(), static_cast<int>(part.size()), MPI_DOUBLE, all.data(),
                   counts.data(), places.data(), MPI_DOUBLE, comm_);
    return all;
  }

  Vector exchange(const Vector& out, const std::vector<Index>& sizes_out,
                  const std::vector<Index>& sizes_in) const override {
    Vector in(sum_of(sizes_in));
    const std::vector<int> counts_out = counts_of(sizes_out), places_out = places_of(sizes_out);
    const std::vector<int> counts_in = counts_of(sizes_in), places_in = places_of(sizes_in);
    MPI_Alltoallv(out.data(), counts_out.data(), places_out.data(), MPI_DOUBLE, in.data(),
                  counts_in.data(), places_in.data(), MPI_DOUBLE, comm_);
    return in;
  }

  Vector maximum(const Vector& values) const override {
    Vector largest(values.size());
    MPI_Allreduce(values.data(), largest.data(), static_cast<int>(values.size()), MPI_DOUBLE,
                  MPI_MAX, comm_);
    return largest;
  }

  void broadcast(std::string& bytes, int from) const override {
    std::uint64_t size = bytes.size();
    MPI_Bcast(&size, 1, MPI_UINT64_T, from, comm_);
    bytes.resize(size);
    for (std::uint64_t at = 0; at < size; at += most_at_once) {
      const auto count = std::min<std::uint64_t>(size - at, most_at_once);
      MPI_Bcast(bytes.data() + at, static_cast<int>(count), MPI_BYTE, from, comm_);
    }
  }

  void send(const double* values, Index count, int to) const override {
    for (Index at = 0; at < count; at += most_at_once)
      MPI_Send(values + at, static_cast<int>(std::min(count - at, most_at_once)), MPI_DOUBLE, to, 0,
               comm_);
  }

  void receive(double* values, Index count, int from) const override {
    for (Index at = 0; at < count; at += most_at_once)
      MPI_Recv(values + at, static_cast<int>(std::min(count - at, most_at_once)), MPI_DOUBLE, from,
               0, comm_, MPI_STATUS_IGNORE);
  }

  bool meet(double seconds) const override {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(aside_, &request);
    const double end = MPI_Wtime() + seconds;
    int done = 0;
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
      if (MPI_Wtime() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  void abort(int code) const override { MPI_Abort(comm_, code); }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL, aside_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1, rank_here_ = 0, ranks_here_ = 1;
};

// What starts programs of MPI says so by one of these.
bool launched() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MPI_LOCALNRANKS"})
    if (std::getenv(name)) return true;
  return false;
}

using Shared = std::shared_ptr<const Comm>;

int forget(MPI_Comm, int, void* kept, void*) {
  delete static_cast<Shared*>(kept);
  return MPI_SUCCESS;
}

// The ranks of a communicator, made once and kept with it.
Shared ranks_of(MPI_Comm comm) {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &made, nullptr);
    return made;
  }();
  void* kept = nullptr;
  int found = 0;
  MPI_Comm_get_attr(comm, key, &kept, &found);
  if (found) return *static_cast<Shared*>(kept);
  Shared ranks = std::make_shared<MpiComm>(comm);
  MPI_Comm_set_attr(comm, key, new Shared(ranks));
  return ranks;
}

bool started() {
  int yes = 0;
  MPI_Initialized(&yes);
  return yes != 0;
}

void finish() {
  int over = 0;
  MPI_Finalized(&over);
  if (!over) MPI_Finalize();
}

}  // namespace

bool has_mpi() {
  return true;
}

std::shared_ptr<const Comm> mpi_world() {
  if (!started()) {
    if (!launched()) return nullptr;
    int given = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
    std::atexit(finish);
  }
  return ranks_of(MPI_COMM_WORLD);
}

std::shared_ptr<const Comm> mpi_comm(int fortran_handle) {
  if (!started())
    throw Error({.field = "comm",
                 .problem = "MPI has not been started",
                 .remedy = "call MPI_Init first (mpi4py does so when it is imported)"});
  return ranks_of(MPI_Comm_f2c(fortran_handle));
}

}  // namespace remblai
