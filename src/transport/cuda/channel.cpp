// Copies in two halves, made by several threads where they are long.
#include "transport/cuda/channel.h"

#include <algorithm>
#include <cstring>

#include "base/linalg.h"
#include "transport/cuda/runtime.h"

namespace remblai::cuda {
namespace {

constexpr std::size_t least = std::size_t{1} << 18, most = std::size_t{1} << 24;  // bytes of a half

void copy_bytes(void* to, const void* from, std::size_t bytes) {
  constexpr std::size_t line = 4096;
  linalg::for_rows(
      static_cast<Index>((bytes + line - 1) / line), line / sizeof(double), [&](Index, Rows rows) {
        const std::size_t begin = static_cast<std::size_t>(rows.begin) * line;
        const std::size_t end = std::min(static_cast<std::size_t>(rows.end) * line, bytes);
        if (begin < end)
          std::memcpy(static_cast<std::byte*>(to) + begin,
                      static_cast<const std::byte*>(from) + begin, end - begin);
      });
}

}  // namespace

void Channel::release() {
  for (Half& half : halves_) {
    if (half.memory) cudaFreeHost(half.memory);
    if (half.free) cudaEventDestroy(half.free);
    half = {};
  }
  size_ = 0;
}

// Room for so many bytes in each half, or for as many as it ever has.
void Channel::reserve(std::size_t bytes) {
  const std::size_t wanted = bytes > least ? most : least;
  if (wanted <= size_) return;
  check(cudaStreamSynchronize(stream_), "numbers on their way");
  release();
  for (Half& half : halves_) {
    check(cudaHostAlloc(reinterpret_cast<void**>(&half.memory), wanted, cudaHostAllocDefault),
          "pinned memory");
    check(cudaEventCreateWithFlags(&half.free, cudaEventDisableTiming), "an event");
  }
  size_ = wanted;
}

Channel::Half& Channel::next_half() {
  turn_ = 1 - turn_;
  check(cudaEventSynchronize(halves_[turn_].free), "numbers on their way");
  return halves_[turn_];
}

void Channel::send(const double* from, std::int64_t count, double* to) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(double);
  reserve(bytes);
  for (std::size_t first = 0; first < bytes; first += size_) {
    const std::size_t some = std::min(size_, bytes - first);
    Half& half = next_half();
    copy_bytes(half.memory, reinterpret_cast<const std::byte*>(from) + first, some);
    check(cudaMemcpyAsync(reinterpret_cast<std::byte*>(to) + first, half.memory, some,
                          cudaMemcpyHostToDevice, stream_),
          "numbers from the processor");
    check(cudaEventRecord(half.free, stream_), "an event");
  }
}

void Channel::fetch(std::initializer_list<Part> parts) {
  std::size_t bytes = 0;
  for (const Part& part : parts) bytes += static_cast<std::size_t>(part.count) * sizeof(double);
  reserve(bytes);
  if (bytes > size_) {
    for (const Part& part : parts) fetch_long(part);
    return;
  }
  const Half& half = next_half();
  std::byte* place = half.memory;
  for (const Part& part : parts) {
    const std::size_t size = static_cast<std::size_t>(part.count) * sizeof(double);
    check(cudaMemcpyAsync(place, part.from, size, cudaMemcpyDeviceToHost, stream_),
          "numbers for the processor");
    place += size;
  }
  check(cudaStreamSynchronize(stream_), "a pass over the matrix");
  check(cudaGetLastError(), "a pass over the matrix");
  place = half.memory;
  for (const Part& part : parts) {
    const std::size_t size = static_cast<std::size_t>(part.count) * sizeof(double);
    copy_bytes(part.to, place, size);
    place += size;
  }
}

// One half arrives while the other is taken away.
void Channel::fetch_long(const Part& part) {
  const std::size_t bytes = static_cast<std::size_t>(part.count) * sizeof(double);
  const auto ask = [&](std::size_t first) {
    Half& half = next_half();
    check(cudaMemcpyAsync(half.memory, reinterpret_cast<const std::byte*>(part.from) + first,
                          std::min(size_, bytes - first), cudaMemcpyDeviceToHost, stream_),
          "numbers for the processor");
    check(cudaEventRecord(half.free, stream_), "an event");
    return &half;
  };
  Half* coming = bytes > 0 ? ask(0) : nullptr;
  for (std::size_t first = 0; first < bytes; first += size_) {
    const Half* here = coming;
    if (first + size_ < bytes) coming = ask(first + size_);
    check(cudaEventSynchronize(here->free), "a pass over the matrix");
    copy_bytes(reinterpret_cast<std::byte*>(part.to) + first, here->memory,
               std::min(size_, bytes - first));
  }
  check(cudaGetLastError(), "a pass over the matrix");
}

}  // namespace remblai::cuda
