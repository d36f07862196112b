// Models through files: nothing changes by a bit, and nothing but a whole model is taken.
#include "remblai/model_io.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "model/model_file_test.h"
#include "model/same_bits.h"
#include "remblai/fit.h"
#include "remblai/map.h"
#include "remblai/predict.h"
#include "support.h"

namespace remblai {
namespace {

using test::contains;
using test::expect_same_bits;
using test::message_of;
using test::nan;
using test::random_matrix;
using test::small_problem;

void expect_same_bits(double a, double b, const char* what) {
  EXPECT_EQ(std::bit_cast<std::uint64_t>(a), std::bit_cast<std::uint64_t>(b)) << what;
}

void expect_same(const Domain& a, const Domain& b) {
  expect_same_bits(a.points, b.points, "points");
  expect_same_bits(a.weights, b.weights, "weights");
  expect_same_bits(a.labels, b.labels, "labels");
}

void expect_same(const Step& a, const Step& b) {
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.inner_iterations, b.inner_iterations);
  EXPECT_EQ(a.inner_converged, b.inner_converged);
  for (const auto field :
       {&Step::objective, &Step::transport_cost, &Step::entropy, &Step::prior_term,
        &Step::ridge_term, &Step::source_error, &Step::target_error, &Step::duality_gap,
        &Step::riccati_residual, &Step::metric_change, &Step::distance_change, &Step::condition,
        &Step::seconds})
    EXPECT_TRUE(a.*field == b.*field || (std::isnan(a.*field) && std::isnan(b.*field)))
        << a.*field << " " << b.*field;
}

void expect_same(const Model& a, const Model& b) {
  std::vector<std::string> values[2];
  for (const Model* model : {&a, &b})
    for_each_option(model->options, [&](const char*, const auto& field, const char*) {
      auto& list = values[model == &a ? 0 : 1];
      if constexpr (std::is_same_v<decltype(field), const double&>)
        list.push_back(std::to_string(std::bit_cast<std::uint64_t>(field)));
      else if constexpr (std::is_same_v<decltype(field), const int&>)
        list.push_back(std::to_string(field));
      else
        list.emplace_back(name(field));
    });
  EXPECT_EQ(values[0], values[1]);
  EXPECT_EQ(a.scaler.kind, b.scaler.kind);
  expect_same_bits(a.scaler.mean, b.scaler.mean, "scaler.mean");
  expect_same_bits(a.scaler.scale, b.scaler.scale, "scaler.scale");
  expect_same(a.source, b.source);
  expect_same(a.target, b.target);
  expect_same_bits(a.metric.frame.origin, b.metric.frame.origin, "origin");
  expect_same_bits(a.metric.frame.basis, b.metric.frame.basis, "basis");
  expect_same_bits(a.metric.factor, b.metric.factor, "factor");
  expect_same_bits(a.metric.frame.length, b.metric.frame.length, "length");
  expect_same_bits(a.metric.unit, b.metric.unit, "unit");
  expect_same_bits(a.metric.outside, b.metric.outside, "outside");
  expect_same_bits(a.lambda, b.lambda, "lambda");
  expect_same_bits(a.ridge, b.ridge, "ridge");
  expect_same_bits(a.f, b.f, "f");
  expect_same_bits(a.g, b.g, "g");
  ASSERT_EQ(a.exact.size(), b.exact.size());
  for (std::size_t k = 0; k < a.exact.size(); ++k) {
    EXPECT_EQ(a.exact[k].source, b.exact[k].source);
    EXPECT_EQ(a.exact[k].target, b.exact[k].target);
    expect_same_bits(a.exact[k].amount, b.exact[k].amount, "amount");
  }
  ASSERT_EQ(a.history.size(), b.history.size());
  for (std::size_t k = 0; k < a.history.size(); ++k) expect_same(a.history[k], b.history[k]);
  EXPECT_EQ(a.status.outcome, b.status.outcome);
  EXPECT_EQ(a.status.message, b.status.message);
}

class ModelIo : public test::ModelFileTest {
 protected:
  void expect_round_trip(const Problem& problem, const Options& options) const {
    const Model model = fit(problem, options);
    save(model, path("model.npz"));
    const Model loaded = load(path("model.npz"));
    expect_same(model, loaded);
    const Matrix points = random_matrix(25, problem.source.dimension(), 8);
    expect_same_bits(map(model), map(loaded), "map");
    expect_same_bits(map(model, points), map(loaded, points), "map of new points");
    expect_same_bits(map_back(model, points), map_back(loaded, points), "map_back");
    expect_same_bits(plan(model), plan(loaded), "plan");
    expect_same_bits(distances(model, points, points), distances(loaded, points, points),
                     "distances");
    if (model.source.labelled()) {
      expect_same_bits(predict(model, points), predict(loaded, points), "predict");
      expect_same_bits(propagate(model, points).shares, propagate(loaded, points).shares, "shares");
    } else {
      EXPECT_THROW(predict(loaded, points), Error);
    }
  }
};

Options quick(double lambda = 0.05) {
  Options options;
  options.lambda = lambda;
  options.steps = 4;
  return options;
}

Model model_to_save(double lambda = 0.05, Preprocess preprocess = Preprocess::none) {
  Options options = quick(lambda);
  options.preprocess = preprocess;
  return fit(small_problem(5, 6, 12), options);
}

TEST_F(ModelIo, every_kind_of_model_comes_back_bit_for_bit) {
  for (const double lambda : {0.0, 0.05}) {
    for (const MetricChoice metric : {MetricChoice::learned, MetricChoice::identity,
                                      MetricChoice::w, MetricChoice::w_inverse}) {
      Options options = quick(lambda);
      options.metric = metric;
      options.geodesic = 1.0 / 3;
      SCOPED_TRACE(name(metric));
      expect_round_trip(small_problem(), options);
      expect_round_trip(small_problem(6, 7, 20), options);
    }
    for (const Preprocess preprocess : {Preprocess::l2, Preprocess::zscore}) {
      Options options = quick(lambda);
      options.preprocess = preprocess;
      expect_round_trip(small_problem(), options);
    }
  }
}

TEST_F(ModelIo, given_matrices_weights_and_missing_labels) {
  Problem problem = small_problem();
  problem.source.weights = test::random_weights(30, 3);
  problem.source.weights(3) = 0;
  Options options = quick();
  options.prior = test::random_spd(5, 100, 1);
  expect_round_trip(problem, options);
  options.metric = test::random_spd(5, 100, 2);
  options.lambda_unit = Unit::absolute;
  expect_round_trip(problem, options);
  problem.source.labels.resize(0);
  expect_round_trip(problem, options);
  problem.target.labels.resize(0);
  expect_round_trip(problem, options);
}

// Files of the first versions hold the options of the nearest-neighbour rule.
TEST_F(ModelIo, options_of_a_prediction_are_neither_written_nor_read) {
  auto arrays = arrays_of(model_to_save());
  const std::string text = std::get<std::string>(arrays.at("meta"));
  EXPECT_EQ(text.find("neighbours"), std::string::npos);
  EXPECT_EQ(text.find("knn-metric"), std::string::npos);
  const std::string before = "\"options\":{";
  const std::size_t place = text.find(before) + before.size();
  arrays["meta"] =
      text.substr(0, place) + "\"neighbours\":7,\"knn-metric\":\"nonsense\"," + text.substr(place);
  EXPECT_EQ(complaint(arrays), "");
}

// Files of the first versions hold a sentence in place of the parts of a message.
TEST_F(ModelIo, a_reason_in_an_old_file_is_read_as_it_is) {
  auto arrays = arrays_of(model_to_save());
  nlohmann::json meta = nlohmann::json::parse(std::get<std::string>(arrays.at("meta")));
  EXPECT_FALSE(meta.contains("reason"));
  EXPECT_EQ(meta.at("message").at("remedy"), "give more $steps");
  meta.erase("message");
  meta["reason"] = "not settled; give more --steps, $ridge or $$";
  arrays["meta"] = meta.dump();
  EXPECT_EQ(complaint(arrays), "");
  EXPECT_EQ(load(path("changed.npz")).status.reason(), meta["reason"]);
}

// Every way to a metric, on data of full rank and on data in a span.
TEST_F(ModelIo, every_metric_prior_and_ridge_comes_back) {
  int saved = 0;
  for (const Index d : {Index{3}, Index{60}}) {
    const Problem problem = test::small_problem(20, 25, d);
    for (const MetricChoice metric :
         {MetricChoice::learned, MetricChoice::identity, MetricChoice::w, MetricChoice::w_inverse})
      for (const PriorChoice prior :
           {PriorChoice::identity, PriorChoice::w, PriorChoice::w_inverse})
        for (const double ridge : {0.0, 1e-3, 10.0})
          for (const double prior_ridge : {0.0, 1e-3})
            for (const double lambda : {0.2, 0.0}) {
              const Options options{.metric = metric,
                                    .prior = prior,
                                    .prior_ridge = prior_ridge,
                                    .lambda = lambda,
                                    .ridge = ridge,
                                    .steps = 2};
              Model model;
              try {
                model = fit(problem, options);
              } catch (const Error&) {
                EXPECT_TRUE(d == 60 && (ridge == 0 || prior_ridge == 0));  // undefined in a span
                continue;
              }
              if (model.status.outcome == Outcome::diverged) continue;
              save(model, path("model.npz"));
              expect_same(load(path("model.npz")), model);
              const Step& last = model.history.back();
              EXPECT_TRUE(std::isfinite(last.condition) && std::isfinite(last.riccati_residual))
                  << name(metric) << " " << name(prior) << " " << ridge << " " << prior_ridge;
              ++saved;
            }
  }
  EXPECT_GT(saved, 200);
}

TEST_F(ModelIo, names_of_features) {
  Problem problem = small_problem();
  problem.features = {"height", "<b>", "", "caf\xc3\xa9", "\xff"};
  save(fit(problem, quick()), path("model.npz"));
  problem.features[4] = "\xef\xbf\xbd";  // what is no UTF-8 cannot come back
  EXPECT_EQ(load(path("model.npz")).features, problem.features);
  problem.features.pop_back();
  EXPECT_TRUE(test::contains(test::message_of([&] { fit(problem, quick()); }),
                             "features: 4 names for 5 coordinates"));
  Model model = model_to_save();
  model.features = {"one"};
  save(model, path("model.npz"));
  EXPECT_TRUE(test::contains(test::message_of([&] { load(path("model.npz")); }), "do not fit"));
}

TEST_F(ModelIo, labels_of_any_sign_and_size) {
  Problem problem = small_problem();
  problem.source.labels(0) = -(std::int64_t{1} << 53);
  problem.source.labels(1) = std::int64_t{1} << 53;
  expect_round_trip(problem, quick());
}

// Files hold whole numbers up to 2^53: what cannot come back must not be written.
TEST_F(ModelIo, numbers_that_are_not_finite_in_the_history) {
  Model model = model_to_save();
  model.history[0].objective = std::numeric_limits<double>::quiet_NaN();
  save(model, path("model.npz"));
  expect_same(model, load(path("model.npz")));
}

TEST_F(ModelIo, two_saves_give_the_same_bytes) {
  const Model model = model_to_save();
  save(model, path("a.npz"));
  save(load(path("a.npz")), path("b.npz"));
  save(model, path("c.npz"));
  EXPECT_EQ(bytes_of(path("a.npz")), bytes_of(path("b.npz")));
  EXPECT_EQ(bytes_of(path("a.npz")), bytes_of(path("c.npz")));
  EXPECT_EQ(files(), 3u);
}

TEST_F(ModelIo, truncated_files_are_refused) {
  save(model_to_save(0), path("model.npz"));
  const std::string bytes = bytes_of(path("model.npz"));
  const std::size_t step = bytes.size() / 150;
  for (std::size_t size = 0; size < bytes.size(); size += size < 40 ? 1 : step)
    EXPECT_THROW(load(file("cut.npz", bytes.substr(0, size))), Error) << size;
  EXPECT_THROW(load(file("cut.npz", bytes.substr(0, bytes.size() - 1))), Error);
}

TEST_F(ModelIo, damaged_files_are_refused_or_unharmed) {
  const Model model = model_to_save();
  save(model, path("model.npz"));
  const std::string bytes = bytes_of(path("model.npz"));
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    std::string damaged = bytes;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    file("damaged.npz", damaged);
    try {
      const Model loaded = load(path("damaged.npz"));
      expect_same_bits(model.f, loaded.f, "f");
      expect_same_bits(model.metric.factor, loaded.metric.factor, "factor");
      expect_same_bits(model.source.points, loaded.source.points, "points");
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST_F(ModelIo, a_missing_array_is_refused) {
  for (const Model& model :
       {model_to_save(), model_to_save(0), model_to_save(0.05, Preprocess::zscore)}) {
    const auto arrays = arrays_of(model);
    ASSERT_EQ(complaint(arrays), "");
    for (const auto& [key, value] : arrays) {
      // Labels are optional.
      if (contains(key, "labels")) continue;
      auto fewer = arrays;
      fewer.erase(key);
      const std::string message = complaint(fewer);
      EXPECT_TRUE(contains(message, "changed.npz")) << key << ": " << message;
    }
  }
}

TEST_F(ModelIo, shapes_that_do_not_fit_are_refused) {
  for (const Model& model :
       {model_to_save(), model_to_save(0), model_to_save(0.05, Preprocess::zscore)}) {
    const auto arrays = arrays_of(model);
    for (const auto& [key, value] : arrays) {
      if (std::holds_alternative<std::string>(value)) continue;
      const bool vector = std::holds_alternative<Vector>(value);
      // A single number is read from the front, whatever follows.
      if (vector && std::get<Vector>(value).size() == 1) continue;
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

TEST_F(ModelIo, values_that_cannot_be_are_refused) {
  const auto arrays = arrays_of(model_to_save(0));
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
  refused("lambda", -1);
  refused("lambda", nan);
  refused("metric_unit", nan);
  refused("metric_length", 0);
  refused("source_points", nan);
  refused("target_points", nan);
  refused("metric_factor", nan);
  refused("source_weights", -1);
  refused("source_weights", nan);
  for (const double place : {-1.0, 5.0, 0.5, 1e300, nan}) refused("exact_source", place);
  for (const double place : {-1.0, 6.0, 0.5, -1e300, nan}) refused("exact_target", place);
  refused("exact_amount", nan);
}

TEST_F(ModelIo, other_versions_and_other_text_are_refused) {
  auto arrays = arrays_of(model_to_save());
  for (const double version : {0.0, 2.0, 1.5, -1.0}) {
    auto changed = arrays;
    changed["format_version"] = Vector(Vector::Constant(1, version));
    EXPECT_TRUE(contains(complaint(changed), "version")) << complaint(changed);
  }
  const std::string meta = std::get<std::string>(arrays["meta"]);
  const auto with = [&](const std::string& from, const std::string& to) {
    const std::size_t place = meta.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    auto changed = arrays;
    changed["meta"] = std::string(meta).replace(place, from.size(), to);
    return complaint(changed);
  };
  EXPECT_NE(with("{", "["), "");
  EXPECT_NE(with("\"options\"", "\"choices\""), "");
  EXPECT_NE(with("\"learned\"", "\"lernt\""), "");
  EXPECT_NE(with("\"geodesic\":0.5", "\"geodesic\":1.5"), "");
  EXPECT_NE(with("\"steps\":4", "\"steps\":\"x\""), "");
  EXPECT_NE(with("\"status\"", "\"state\""), "");
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  for (const std::string place : {"\"steps\":", "\"method\":", "\"history\":", "\"step\":"})
    EXPECT_TRUE(contains(with(place, place + deep + ",\"x\":"), "nested deeper than 64")) << place;
}

TEST_F(ModelIo, other_files_are_refused) {
  EXPECT_TRUE(contains(message_of([&] { load(path("none.npz")); }), "none.npz"));
  EXPECT_THROW(load(file("text.npz", "not a model")), Error);
  EXPECT_THROW(load(file("empty.npz", "")), Error);
  EXPECT_THROW(load(folder_.string()), Error);
  io::write_npz(path("data.npz"), {{"x", Matrix(Matrix::Ones(2, 2))}});
  EXPECT_TRUE(contains(message_of([&] { load(path("data.npz")); }), "not one written by remblai"));
}

TEST_F(ModelIo, is_model_file_knows_its_own) {
  save(model_to_save(), path("model.npz"));
  io::write_npz(path("data.npz"), {{"x", Matrix(Matrix::Ones(2, 2))}});
  io::write_npy(path("data.npy"), Matrix(Matrix::Ones(2, 2)));
  EXPECT_TRUE(is_model_file(path("model.npz")));
  EXPECT_FALSE(is_model_file(path("data.npz")));
  EXPECT_FALSE(is_model_file(path("data.npy")));
}

TEST_F(ModelIo, nothing_is_left_where_nothing_can_be_written) {
  const Model model = model_to_save();
  EXPECT_TRUE(contains(message_of([&] { save(model, path("no/folder/model.npz")); }), "no/folder"));
  std::filesystem::create_directory(path("folder.npz"));
  EXPECT_THROW(save(model, path("folder.npz")), Error);
  EXPECT_THROW(save(model, ""), Error);
  EXPECT_EQ(files(), 1u);
  EXPECT_TRUE(std::filesystem::is_empty(path("folder.npz")));
}

TEST_F(ModelIo, saving_replaces_an_old_file) {
  file("model.npz", "old");
  save(model_to_save(), path("model.npz"));
  EXPECT_NO_THROW(load(path("model.npz")));
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace remblai
