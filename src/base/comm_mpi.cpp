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

constexpr Index limit = Index{1} << 28;

// Numbers of one message: MPI counts in an int. Tests have shorter ones by the environment, which
// is the same on all ranks.
Index most_at_once() {
  static const Index most = [] {
    const char* given = std::getenv("REMBLAI_MPI_MOST");
    const Index number = given ? std::atoll(given) : 0;
    return number > 0 ? std::min(number, limit) : limit;
  }();
  return most;
}

// send(first, count) for numbers that are too many for one message: the one place that cuts.
template <class Send>
void in_messages(Index numbers, Send&& send) {
  for (Index at = 0; at < numbers; at += most_at_once())
    send(at, static_cast<int>(std::min(numbers - at, most_at_once())));
}

std::vector<int> counts_of(const std::vector<Index>& sizes) {
  return {sizes.begin(), sizes.end()};
}

std::vector<Index> places_of(const std::vector<Index>& sizes) {
  std::vector<Index> places{0};
  for (const Index size : sizes) places.push_back(places.back() + size);
  return places;
}

constexpr int exchange_tag = 1;

class MpiComm final : public Comm {
 public:
  /// A communicator of its own, so that its messages are never taken for those of the caller.
  explicit MpiComm(MPI_Comm comm) {
    MPI_Comm_dup(comm, &comm_);
    MPI_Comm_dup(comm, &aside_);
    // A copy has the error handler of its caller, and that of mpi4py lets every call return.
    for (const MPI_Comm own : {comm_, aside_}) MPI_Comm_set_errhandler(own, MPI_ERRORS_ARE_FATAL);
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
    const std::vector<Index> places = places_of(sizes);
    Vector all(places.back());
    if (all.size() <= most_at_once()) {
      const std::vector<int> counts = counts_of(sizes), firsts = counts_of(places);
      MPI_Allgatherv(part.data(), static_cast<int>(part.size()), MPI_DOUBLE, all.data(),
                     counts.data(), firsts.data(), MPI_DOUBLE, comm_);
      return all;
    }
    all.segment(places[static_cast<std::size_t>(rank_)], part.size()) = part;
    for (int from = 0; from < size_; ++from) {
      double* const first = all.data() + places[static_cast<std::size_t>(from)];
      in_messages(sizes[static_cast<std::size_t>(from)], [&](Index at, int count) {
        MPI_Bcast(first + at, count, MPI_DOUBLE, from, comm_);
      });
    }
    return all;
  }

  Vector exchange(const Vector& out, const std::vector<Index>& sizes_out,
                  const std::vector<Index>& sizes_in) const override {
    // Pairs of ranks, since none knows whether others have too much for one message.
    const std::vector<Index> places_out = places_of(sizes_out), places_in = places_of(sizes_in);
    Vector in(places_in.back());
    std::vector<MPI_Request> requests;
    const auto request = [&]() -> MPI_Request* { return &requests.emplace_back(MPI_REQUEST_NULL); };
    for (int shift = 1; shift < size_; ++shift) {
      const int from = (rank_ + size_ - shift) % size_;
      const auto k = static_cast<std::size_t>(from);
      in_messages(sizes_in[k], [&](Index at, int count) {
        MPI_Irecv(in.data() + places_in[k] + at, count, MPI_DOUBLE, from, exchange_tag, comm_,
                  request());
      });
    }
    for (int shift = 1; shift < size_; ++shift) {
      const int to = (rank_ + shift) % size_;
      const auto k = static_cast<std::size_t>(to);
      in_messages(sizes_out[k], [&](Index at, int count) {
        MPI_Isend(out.data() + places_out[k] + at, count, MPI_DOUBLE, to, exchange_tag, comm_,
                  request());
      });
    }
    const auto own = static_cast<std::size_t>(rank_);
    in.segment(places_in[own], sizes_in[own]) = out.segment(places_out[own], sizes_out[own]);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    return in;
  }

  Vector maximum(const Vector& values) const override {
    Vector largest(values.size());
    in_messages(values.size(), [&](Index at, int count) {
      MPI_Allreduce(values.data() + at, largest.data() + at, count, MPI_DOUBLE, MPI_MAX, comm_);
    });
    return largest;
  }

  void broadcast(std::string& bytes, int from) const override {
    std::uint64_t size = bytes.size();
    MPI_Bcast(&size, 1, MPI_UINT64_T, from, comm_);
    bytes.resize(size);
    in_messages(static_cast<Index>(size), [&](Index at, int count) {
      MPI_Bcast(bytes.data() + at, count, MPI_BYTE, from, comm_);
    });
  }

  void send(const double* values, Index count, int to) const override {
    in_messages(count,
                [&](Index at, int some) { MPI_Send(values + at, some, MPI_DOUBLE, to, 0, comm_); });
  }

  void receive(double* values, Index count, int from) const override {
    in_messages(count, [&](Index at, int some) {
      MPI_Recv(values + at, some, MPI_DOUBLE, from, 0, comm_, MPI_STATUS_IGNORE);
    });
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

  // mpirun of Open MPI ends the others when a rank leaves before MPI_Finalize. After MPI_Abort it
  // may itself wait for ever or crash: in one job of a hundred with Open MPI 4.1.4 and PMIx 4.2.2.
  void abort(int code) const override {
    if (std::getenv("OMPI_COMM_WORLD_SIZE")) std::_Exit(code);
    MPI_Abort(comm_, code);
  }

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
