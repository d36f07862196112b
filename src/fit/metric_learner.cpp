// Scales of data and prior around the metric step, and the mixing of moments.
#include "fit/metric_learner.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "base/linalg.h"
#include "fit/moment.h"

namespace remblai {
namespace {

constexpr double least_unit = std::numeric_limits<double>::min();
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
constexpr int most_taken_back = 3;

Eigen::Map<const Vector> entries(const Matrix& a) {
  return {a.data(), a.size()};
}

}  // namespace

MetricLearner::MetricLearner(const Space& space, const Options& options, Matrix first_moment)
    : space_(space),
      learns_(options.metric == MetricChoice::learned),
      ridge_unit_(options.ridge_unit),
      given_ridge_(options.ridge),
      given_prior_(options.prior == PriorChoice::given),
      first_moment_(std::move(first_moment)),
      metric_{space.frame, {}, 1, 1} {
  SpanMatrix reference = reference_matrix(space, options);
  if (learns_)
    prepare(options, std::move(reference));
  else
    fix_metric(reference);
  if (!(metric_.unit > least_unit && std::isfinite(metric_.unit)))
    throw Error({.field = "source and target",
                 .value = fmt::format("coordinates of size {:.1e}", space.frame.length),
                 .problem = fmt::format("give costs of size {:.1e} under this metric, which double "
                                        "precision cannot hold",
                                        metric_.unit),
                 .remedy = "rescale the data"});
}

void MetricLearner::fix_metric(const SpanMatrix& a) {
  metric_.factor = a.lower.transpose();
  metric_.outside = a.outside;
  metric_.unit = a.scale * metric_.frame.length * metric_.frame.length;
  place_points();
}

// One metric after another has its points in the same memory.
void MetricLearner::place_points() {
  if (!placed_ && room_) std::tie(x_, z_) = room_();
  placed_ = true;
  place_source();
  const auto make = [&](const Matrix& rows, Matrix room) {
    return embedded(rows, std::move(room));
  };
  z_ = space_.targets.divided()
           ? space_.targets.by_pieces(space_.z, space_.rank(), make, std::move(z_))
           : space_.shard.by_common_pieces(space_.z, space_.rank(), make, std::move(z_));
}

void MetricLearner::place_source() {
  first_placed_ = false;
  x_ = space_.shard.by_pieces(
      source(), space_.rank(),
      [&](const Matrix& rows, Matrix room) { return embedded(rows, std::move(room)); },
      std::move(x_));
}

PointPair MetricLearner::released_points() {
  if (!placed_) place_points();
  placed_ = first_placed_ = false;
  return {std::move(x_), std::move(z_)};
}

void MetricLearner::forget_points() {
  x_.resize(0, 0);
  z_.resize(0, 0);
  placed_ = first_placed_ = false;
}

// The first moment fixes the ridge and the first metric.
void MetricLearner::prepare(const Options& options, SpanMatrix prior) {
  const Space& space = space_;
  const double trace = first_moment_.trace();
  const double length = space.frame.length;
  // All points may be one point; then any unit will do.
  const double mean = trace > 0 ? trace / static_cast<double>(space.dimension()) : 1;
  const double unit = prior.ridge_unit > 0 ? prior.ridge_unit : mean;
  const bool relative = ridge_unit_ == Unit::relative;
  ridge_ = relative ? options.ridge * unit : options.ridge / length / length;
  if (ridge_ == 0 && space.rank() < space.dimension())
    throw Error({.field = "ridge",
                 .value = "0",
                 .problem = fmt::format("leaves the metric undefined, for the points span {} of {} "
                                        "dimensions",
                                        space.rank(), space.dimension()),
                 .remedy = fmt::format("give a positive $ridge (the default is {})",
                                       Options{.method = options.method}.resolved().ridge)});
  use_units(prior, options.geodesic);
  step_ = std::make_unique<MetricStep>(space.dimension(), space.rank(), std::move(prior),
                                       Ridge{{}, ridge_}, options.geodesic);
  // A ridge too small for the data is the caller's to mend; later on it is a status.
  if (!learn_plain(first_moment_)) throw Error(singular());
  first_ = learned_;
  first_placed_ = true;
}

// C^-1 #_t D scales like length^(2 (t - 1)) times the scale of D to the power t.
void MetricLearner::use_units(const SpanMatrix& prior, double t) {
  const double length = space_.frame.length;
  const double size = std::pow(length, 2 * (t - 1)) * std::pow(prior.scale, t);
  metric_.unit = size * length * length;
  prior_scale_ = prior.scale / size;
}

void MetricLearner::set_geodesic(double t) {
  if (!learns_ || t == step_->geodesic()) return;
  const Vector scale = MetricStep::scale(learned_, step_->geodesic(), t);
  step_->set_geodesic(t);
  use_units(step_->prior(), t);
  learned_ = step_->weighed(std::move(learned_));
  metric_.factor = learned_.factor;
  metric_.outside = learned_.outside;
  if (!placed_ || scale.size() == 0) return place_points();
  x_.array().rowwise() *= scale.transpose().array();
  z_.array().rowwise() *= scale.transpose().array();
  first_placed_ = false;  // but for rounding
}

void MetricLearner::restart(bool accelerate) {
  if (moved_.size() > 0) {
    moved_.resize(0, 0);
    place_source();
  }
  if (!learns_) return;
  accelerate_ = accelerate;
  accelerated_ = false;
  taken_back_ = 0;
  memory_.clear();
  used_.resize(0, 0);
}

MetricLearner::State MetricLearner::state() const {
  return {used_, memory_.values(), memory_.residuals(), accelerate_, taken_back_};
}

void MetricLearner::restore(const State& state) {
  if (learns_ && state.used.size() > 0) learn_plain(state.used);
  memory_.restore(state.values, state.residuals);
  accelerate_ = state.accelerate;
  taken_back_ = state.taken_back;
}

bool MetricLearner::learn(const Matrix& moment) {
  accelerated_ = false;
  if (!learns_) return true;
  const bool mix = accelerate_ && used_.size() > 0;
  const Vector mixed = mix ? memory_.next(entries(used_), entries(moment)) : Vector();
  // The first two moments leave nothing to mix.
  if (mix && mixed != entries(moment) &&
      learn_plain(Eigen::Map<const Matrix>(mixed.data(), moment.rows(), moment.cols()))) {
    accelerated_ = true;
    return true;
  }
  return learn_plain(moment);
}

bool MetricLearner::take_back(const Matrix& moment) {
  accelerated_ = false;
  memory_.clear();
  accelerate_ = ++taken_back_ < most_taken_back;
  return learn_plain(moment);
}

bool MetricLearner::learn_plain(const Matrix& moment) {
  if (learned_.ok && used_.size() > 0 && entries(moment) == entries(used_)) {
    if (!placed_) place_points();
    return true;
  }
  // Runs of one path begin with the same moment.
  const bool again = first_.ok && entries(moment) == entries(first_moment_);
  LearnedMetric next = again ? step_->weighed(first_) : (*step_)(moment);
  if (!next.ok) return false;
  learned_ = std::move(next);
  metric_.factor = learned_.factor;
  metric_.outside = learned_.outside;
  used_ = moment;
  if (again && first_placed_) return true;
  place_points();
  first_placed_ = again && moved_.size() == 0;
  return true;
}

void MetricLearner::move_source(Matrix moved, const Matrix& displacements) {
  moved_ = std::move(moved);
  x_ += displacements;
  first_placed_ = false;
}

Matrix MetricLearner::embed(const Matrix& coordinates) const {
  return embedded(coordinates, {});
}

// In the room, where it has the size.
Matrix MetricLearner::embedded(const Matrix& coordinates, Matrix room) const {
  const Matrix& factor = metric_.factor;
  if (!factor.size()) return linalg::copy_of(coordinates);
  room.resize(coordinates.rows(), factor.rows());
  linalg::gemm(linalg::Op::none, coordinates, linalg::Op::transpose, factor, 1, 0, room);
  return room;
}

double MetricLearner::prior_term() const {
  return learns_ ? prior_scale_ * learned_.prior_term : 0;
}

double MetricLearner::ridge_term() const {
  return learns_ ? metric_.unit * learned_.ridge_term : 0;
}

double MetricLearner::ridge() const {
  const double length = metric_.frame.length;
  return ridge_unit_ == Unit::relative ? ridge_ * length * length : given_ridge_;
}

double MetricLearner::residual(const Matrix& moment) const {
  return learns_ ? step_->residual(learned_, moment) : no_number;
}

double MetricLearner::condition() const {
  if (learns_) return step_->condition(learned_);
  if (!metric_.factor.size()) return 1;
  const Vector values = linalg::eigenvalues(linalg::gram(metric_.factor));
  return values.size() ? values[values.size() - 1] / values[0] : no_number;
}

double MetricLearner::distance_from(const LearnedMetric& before) const {
  return learns_ ? step_->distance(before, learned_) : 0;
}

Message MetricLearner::singular() const {
  // A prior that is nearly singular by itself is not mended by any ridge on the moments.
  constexpr double well_conditioned = 1e8;
  const Matrix& prior = step_->prior().inside;
  const Vector values = prior.size() ? linalg::eigenvalues(prior) : Vector(Vector::Ones(1));
  const double condition = values[values.size() - 1] / values[0];
  if (!(condition > 0 && condition < well_conditioned))
    return {.field = "prior",
            .value = fmt::format("of condition {:.1e}", condition),
            .problem = "leaves the metric step singular to working precision",
            .remedy = given_prior_ ? "give one of condition 1e8 or less: add a multiple of the "
                                     "identity to it; or the $prior identity"
                                   : "give a larger $prior-ridge, or the $prior identity"};
  return {.field = "ridge",
          .value = fmt::format("{:g}", ridge()),
          .problem = "leaves the second moment of the displacements singular to working precision",
          .remedy = "give a larger $ridge"};
}

}  // namespace remblai
