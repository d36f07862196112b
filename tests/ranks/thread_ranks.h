// Ranks that are threads of the test, so that any number of them runs under any tool.
#pragma once

#include <barrier>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "remblai/comm.h"

namespace remblai {

/// What the ranks have in common.
class ThreadRanks {
 public:
  explicit ThreadRanks(int count)
      : size(count),
        barrier(count),
        vectors(static_cast<std::size_t>(count)),
        sizes(static_cast<std::size_t>(count)) {}

  int size;
  std::barrier<> barrier;
  std::vector<const Vector*> vectors;
  std::vector<const std::vector<Index>*> sizes;
  std::string* bytes = nullptr;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::pair<int, int>, std::deque<Vector>> letters;  // from, to
};

class ThreadComm final : public Comm {
 public:
  ThreadComm(ThreadRanks& ranks, int rank) : ranks_(ranks), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return ranks_.size; }
  int rank_here() const override { return rank_; }
  int ranks_here() const override { return ranks_.size; }

  Vector gather(const Vector& part, const std::vector<Index>& sizes) const override {
    const Shown shown(*this, part);
    Index total = 0;
    for (const Index size : sizes) total += size;
    Vector all(total);
    Index place = 0;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const Vector& one = *ranks_.vectors[k];
      if (one.size() != sizes[k]) std::abort();  // the ranks do not agree on their sizes
      all.segment(place, one.size()) = one;
      place += one.size();
    }
    return all;
  }

  Vector exchange(const Vector& out, const std::vector<Index>& sizes_out,
                  const std::vector<Index>& sizes_in) const override {
    ranks_.sizes[static_cast<std::size_t>(rank_)] = &sizes_out;
    const Shown shown(*this, out);
    std::vector<double> in;
    for (std::size_t k = 0; k < sizes_in.size(); ++k) {
      const std::vector<Index>& sizes = *ranks_.sizes[k];
      Index first = 0;
      for (int to = 0; to < rank_; ++to) first += sizes[static_cast<std::size_t>(to)];
      if (sizes[static_cast<std::size_t>(rank_)] != sizes_in[k]) std::abort();
      const double* from = ranks_.vectors[k]->data() + first;
      in.insert(in.end(), from, from + sizes_in[k]);
    }
    return Eigen::Map<const Vector>(in.data(), static_cast<Index>(in.size()));
  }

  Vector maximum(const Vector& values) const override {
    const Shown shown(*this, values);
    Vector largest = values;
    for (const Vector* one : ranks_.vectors) largest = largest.cwiseMax(*one);
    return largest;
  }

  void broadcast(std::string& bytes, int from) const override {
    if (rank_ == from) ranks_.bytes = &bytes;
    ranks_.barrier.arrive_and_wait();
    if (rank_ != from) bytes = *ranks_.bytes;
    ranks_.barrier.arrive_and_wait();
  }

  void send(const double* values, Index count, int to) const override {
    const std::lock_guard lock(ranks_.mutex);
    ranks_.letters[{rank_, to}].push_back(Eigen::Map<const Vector>(values, count));
    ranks_.changed.notify_all();
  }

  void receive(double* values, Index count, int from) const override {
    std::unique_lock lock(ranks_.mutex);
    std::deque<Vector>& letters = ranks_.letters[{from, rank_}];
    ranks_.changed.wait(lock, [&] { return !letters.empty(); });
    if (letters.front().size() != count) std::abort();
    std::memcpy(values, letters.front().data(), static_cast<std::size_t>(count) * sizeof(double));
    letters.pop_front();
  }

  bool meet(double) const override {
    ranks_.barrier.arrive_and_wait();
    return true;
  }
  void abort(int) const override { std::abort(); }

 private:
  // Shows a vector to all ranks while it lives.
  class Shown {
   public:
    Shown(const ThreadComm& comm, const Vector& vector) : comm_(comm) {
      comm_.ranks_.vectors[static_cast<std::size_t>(comm_.rank_)] = &vector;
      comm_.ranks_.barrier.arrive_and_wait();
    }
    ~Shown() { comm_.ranks_.barrier.arrive_and_wait(); }
    Shown(const Shown&) = delete;
    Shown& operator=(const Shown&) = delete;

   private:
    const ThreadComm& comm_;
  };

  ThreadRanks& ranks_;
  int rank_;
};

/// body(comm) on so many ranks at once. What they throw must be thrown by all or caught.
template <class Body>
void run_ranks(int size, const Body& body) {
  ThreadRanks ranks(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] { body(std::make_shared<ThreadComm>(ranks, rank)); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace remblai
