// The number of threads: what was asked for, within what there is.
#include "remblai/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

namespace remblai {
namespace {

TEST(Threads, AtMostOneForEachCore) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_EQ(set_threads(1), 1);
  EXPECT_EQ(set_threads(1000000), cores);
  EXPECT_EQ(set_threads(0), cores);
  EXPECT_EQ(set_threads(-3), cores);
}

}  // namespace
}  // namespace remblai
