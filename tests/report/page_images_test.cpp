// Which points are images.
#include <gtest/gtest.h>

#include <cmath>

#include "remblai/sample.h"
#include "report/page_data.h"
#include "report/page_test_tools.h"

namespace remblai {
namespace {

TEST(Page, ImagesAreRecognised) {
  const Sample digits = mnist_sample();
  Problem problem;
  problem.source.points = digits.source.points.topRows(80);
  problem.source.labels = digits.source.labels.head(80);
  problem.target.points = digits.target.points.topRows(80);
  const Options quick{.steps = 1, .tolerance = 1e-2};
  Model model = fit(problem, quick);
  EXPECT_EQ(image_size(model, {}).rows, 28);
  const std::string page = to_html(model, {}, {});
  EXPECT_LT(page.size(), 2'000'000u);
  const Json data = Json::parse(raw_data(page));
  EXPECT_FALSE(block(data, "pairs").is_null());
  EXPECT_TRUE(block(data, "pictures")["sheet"]["uri"].get<std::string>().starts_with(
      "data:image/png;base64,iVBORw0KGgo"));
  EXPECT_TRUE(block(data, "scatter")["clouds"][1].contains("sheet"));
  PageOptions options;
  options.images = false;
  EXPECT_TRUE(block(data_of(model, options), "pairs").is_null());
  options = {};
  options.image_size = {14, 56};
  EXPECT_EQ(block(data_of(model, options), "pairs")["sources"]["width"], 56);
  options.image_size = {28, 27};
  EXPECT_TRUE(contains(message_of([&] { to_html(model, {}, options); }), "28 x 27"));
  // The same numbers in another order are no image; nor is a table with names or negative numbers.
  std::mt19937 engine(1);
  std::vector<Index> order(784);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Index>(i);
  std::shuffle(order.begin(), order.end(), engine);
  Model shuffled = model;
  shuffled.source.points = Matrix(model.source.points(Eigen::all, order));
  EXPECT_EQ(image_size(shuffled, {}).rows, 0);
  Model negative = model;
  negative.source.points.array() -= 0.5;
  EXPECT_EQ(image_size(negative, {}).rows, 0);
  model.features.assign(784, "x");
  EXPECT_EQ(image_size(model, {}).rows, 0);
}

TEST(Page, SpectraAreNoImages) {
  for (const double width : {2.0, 6.0, 20.0}) {
    Problem problem = small_problem(60, 60, 256);
    std::mt19937_64 engine(3);
    for (Domain* domain : {&problem.source, &problem.target})
      for (Index i = 0; i < 60; ++i) {
        const double at = 256 * test::uniform(engine);
        for (Index k = 0; k < 256; ++k)
          domain->points(i, k) = std::exp(-std::pow((static_cast<double>(k) - at) / width, 2) / 2);
      }
    const Model model = fit(problem, {.steps = 1, .tolerance = 1e-2});
    EXPECT_EQ(image_size(model, {}).rows, 0) << width;
  }
}

}  // namespace
}  // namespace remblai
