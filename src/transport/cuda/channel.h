// The way between the memory of the processor and that of a GPU.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace remblai::cuda {

/// Numbers travel through pinned memory, in two halves that take turns: the processor fills one
/// while the GPU reads the other. That is several times as fast as from memory that may be paged
/// out, and a caller's vector is free again as soon as a call returns.
class Channel {
 public:
  Channel() = default;
  ~Channel() { release(); }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Everything goes by this stream, in its order.
  void use(cudaStream_t stream) { stream_ = stream; }

  void send(const double* from, std::int64_t count, double* to);

  /// Numbers that come back together.
  struct Part {
    const double* from = nullptr;
    std::int64_t count = 0;
    double* to = nullptr;
  };

  /// Waits for all that the stream was asked for before.
  void fetch(std::initializer_list<Part> parts);

  void release();

 private:
  struct Half {
    std::byte* memory = nullptr;
    cudaEvent_t free = nullptr;  // when the GPU is through with it
  };

  void reserve(std::size_t bytes);
  void fetch_long(const Part& part);
  Half& next_half();

  cudaStream_t stream_ = nullptr;
  Half halves_[2];
  std::size_t size_ = 0;  // of each
  int turn_ = 0;
};

}  // namespace remblai::cuda
