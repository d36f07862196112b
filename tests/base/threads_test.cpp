// The number of threads: what was asked for, within what there is, whoever else computes.
#include "remblai/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/cores.h"
#include "base/linalg.h"
#include "remblai/fit.h"
#include "remblai/predict.h"
#include "support.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace remblai {
namespace {

TEST(Threads, AtMostOneForEachCore) {
  const int cores = usable_cores();
  EXPECT_EQ(thread_count(1), 1);
  EXPECT_EQ(thread_count(1000000), cores);
  EXPECT_EQ(thread_count(0), cores);
  EXPECT_EQ(thread_count(-3), cores);
}

#if defined(__linux__)
TEST(Threads, CoresThatTheThreadMayNotUseDoNotCount) {
  std::thread([] {
    cpu_set_t all, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    int first = 0;
    while (!CPU_ISSET(first, &all)) ++first;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(thread_count(0), 1);
  }).join();
}
#endif

TEST(Threads, TheSmallestOfTheLivingScopesCounts) {
  using linalg::current_threads;
  const int before = current_threads();
  {
    const linalg::Threads three(3);
    EXPECT_EQ(current_threads(), 3);
    {
      const linalg::Threads one(1);
      EXPECT_EQ(current_threads(), 1);
      const linalg::Threads two(2);
      EXPECT_EQ(current_threads(), 1);
    }
    EXPECT_EQ(current_threads(), 3);
    const linalg::Threads none(0);
    EXPECT_EQ(current_threads(), 1);
  }
  EXPECT_EQ(current_threads(), before);
}

TEST(Threads, ScopesEndInAnyOrder) {
  using linalg::current_threads;
  const int before = current_threads();
  auto two = std::make_unique<linalg::Threads>(2);
  auto one = std::make_unique<linalg::Threads>(1);
  two.reset();
  EXPECT_EQ(current_threads(), 1);
  two = std::make_unique<linalg::Threads>(2);
  one.reset();
  EXPECT_EQ(current_threads(), 2);
  two.reset();
  EXPECT_EQ(current_threads(), before);
}

TEST(Threads, ScopesOfManyThreadsAtATime) {
  const int before = linalg::current_threads();
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 4; ++caller)
      callers.emplace_back([&wrong, mine = caller % 3 + 1] {
        for (int loop = 0; loop < 2000; ++loop) {
          const linalg::Threads scope(mine);
          if (linalg::current_threads() > mine) ++wrong;
        }
      });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(linalg::current_threads(), before);
}

TEST(Threads, WhatTheHostProgramHasSetSurvivesAFit) {
  for (const int host : {1, 2}) {
    const linalg::Threads setting(host);
    const Model model =
        fit(test::small_problem(), {.steps = 2, .resources = {.threads = 3 - host}});
    EXPECT_EQ(linalg::current_threads(), host);
    predict(model, model.target.points);
    EXPECT_EQ(linalg::current_threads(), host);
  }
}

TEST(Threads, AFitKeepsItsNumberWhileOthersAskForMore) {
  std::atomic<bool> stop = false;
  std::jthread other([&] {
    while (!stop) fit(test::small_problem(), {.steps = 2, .resources = {.threads = 2}});
  });
  for (int repeat = 0; repeat < 20; ++repeat) {
    const auto callback = [](const Progress&) {
      EXPECT_EQ(linalg::current_threads(), 1);
      return true;
    };
    fit(test::small_problem(), {.steps = 5, .outer_tolerance = 0, .resources = {.threads = 1}},
        callback);
  }
  stop = true;
}

}  // namespace
}  // namespace remblai
