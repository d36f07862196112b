// Tasks of the second experiment, files of either format, and domains that are not there.
#include "office_caltech.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "remblai/io.h"
#include "support.h"

namespace remblai::experiments {
namespace {

namespace fs = std::filesystem;

class OfficeCaltechTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = test::scratch_path("office_caltech_test") + "/features";
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(test::scratch_path("office_caltech_test")); }

  // The first coordinate is the number of the point.
  void write_domain(const std::string& name, Index per_class, Index extra, Index features = 4) {
    Matrix points = test::random_matrix(10 * per_class + extra, features, 1);
    Labels labels(points.rows());
    for (Index i = 0; i < points.rows(); ++i) {
      points(i, 0) = static_cast<double>(i);
      labels[i] = i % 10 + 1;
    }
    io::write_npz(folder_ + "/" + name + ".npz", {{"feas", points}, {"labels", labels}});
  }

  std::string folder_;
};

std::set<double> numbers(const Domain& domain) {
  return {domain.points.col(0).begin(), domain.points.col(0).end()};
}

TEST_F(OfficeCaltechTest, TwelveTasksInTheOrderOfThePaper) {
  const std::vector<std::string> tasks = office_tasks();
  EXPECT_EQ(tasks.size(), 12u);
  EXPECT_EQ(tasks[0], "A-C");
  EXPECT_EQ(tasks[8], "D-W");
  EXPECT_EQ(std::set<std::string>(tasks.begin(), tasks.end()).size(), 12u);
}

TEST_F(OfficeCaltechTest, SourceByClassAndTargetInHalves) {
  write_domain("dslr", 15, 7);
  write_domain("webcam", 29, 5);
  const OfficeCaltech data = read_office_caltech(folder_);
  EXPECT_EQ(data.missing.size(), 2u);
  EXPECT_EQ(data.missing.at('A'), folder_ + "/amazon.mat (or .npz)");

  const Split from_dslr = draw_office_caltech(data, "D-W", 3);
  EXPECT_EQ(from_dslr.source.size(), 80);
  EXPECT_EQ(from_dslr.train.size(), 147);
  EXPECT_EQ(from_dslr.test.size(), 148);
  std::set<double> target = numbers(from_dslr.train);
  target.merge(numbers(from_dslr.test));
  EXPECT_EQ(target.size(), 295u);
  for (const auto& [label, rows] : rows_by_class(from_dslr.source))
    EXPECT_EQ(rows.size(), 8u) << label;
  for (const Domain* part : {&from_dslr.source, &from_dslr.train, &from_dslr.test})
    for (Index i = 0; i < part->size(); ++i)
      EXPECT_EQ(part->labels[i], static_cast<std::int64_t>(part->points(i, 0)) % 10 + 1);

  const Split from_webcam = draw_office_caltech(data, "W-D", 3);
  EXPECT_EQ(from_webcam.source.size(), 100);
  EXPECT_EQ(from_webcam.train.size(), 78);
  EXPECT_EQ(from_webcam.test.size(), 79);
  EXPECT_NE(from_webcam.source.points, draw_office_caltech(data, "W-D", 4).source.points);
}

TEST_F(OfficeCaltechTest, RefusesWhatCannotBeUsed) {
  const auto message = [&](const std::string& folder) {
    return test::message_of([&] { read_office_caltech(folder); });
  };
  const std::string absent = message(fs::path(folder_).parent_path() / "nothing");
  EXPECT_TRUE(test::contains(absent, "nothing is not a folder")) << absent;
  EXPECT_TRUE(test::contains(absent, "there are features")) << absent;
  write_domain("dslr", 15, 0);
  write_domain("webcam", 15, 0, 5);
  EXPECT_TRUE(test::contains(message(folder_), "domain W has 5 features, domain D has 4"))
      << message(folder_);
  Labels other = Labels::Constant(150, 3);
  io::write_npz(folder_ + "/webcam.npz",
                {{"feas", test::random_matrix(150, 4, 1)}, {"labels", other}});
  EXPECT_TRUE(test::contains(message(folder_), "domain W has the classes 3, domain D has 1 2 3"))
      << message(folder_);
  io::write_npz(folder_ + "/webcam.npz", {{"feas", test::random_matrix(150, 4, 1)}});
  EXPECT_TRUE(test::contains(message(folder_), "webcam.npz: there are no labels in it"))
      << message(folder_);
  write_domain("webcam", 5, 0);
  const OfficeCaltech data = read_office_caltech(folder_);
  fs::copy_file(folder_ + "/dslr.npz", folder_ + "/dslr.mat");
  EXPECT_TRUE(test::contains(message(folder_), "dslr.npz is there too; remove one"))
      << message(folder_);
  EXPECT_EQ(test::message_of([&] { draw_office_caltech(data, "W-D", 0); }),
            "W-D: points of class 1: 10 are needed, there are 5");
}

}  // namespace
}  // namespace remblai::experiments
