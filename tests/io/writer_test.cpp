// What stands at the place of an output: links, permissions, devices, and a disk that is full.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/formats.h"
#include "io/io_test_tools.h"

namespace remblai::io::test {
namespace {

namespace fs = std::filesystem;
using IoWriterTest = IoTest;

const std::map<std::string, Value>& arrays() {
  static const std::map<std::string, Value> one{{"x", Vector(Vector::Ones(2))}};
  return one;
}

TEST_F(IoWriterTest, ALinkStaysAndItsTargetIsReplaced) {
  file("old.txt", "old");
  fs::create_symlink("old.txt", path("link.txt"));
  fs::create_symlink(path("link.txt"), path("again.txt"));
  write_text(path("again.txt"), "new");
  EXPECT_TRUE(fs::is_symlink(path("again.txt")) && fs::is_symlink(path("link.txt")));
  EXPECT_EQ(bytes_of(path("old.txt")), "new");
  fs::create_symlink("nothing.npz", path("dangling.npz"));
  write_npz(path("dangling.npz"), arrays());
  EXPECT_TRUE(fs::is_symlink(path("dangling.npz")));
  EXPECT_TRUE(fs::is_regular_file(path("nothing.npz")));
  fs::create_symlink("loop", path("loop"));
  EXPECT_ERROR(write_text(path("loop"), "x"), "cannot write");
}

TEST_F(IoWriterTest, PermissionsStay) {
  for (const std::string name : {"a.txt", "a.npz"}) {
    fs::permissions(file(name, "old"), fs::perms::owner_read | fs::perms::owner_write |
                                           fs::perms::group_read | fs::perms::group_write);
    name == "a.txt" ? write_text(path(name), "new") : write_npz(path(name), arrays());
    struct stat about {};
    ASSERT_EQ(::stat(path(name).c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0660u) << name;
  }
}

TEST_F(IoWriterTest, WhatIsNoRegularFileIsRefused) {
  ASSERT_EQ(::mkfifo(path("pipe.txt").c_str(), 0600), 0);
  EXPECT_ERROR(write_text(path("pipe.txt"), "x"), "it is a pipe, not a regular file");
  fs::create_hard_link(file("one.txt", "old"), path("two.txt"));
  EXPECT_ERROR(write_text(path("two.txt"), "new"), "has 2 names (hard links)");
  EXPECT_EQ(bytes_of(path("one.txt")), "old");
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  EXPECT_ERROR(write_text("/proc/self/fd/" + std::to_string(ends[1]), "x"),
               "it is a pipe, not a regular file");
  ::close(ends[0]);
  ::close(ends[1]);
  if (::geteuid() != 0) {
    fs::permissions(file("shut.txt", "old"), fs::perms::owner_read);
    EXPECT_ERROR(write_text(path("shut.txt"), "new"), "Permission denied");
  }
  EXPECT_EQ(files(), ::geteuid() != 0 ? 4u : 3u) << "a temporary file was left";
}

TEST_F(IoWriterTest, AMissingFolderIsTheOneThatTheLinkLeadsTo) {
  fs::create_symlink("nowhere/file.txt", path("link.txt"));
  EXPECT_ERROR(write_text(path("link.txt"), "x"), "there is no folder '" + path("nowhere/") + "'");
}

TEST_F(IoWriterTest, AnOpenFileWithoutANameIsRefused) {
  std::ofstream open(file("gone.txt", "old"));
  const int number = ::open(path("gone.txt").c_str(), O_RDONLY);
  fs::remove(path("gone.txt"));
  EXPECT_ERROR(write_text("/proc/self/fd/" + std::to_string(number), "new"), "no name leads to it");
  ::close(number);
  EXPECT_EQ(files(), 0u);
}

TEST_F(IoWriterTest, ANameMayHaveAsManyLettersAsTheSystemTakes) {
  const std::string name(255, 'n');
  write_text(path(name), "new");
  EXPECT_EQ(bytes_of(path(name)), "new");
  EXPECT_EQ(files(), 1u);
}

// In containers every process may have the number of one that was killed.
TEST_F(IoWriterTest, WhatAKilledRunLeftIsInNobodysWay) {
  std::string mark;
  write_atomically(path("a.txt"), [&](const std::string& temporary) { mark = temporary; });
  const std::size_t dash = mark.rfind('-') + 1;
  const int serial = std::stoi(mark.substr(dash));
  for (const int next : {1, 2, 3})
    std::ofstream(mark.substr(0, dash) + std::to_string(serial + next)) << "half";
  write_text(path("a.txt"), "new");
  EXPECT_EQ(bytes_of(path("a.txt")), "new");
  EXPECT_EQ(files(), 4u) << "what another run left is not ours to remove";
}

TEST_F(IoWriterTest, WhetherAFileCanBeWrittenShowsBeforeItIs) {
  require_writable(path("new.txt"));
  require_writable(file("old.txt", "old"));
  require_writable("/dev/null");
  EXPECT_EQ(bytes_of(path("old.txt")), "old");
  EXPECT_ERROR(require_writable(path("none/x.txt")), "there is no folder '" + path("none/") + "'");
  EXPECT_ERROR(require_writable("/proc/x.txt"), "cannot write '/proc/x.txt'");
  fs::create_directory(path("folder"));
  EXPECT_ERROR(require_writable(path("folder")), "Is a directory");
  EXPECT_EQ(files(), 2u) << "the attempt left something";
}

TEST_F(IoWriterTest, ADeviceIsWrittenIntoAndStays) {
  fs::create_symlink("/dev/null", path("null.npz"));
  write_npz(path("null.npz"), arrays());
  write_text("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_ERROR(write_text("/dev/full", "x"), "No space left on device");
  EXPECT_ERROR(write_npz("/dev/full", arrays()), "No space left on device");
}

}  // namespace
}  // namespace remblai::io::test
