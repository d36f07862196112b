// Sessions of HDF5: one thread at a time.
#include "io/hdf5.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace remblai::io {
namespace {

TEST(Hdf5, OneSessionAtATime) {
  std::atomic<int> living = 0, together = 0;
  {
    std::vector<std::jthread> readers;
    for (int reader = 0; reader < 3; ++reader)
      readers.emplace_back([&] {
        for (int loop = 0; loop < 200; ++loop) {
          const Session session;
          if (++living > 1) ++together;
          std::this_thread::yield();
          --living;
        }
      });
  }
  EXPECT_EQ(together, 0);
}

}  // namespace
}  // namespace remblai::io
