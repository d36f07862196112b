// The limits of control groups, read from made-up folders in place of /: both versions, groups
// inside groups, containers that see their own group as the top one, and files that make no sense.
#include "base/cgroup.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <string>

#include "base/cores.h"
#include "base/memory.h"
#include "support.h"

namespace remblai {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();
constexpr double gib = 1024.0 * 1024 * 1024;

class CgroupTest : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  const std::filesystem::path& root() const { return root_; }

 private:
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::filesystem::path root_ = test::scratch_path("cgroup");
};

TEST_F(CgroupTest, NothingThereIsNoLimit) {
  EXPECT_EQ(cgroup_cpus(root()), unlimited);
  EXPECT_EQ(cgroup_memory(root()), unlimited);
  EXPECT_EQ(available_memory(root()), unlimited);
  EXPECT_GE(usable_cores(root()), 1);
}

TEST_F(CgroupTest, TheSmallestLimitOnTheWayUpCounts) {
  write("proc/self/cgroup", "0::/user.slice/job\n");
  write("sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
  write("sys/fs/cgroup/user.slice/job/memory.max", "8589934592\n");
  write("sys/fs/cgroup/user.slice/job/memory.current", "1073741824\n");
  write("sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
  write("sys/fs/cgroup/user.slice/memory.max", "4294967296\n");
  write("sys/fs/cgroup/user.slice/memory.current", "1073741824\n");
  EXPECT_EQ(cgroup_cpus(root()), 1.5);
  EXPECT_EQ(cgroup_memory(root()), 3 * gib);
}

TEST_F(CgroupTest, VersionOneHasAFolderForEachController) {
  write("proc/self/cgroup",
        "12:devices:/other\n5:memory:/job\n4:cpu,cpuacct:/batch/job\n1:name=systemd:/x\n");
  write("sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_quota_us", "250000\n");
  write("sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/cpu,cpuacct/batch/job/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/batch/job/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648\n");
  write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1073741824\n");
  write("sys/fs/cgroup/memory/job/memory.stat", "cache 7\ntotal_inactive_file 536870912\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(cgroup_cpus(root()), 2.5);
  EXPECT_EQ(cgroup_memory(root()), 1.5 * gib);
}

TEST_F(CgroupTest, AContainerMaySeeItsGroupAsTheTopOne) {
  write("proc/self/cgroup", "5:memory:/docker/0123abc\n4:cpu:/docker/0123abc\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n");
  EXPECT_EQ(cgroup_cpus(root()), 0.5);
  EXPECT_EQ(cgroup_memory(root()), gib);
}

TEST_F(CgroupTest, PagesOfFilesThatCanBeDroppedAreFree) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "4294967296\n");
  write("sys/fs/cgroup/memory.current", "4294967296\n");
  write("sys/fs/cgroup/memory.stat", "anon 1\nfile 3221225472\ninactive_file 3221225472\n");
  EXPECT_EQ(cgroup_memory(root()), 3 * gib);
}

TEST_F(CgroupTest, MoreUsedThanAllowedLeavesNothing) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "1000\n");
  write("sys/fs/cgroup/memory.current", "2000\n");
  EXPECT_EQ(cgroup_memory(root()), 0);
}

TEST_F(CgroupTest, WhatMakesNoSenseIsNoLimit) {
  for (const char* groups :
       {"", "\n", "garbage", "0:", "0::", "::::", "0::/../../..", "0::/a/b\n0::/a/b"})
    for (const char* text :
         {"", "\n", "max", "max max", "garbage 100000", "-1 100000", "0 0", "nan", "inf", "1e999",
          "12x 100000", "0x10 1", "100000 -5", "100000 0"}) {
      write("proc/self/cgroup", groups);
      write("sys/fs/cgroup/cpu.max", text);
      EXPECT_EQ(cgroup_cpus(root()), unlimited) << groups << " / " << text;
    }
  for (const char* text : {"", "\n", "max\n", "garbage", "-1", "nan", "inf", "1e999", "12x"}) {
    for (const char* other : {text, "100000"}) {
      write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", text);
      write("sys/fs/cgroup/cpu/cpu.cfs_period_us", other);
      EXPECT_EQ(cgroup_cpus(root()), unlimited) << text << " / " << other;
    }
    write("sys/fs/cgroup/memory.max", text);
    write("sys/fs/cgroup/memory/memory.limit_in_bytes", text);
    EXPECT_EQ(cgroup_memory(root()), unlimited) << text;
  }
  write("sys/fs/cgroup/memory.max", "1000");  // used: nobody knows, or nonsense
  EXPECT_EQ(cgroup_memory(root()), 1000);
  write("sys/fs/cgroup/memory.current", "garbage");
  write("sys/fs/cgroup/memory.stat", "inactive_file\ninactive_file garbage\n\n");
  EXPECT_EQ(cgroup_memory(root()), 1000);
}

TEST_F(CgroupTest, APathCannotLeaveTheMountedFolder) {
  write("proc/self/cgroup", "0::/../../../secret\n");
  write("secret/cpu.max", "1 100000\n");
  write("sys/fs/cgroup/secret/cpu.max", "300000 100000\n");
  EXPECT_EQ(cgroup_cpus(root()), 3);
}

TEST_F(CgroupTest, FreeMemoryIsThatOfTheMachineWithinTheLimits) {
  write("proc/meminfo", "MemTotal:  16777216 kB\nMemFree: 1 kB\nMemAvailable:   2097152 kB\n");
  EXPECT_EQ(available_memory(root()), 2 * gib);
  write("sys/fs/cgroup/memory.max", "1073741824\n");
  EXPECT_EQ(available_memory(root()), gib);
  write("proc/meminfo", "MemTotal: x\nMemAvailable: garbage\n\nMemAvailable:");
  EXPECT_EQ(available_memory(root()), gib);
  write("proc/meminfo", "MemAvailable: -5 kB\n");
  EXPECT_EQ(available_memory(root()), gib);
}

TEST_F(CgroupTest, CoresAreTheQuotaRoundedUp) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/cpu.max", "1 100000\n");
  EXPECT_EQ(usable_cores(root()), 1);
  write("sys/fs/cgroup/cpu.max", "100001 100000\n");
  EXPECT_EQ(usable_cores(root()), std::min(2, usable_cores("/nowhere")));
  write("sys/fs/cgroup/cpu.max", "900000000000 1\n");
  EXPECT_EQ(usable_cores(root()), usable_cores("/nowhere"));
}

}  // namespace
}  // namespace remblai
