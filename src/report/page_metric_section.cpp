// The metric in words and pictures: eigenvalues, directions, features.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/page_sections.h"

namespace remblai {
namespace {

Json bars_block(const PageContext& context, const std::string& title, const MetricView& view,
                const std::vector<Index>& features) {
  Json block{{"kind", "bars"},
             {"title", title},
             {"value_title", "stretch"},
             {"most", brief(view.stretch[view.by_stretch.back()])},  // one scale for all charts
             {"labels", Json::array()},
             {"values", Json::array()}};
  for (const Index k : features) {
    block["labels"].push_back(context.feature(k));
    block["values"].push_back(brief(view.stretch[k]));
  }
  return block;
}

Json spectrum_block(const MetricView& view) {
  constexpr Index most = 300;
  const Index count = view.eigenvalues.size();
  std::vector<double> places, values;
  for (Index k = 0; k < std::min(most, count); ++k) {
    const Index place = count <= most ? k : k * (count - 1) / (most - 1);
    places.push_back(static_cast<double>(place + 1));
    values.push_back(view.eigenvalues[place]);
  }
  return {{"kind", "lines"},    {"title", "Eigenvalues, largest first, relative to their mean"},
          {"log", true},        {"x_title", "rank"},
          {"x", brief(places)}, {"series", {{{"name", "eigenvalue"}, {"values", brief(values)}}}}};
}

/// "+0.71 alcohol, -0.52 ash": the largest weights of an axis.
std::string in_words(const PageContext& context, const Matrix& directions, Index k) {
  std::vector<Index> order(static_cast<std::size_t>(directions.cols()));
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Index>(i);
  const std::size_t shown = std::min<std::size_t>(5, order.size());
  const auto size = [&](Index i) { return std::abs(directions(k, i)); };
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
      [&](Index a, Index b) { return size(a) > size(b) || (size(a) == size(b) && a < b); });
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < shown; ++i)
    parts.push_back(fmt::format("{:+.2f} {}", directions(k, order[i]), context.feature(order[i])));
  return fmt::format("{}", fmt::join(parts, ", "));
}

Json pixels_block(const PageContext& context, const MetricView& view) {
  Matrix logarithms = Matrix::Zero(1, view.stretch.size());
  for (const Index k : view.by_stretch)
    logarithms(0, k) = std::log(std::max(view.stretch[k], 1e-300));
  return {{"kind", "pictures"},
          {"title", "Stretch of every pixel"},
          {"captions", {"blue above 1, orange below"}},
          {"sheet", sheet_of_weights(context, logarithms)}};
}

/// `eigenvalues` go with the rows of `directions`.
Json directions_block(const PageContext& context, const std::string& title,
                      const Matrix& directions, const Vector& eigenvalues) {
  const Index count = directions.rows();
  if (context.images()) {
    Json captions = Json::array();
    for (Index k = 0; k < count; ++k) captions.push_back(fmt::format("{:.3g}", eigenvalues[k]));
    return {{"kind", "pictures"},
            {"title", title},
            {"captions", captions},
            {"note", "Below each its eigenvalue. Blue and orange pixels have opposite signs."},
            {"sheet", sheet_of_weights(context, directions)}};
  }
  std::vector<std::vector<std::string>> rows;
  for (Index k = 0; k < count; ++k)
    rows.push_back({fmt::format("{:.3g}", eigenvalues[k]), in_words(context, directions, k)});
  return table_block(title, {"eigenvalue", "largest weights"}, rows);
}

}  // namespace

Json metric_section(const PageContext& context) {
  const Model& model = context.model;
  const bool learned = model.options.metric == MetricChoice::learned;
  const std::string heading = learned ? "The learned metric" : "The metric";
  if (model.options.metric == MetricChoice::identity)
    return section(heading,
                   {text_block("The metric is the Euclidean one and was not learned: every "
                               "direction counts the same.")});
  constexpr Index most_directions = 8, most_features = 10;
  const MetricView view = view_metric(model, most_directions);
  std::string words =
      "Eigenvalues are relative to their mean over the directions that the data span: one of 4 "
      "makes a step in that direction twice as long as a mean one would; 0.25, half as long.";
  if (!learned) words += " This metric was given, not learned.";
  if (view.outside_count > 0)
    words += fmt::format(
        " The data span {} of {} dimensions; in the other {} the eigenvalue is "
        "{:.3g}, and no point differs there.",
        view.eigenvalues.size(), model.metric.dimension(), view.outside_count, view.outside);
  words += model.options.preprocess == Preprocess::zscore
               ? " Features are measured in standard deviations."
               : " They depend on the units of the features.";
  words +=
      " A direction that counts much is expensive to move along; often the points hardly differ "
      "along it.";
  if (model.options.preprocess == Preprocess::l2) words += " Points were scaled to length 1.";
  std::vector<Json> blocks{text_block(words)};
  if (view.eigenvalues.size() > 1) blocks.push_back(spectrum_block(view));
  if (context.images()) blocks.push_back(pixels_block(context, view));
  if (const Index count = view.most.rows(); count > 0)
    blocks.push_back(directions_block(context,
                                      view.least.rows() > 0
                                          ? "Directions that count most"
                                          : "Directions, largest eigenvalue first",
                                      view.most, view.eigenvalues.head(count)));
  if (const Index count = view.least.rows(); count > 0)
    blocks.push_back(directions_block(context, "Directions that count least", view.least,
                                      view.eigenvalues.tail(count).reverse()));

  std::string about =
      "The stretch of a feature is the length of a typical step along it alone: √A_kk times its "
      "standard deviation over both clouds, so that its unit drops out, divided by the mean over "
      "the features. Above 1 the feature counts more than average.";
  const auto varying = static_cast<Index>(view.by_stretch.size());
  if (const Index constant = model.metric.dimension() - varying; constant > 0)
    about += fmt::format(" {} that never {} left out.",
                         constant == 1 ? "One feature" : fmt::format("{} features", constant),
                         constant == 1 ? "varies is" : "vary are");
  if (varying > 0) {
    blocks.push_back(text_block(about));
    const std::vector<Index> largest_first(view.by_stretch.rbegin(), view.by_stretch.rend());
    if (varying <= 2 * most_features) {
      blocks.push_back(bars_block(context, "Features by stretch", view, largest_first));
    } else {
      std::vector<Index> stretched, shrunk;
      for (const Index k : largest_first)
        if (static_cast<Index>(stretched.size()) < most_features && view.stretch[k] > 1)
          stretched.push_back(k);
      for (const Index k : view.by_stretch)
        if (static_cast<Index>(shrunk.size()) < most_features && view.stretch[k] < 1)
          shrunk.push_back(k);
      if (!stretched.empty())
        blocks.push_back(bars_block(context, "Most stretched features", view, stretched));
      if (!shrunk.empty())
        blocks.push_back(bars_block(context, "Most shrunk features", view, shrunk));
    }
  }
  return section(heading, blocks);
}

}  // namespace remblai
