// Every piece is worked on exactly once, whoever asks and however many threads there are.
#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
#include <thread>
#include <vector>

namespace remblai {
namespace {

std::vector<int> visits(Index pieces, int threads) {
  std::vector<std::atomic<int>> counts(static_cast<std::size_t>(pieces));
  run_pieces(pieces, threads, [&](Index k) { ++counts[static_cast<std::size_t>(k)]; });
  return {counts.begin(), counts.end()};
}

TEST(Parallel, EveryPieceOnceForManyLoops) {
  for (int loop = 0; loop < 2000; ++loop)
    for (const int threads : {1, 2, 5}) {
      const Index pieces = loop % 64;
      ASSERT_EQ(visits(pieces, threads), std::vector<int>(static_cast<std::size_t>(pieces), 1))
          << loop << " with " << threads;
    }
}

TEST(Parallel, SeveralCallersAtATime) {
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller)
      callers.emplace_back([&] {
        for (int loop = 0; loop < 500; ++loop)
          if (visits(40, 3) != std::vector<int>(40, 1)) ++wrong;
      });
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Parallel, ALoopInsideALoop) {
  std::atomic<int> sum = 0;
  run_pieces(8, 3, [&](Index) { run_pieces(5, 3, [&](Index k) { sum += static_cast<int>(k); }); });
  EXPECT_EQ(sum, 80);
}

TEST(Parallel, WhatABodyThrowsReachesTheCaller) {
  for (const int threads : {1, 3}) {
    EXPECT_THROW(run_pieces(40, threads,
                            [](Index k) {
                              if (k % 7 == 3) throw std::bad_alloc();
                            }),
                 std::bad_alloc);
    EXPECT_EQ(visits(40, threads), std::vector<int>(40, 1));  // and the team is as before
  }
}

TEST(Parallel, PiecesCoverTheRowsInOrder) {
  for (const Index rows : {0, 1, 31, 32, 65, 1000, 100000}) {
    Index next = 0;
    const Index pieces = piece_count(rows);
    for (Index k = 0; k < pieces; ++k) {
      const Rows part = piece(rows, pieces, k);
      EXPECT_EQ(part.begin, next);
      next = part.end;
    }
    EXPECT_EQ(next, rows);
  }
}

}  // namespace
}  // namespace remblai
