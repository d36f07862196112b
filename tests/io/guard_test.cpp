// Work in a child process: what it returns and throws, and what becomes of a crash, a hang and
// greed.
#include "io/guard.h"

#include <sched.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include "io/formats.h"
#include "io/io_test_tools.h"

namespace remblai::io::test {
namespace {

const Limits small{.file_size = 1000, .most_reply = 1 << 20};

TEST(Guard, RepliesAndErrorsComeBack) {
  const std::string reply = in_child("x", small, [] {
    Packed packed;
    packed.add(7);
    packed.add("seven");
    packed.add(std::vector<Index>{-1, 2});
    return packed.take();
  });
  Unpacked unpacked(reply, "x");
  EXPECT_EQ(unpacked.number(), 7u);
  EXPECT_EQ(unpacked.text(), "seven");
  EXPECT_EQ(unpacked.numbers(), (std::vector<Index>{-1, 2}));
  EXPECT_TRUE(unpacked.empty());
  EXPECT_ERROR(unpacked.number(), "damaged");
  EXPECT_ERROR(in_child("x", small, []() -> std::string { cannot_read("y", "$ridge is no name"); }),
               "cannot read 'y': $ridge is no name");
}

TEST(Guard, ACrashIsAnError) {
  EXPECT_ERROR(in_child("x", small,
                        []() -> std::string {
                          std::raise(SIGSEGV);
                          return "";
                        }),
               "cannot read 'x': reading it crashed (signal 11); the file is truncated or damaged");
  EXPECT_ERROR(in_child("x", small, []() -> std::string { std::abort(); }), "crashed (signal 6)");
  EXPECT_ERROR(in_child("x", small, []() -> std::string { std::_Exit(0); }), "failed");
}

// The child must not go on as the caller, whose handlers it has too.
TEST(Guard, WhatNobodyExpectedIsAnErrorToo) {
  const pid_t parent = getpid();
  std::array<int, 2> escaped{};  // the child writes here when its exception comes this far
  ASSERT_EQ(::pipe(escaped.data()), 0);
  try {
    in_child("x", small, []() -> std::string { throw std::runtime_error("unexpected"); });
    ADD_FAILURE();
  } catch (const std::exception& error) {
    if (getpid() != parent) _exit(::write(escaped[1], "!", 1) == 1 ? 0 : 1);
    EXPECT_NE(std::string(error.what()).find("damaged"), std::string::npos) << error.what();
  }
  ::close(escaped[1]);
  char mark = 0;
  EXPECT_EQ(::read(escaped[0], &mark, 1), 0) << "the child went on with the work of its parent";
  ::close(escaped[0]);
}

TEST(Guard, ALongReplyIsCutOff) {
  EXPECT_ERROR(in_child("x", small, [] { return std::string(2 << 20, 'x'); }), "damaged");
}

TEST(Guard, SlowAHangIsAnError) {
  EXPECT_ERROR(in_child("x", small,
                        []() -> std::string {
                          while (true) ::sched_yield();
                        }),
               "takes too long");
}

}  // namespace
}  // namespace remblai::io::test
