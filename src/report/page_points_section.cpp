// The points on a plane, and the pairs that the plan ties most.
#include <fmt/format.h>

#include <algorithm>

#include "report/page_sections.h"

namespace remblai {
namespace {

using Lines = std::vector<std::vector<std::string>>;

Json points_json(const Matrix& at, const std::vector<Index>& rows, const Labels& labels,
                 const Classes& classes) {
  Json list = Json::array();
  for (Index k = 0; k < at.rows(); ++k) {
    const Index row = rows[static_cast<std::size_t>(k)];
    list.push_back({brief(at(k, 0)), brief(at(k, 1)),
                    labels.size() ? classes.index(labels[row]) : -1, row + 1});
  }
  return list;
}

}  // namespace

Json map_section(const PageContext& context) {
  const Model& model = context.model;
  Index most = context.options.most_points;
  if (context.images())  // the pictures of the points are the largest part of a page
    most = std::min(most, std::max<Index>(60, 320'000 / model.metric.dimension()));
  const Projection view = project(model, most);
  const bool labelled = model.source.labelled();
  Labels all(labelled ? model.source.labels.size() + context.target_labels().size() : 0);
  if (labelled) all << model.source.labels, context.target_labels();
  constexpr Index most_classes = 24, colours = 10;
  const Classes classes = group_classes(all, most_classes);
  const auto cloud = [&](const char* name, const Matrix& at, const std::vector<Index>& rows,
                         const Labels& labels, const Matrix& points) {
    Json json{{"name", name}, {"points", points_json(at, rows, labels, classes)}};
    if (context.images()) json["sheet"] = sheet_of_points(context, points);
    return json;
  };
  const Labels known = labelled ? context.target_labels() : Labels();
  Json block{
      {"kind", "scatter"},
      {"title", "Points in the metric of the model"},
      {"x_title", fmt::format("first axis ({} of the variance)", percent_text(view.shares[0]))},
      {"y_title", fmt::format("second axis ({})", percent_text(view.shares[1]))},
      {"classes", context.names(classes)},
      {"predicted", context.predicted()},
      {"clouds",
       {cloud("source", view.source_at, view.source, model.source.labels,
              model.source.points(view.source, Eigen::all)),
        cloud("mapped source", view.mapped_at, view.source, model.source.labels, view.mapped),
        cloud("target", view.target_at, view.target, known,
              model.target.points(view.target, Eigen::all))}}};
  std::string words =
      "Both clouds on their first two principal axes, seen through the metric of the model, and "
      "where the plan carries the source points: the mean of what each is matched with.";
  const auto shown = [](const std::vector<Index>& rows) { return static_cast<Index>(rows.size()); };
  if (shown(view.source) < model.source.size() || shown(view.target) < model.target.size())
    words += fmt::format(" Shown are {} of {} and {} of {}, the same ones every time.",
                         shown(view.source), counted(model.source.size(), "source point"),
                         shown(view.target), counted(model.target.size(), "target point"));
  if (classes.size() > colours) words += " Colours come back after ten classes.";
  if (classes.others)
    words +=
        fmt::format(" Beyond the {} most frequent classes, all are shown as others.", most_classes);
  if (labelled && context.predicted()) words += " Labels of target points are predicted.";
  return section("The points", {text_block(words), block});
}

Json pairs_section(const PageContext& context, const PlanView& view) {
  if (view.pairs.empty()) return nullptr;
  const Model& model = context.model;
  const auto who = [&](const Labels& labels, Index row) {
    return labels.size() ? context.label(labels[row]) : std::string();
  };
  const Labels known = model.source.labelled() ? context.target_labels() : Labels();
  std::string words =
      "The largest entries of the plan, every point at most once. The share says how much of the "
      "source point goes to that one target point; the rest spreads over others.";
  if (view.rows < with_mass(model.source))
    words += fmt::format(" Chosen among {} of {}.", view.rows,
                         counted(model.source.size(), "source point"));
  if (context.images()) {
    Json items = Json::array();
    std::vector<Index> sources, targets;
    for (const Pair& pair : view.pairs) {
      sources.push_back(pair.source);
      targets.push_back(pair.target);
      items.push_back({{"source", pair.source + 1},
                       {"target", pair.target + 1},
                       {"source_class", who(model.source.labels, pair.source)},
                       {"target_class", who(known, pair.target)},
                       {"share", percent_text(pair.share)}});
    }
    return section(
        "Strongest pairs",
        {text_block(words),
         {{"kind", "pairs"},
          {"items", items},
          {"sources", sheet_of_points(context, model.source.points(sources, Eigen::all))},
          {"targets", sheet_of_points(context, model.target.points(targets, Eigen::all))}}});
  }
  Lines rows;
  std::vector<std::string> columns{"source point", "target point", "share", "distance"};
  if (model.source.labelled()) {
    columns.insert(columns.begin() + 2, context.predicted() ? "predicted class" : "target class");
    columns.insert(columns.begin() + 1, "source class");
  }
  for (const Pair& pair : view.pairs) {
    const double distance = model.metric.distances(model.source.points.row(pair.source),
                                                   model.target.points.row(pair.target))(0);
    std::vector<std::string> row{fmt::format("{}", pair.source + 1)};
    if (model.source.labelled()) row.push_back(who(model.source.labels, pair.source));
    row.push_back(fmt::format("{}", pair.target + 1));
    if (model.source.labelled()) row.push_back(who(known, pair.target));
    row.push_back(percent_text(pair.share));
    row.push_back(fmt::format("{:.4g}", distance));
    rows.push_back(row);
  }
  return section("Strongest pairs", {text_block(words + " Points are counted from 1."),
                                     table_block("Strongest pairs", columns, rows)});
}

}  // namespace remblai
