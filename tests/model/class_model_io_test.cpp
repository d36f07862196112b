// Class-aware models through files: the same bits, and nothing but a whole model is taken.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "fit/class_test_tools.h"
#include "model/model_file_test.h"
#include "model/same_bits.h"
#include "remblai/fit.h"
#include "remblai/map.h"
#include "remblai/model_io.h"
#include "remblai/predict.h"
#include "remblai/report.h"

namespace remblai {
namespace {

using test::class_aware;
using test::class_problem;
using test::contains;
using test::expect_same_bits;
using test::message_of;
using test::nan;

Options with(double lambda, Preprocess preprocess = Preprocess::none) {
  Options options = class_aware();
  options.lambda = lambda;
  options.preprocess = preprocess;
  return options;
}

// The heads of the two: kernels for the first, class means for the second.
std::vector<Model> models() {
  Options means = with(0);
  means.classes.kernel_width = 1e-3;
  return {fit(class_problem(3, 12, 10, 4, 1, 1), with(0.1)), fit(class_problem(2, 8, 7, 20), means),
          fit(class_problem(3, 12, 10, 4), with(0.1, Preprocess::centre)),
          fit(class_problem(3, 12, 10, 4), with(0.1, Preprocess::standardise))};
}

class ClassModelIo : public test::ModelFileTest {};

TEST_F(ClassModelIo, AnswersComeBackBitForBit) {
  Problem partly = class_problem(3, 20, 24, 4, 2);
  partly.known_labels = Labels::Constant(24, unknown_label);
  partly.known_labels[3] = 5;
  partly.source.weights = test::random_weights(20, 1);
  partly.source.weights[7] = 0;
  partly.target.weights = test::random_weights(24, 2);
  partly.target.weights[5] = 0;
  Options identity = with(0.1), landmarks = with(0.1), shares = with(0.1), given = with(0.1);
  identity.metric = MetricChoice::identity;
  landmarks.classes.landmarks = 12;
  shares.classes.target_shares = Matrix{{0.5, 0.2, 0.3}};
  given.metric = test::random_spd(4, 10, 1);
  for (const Problem& problem : {class_problem(3, 20, 24, 4), class_problem(3, 12, 10, 40), partly})
    for (const Options& options :
         {with(0.1), with(0), with(0.1, Preprocess::centre), with(0.1, Preprocess::standardise),
          identity, landmarks, shares, given}) {
      if (options.metric == MetricChoice::given && problem.source.dimension() != 4) continue;
      const Model model = fit(problem, options);
      save(model, path("model.npz"));
      const Model loaded = load(path("model.npz"));
      const Matrix points = 3 * test::random_matrix(25, problem.source.dimension(), 8);
      expect_same_bits(predict(model, points), predict(loaded, points), "predict");
      expect_same_bits(probabilities(model, points).shares, probabilities(loaded, points).shares,
                       "probabilities");
      expect_same_bits(map(model), map(loaded), "map");
      expect_same_bits(map(model, points), map(loaded, points), "map of new points");
      expect_same_bits(map_back(model), map_back(loaded), "map_back");
      expect_same_bits(map_back(model, points), map_back(loaded, points), "map_back of new points");
      expect_same_bits(propagate(model, points).shares, propagate(loaded, points).shares,
                       "propagate");
      expect_same_bits(plan(model), plan(loaded), "plan");
      const ClassModel &a = *model.classes, &b = *loaded.classes;
      expect_same_bits(a.shares, b.shares, "shares");
      expect_same_bits(a.moves, b.moves, "moves");
      expect_same_bits(a.trust, b.trust, "trust");
      expect_same_bits(a.move_lengths, b.move_lengths, "lengths");
      EXPECT_EQ(a.reliability, b.reliability);
      EXPECT_EQ(a.left_out, b.left_out);
      EXPECT_EQ(a.common_trust, b.common_trust);
      EXPECT_EQ(a.translated, b.translated);
      EXPECT_EQ(a.cautious, b.cautious);
      EXPECT_EQ(a.undecided, b.undecided);
      EXPECT_EQ(a.margin, b.margin);
      EXPECT_EQ(a.estimated, b.estimated);
      EXPECT_EQ(a.known, b.known);
      EXPECT_EQ(std::isnan(a.geodesic), options.metric != MetricChoice::learned);
      if (!std::isnan(a.geodesic)) {
        EXPECT_EQ(a.geodesic, b.geodesic);
      }
      EXPECT_EQ(a.head.missed, b.head.missed);
      save(loaded, path("again.npz"));
      EXPECT_EQ(bytes_of(path("model.npz")), bytes_of(path("again.npz")));
    }
}

TEST_F(ClassModelIo, AMissingArrayIsRefused) {
  for (const Model& model : models()) {
    const auto arrays = arrays_of(model);
    ASSERT_EQ(complaint(arrays), "");
    for (const auto& [key, value] : arrays) {
      if (key == "target_labels") continue;  // optional
      auto fewer = arrays;
      fewer.erase(key);
      EXPECT_TRUE(contains(complaint(fewer), "changed.npz"))
          << key << " of a model with preprocessing " << name(model.options.preprocess);
    }
  }
}

TEST_F(ClassModelIo, ShapesThatDoNotFitAreRefused) {
  for (const Model& model : models()) {
    const auto arrays = arrays_of(model);
    for (const auto& [key, value] : arrays) {
      if (std::holds_alternative<std::string>(value)) continue;
      const bool vector = std::holds_alternative<Vector>(value);
      if (vector && std::get<Vector>(value).size() == 1) continue;  // read from the front
      for (const Index extra : {-1, 1}) {
        auto changed = arrays;
        if (vector) {
          changed[key] = Vector(Vector::Ones(std::get<Vector>(value).size() + extra));
        } else {
          const Matrix& old = std::get<Matrix>(value);
          changed[key] = Matrix(Matrix::Ones(old.rows(), old.cols() + extra));
          EXPECT_NE(complaint(changed), "") << key << " columns " << extra;
          changed[key] = Matrix(Matrix::Ones(old.rows() + extra, old.cols()));
        }
        EXPECT_NE(complaint(changed), "") << key << " " << extra;
      }
    }
  }
}

// No answer of a model may be NaN, and no report of it.
TEST_F(ClassModelIo, NumbersThatAreNoneAreRefused) {
  for (const Model& model : models()) {
    const auto arrays = arrays_of(model);
    for (const auto& [key, value] : arrays) {
      if (std::holds_alternative<std::string>(value)) continue;
      if (key == "class_discrepancies") continue;  // NaN where an explanation was not tried
      auto changed = arrays;
      std::visit(
          [](auto& values) {
            if constexpr (std::is_same_v<decltype(values), Vector&> ||
                          std::is_same_v<decltype(values), Matrix&>)
              values(values.size() - 1) = nan;
          },
          changed[key]);
      EXPECT_NE(complaint(changed), "") << key;
    }
  }
}

// The first versions kept neither the weight of the geodesic nor what was undecided, nor the
// margin.
TEST_F(ClassModelIo, AModelOfTheFirstVersionsIsRead) {
  Model model = models().front();
  model.classes->geodesic = 0.25;
  EXPECT_TRUE(contains(summary(model, {}), "geodesic 0.25 in place of 0.5"));
  EXPECT_EQ(nlohmann::json::parse(to_json(model, {})).at("classes").at("geodesic"), 0.25);
  auto arrays = arrays_of(model);
  auto json = nlohmann::json::parse(std::get<std::string>(arrays.at("meta")));
  ASSERT_EQ(json.at("geodesic"), 0.25);
  for (const double wrong : {0.0, 1.0, -0.5}) {
    json["geodesic"] = wrong;
    arrays["meta"] = json.dump();
    EXPECT_TRUE(contains(complaint(arrays), "geodesic")) << wrong;
  }
  json["geodesic"] = 0.25;
  json["undecided"] = 1.5;
  arrays["meta"] = json.dump();
  EXPECT_TRUE(contains(complaint(arrays), "undecided"));
  json.erase("undecided");
  json.erase("margin");
  json.erase("estimated");
  json.erase("geodesic");
  arrays["meta"] = json.dump();
  ASSERT_EQ(complaint(arrays), "");
  io::write_npz(path("old.npz"), arrays);
  const Model old = load(path("old.npz"));
  EXPECT_TRUE(std::isnan(old.classes->geodesic));
  EXPECT_EQ(old.classes->undecided, 0);
  EXPECT_EQ(old.classes->margin, 0);
  EXPECT_TRUE(old.classes->estimated);
  EXPECT_FALSE(contains(summary(old, {}), "geodesic"));
  EXPECT_TRUE(nlohmann::json::parse(to_json(old, {})).at("classes").at("geodesic").is_null());
}

TEST_F(ClassModelIo, ValuesThatCannotBeAreRefused) {
  const auto arrays = arrays_of(models().front());
  const auto refused = [&](const char* key, double value) {
    auto changed = arrays;
    ASSERT_TRUE(changed.contains(key)) << key;
    std::visit(
        [&](auto& values) {
          if constexpr (std::is_same_v<decltype(values), Vector&>) values(0) = value;
          if constexpr (std::is_same_v<decltype(values), Matrix&>) values(0, 0) = value;
        },
        changed[key]);
    EXPECT_NE(complaint(changed), "") << key << " " << value;
  };
  for (const double share : {0.0, -0.5}) refused("class_shares", share);
  for (const double share : {0.0, -0.5}) refused("class_source_shares", share);
  refused("classes", 5);  // the second label: not ascending
  refused("classes", 1);  // a source label is missing
  refused("classes", 1.5);
  refused("class_opinions", -0.1);
  refused("class_cost", -1);
  refused("head_temperature", 0);
  refused("opinion_temperature", -1);
  refused("head_width", -1);
  refused("opinion_scale", 0);
  auto meta = arrays;
  auto json = nlohmann::json::parse(std::get<std::string>(meta.at("meta")));
  json["options"]["method"] = "paper";
  meta["meta"] = json.dump();
  EXPECT_NE(complaint(meta), "");
  json["options"]["method"] = "class-aware";
  json.erase("translated");
  meta["meta"] = json.dump();
  EXPECT_NE(complaint(meta), "");
}

TEST_F(ClassModelIo, CutAndDamagedFilesAreRefusedOrUnharmed) {
  const Model model = models().front();
  save(model, path("model.npz"));
  const std::string bytes = bytes_of(path("model.npz"));
  for (std::size_t size = 0; size < bytes.size(); size += bytes.size() / 100)
    EXPECT_THROW(load(file("cut.npz", bytes.substr(0, size))), Error) << size;
  EXPECT_THROW(load(file("cut.npz", bytes.substr(0, bytes.size() - 1))), Error);
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    std::string damaged = bytes;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    file("damaged.npz", damaged);
    try {
      const Model loaded = load(path("damaged.npz"));
      expect_same_bits(model.classes->head.points, loaded.classes->head.points, "head");
      expect_same_bits(model.classes->opinions, loaded.classes->opinions, "opinions");
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace remblai
