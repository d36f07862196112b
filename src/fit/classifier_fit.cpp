// Candidates, their leave-one-out scores, and the choice among them.
#include "fit/classifier_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/linalg.h"
#include "fit/calibration.h"
#include "model/gaussian.h"

namespace remblai {
namespace {

using linalg::Op;

struct Candidate {
  Classifier classifier;
  Matrix left_out;  // scores of the labelled points, each without itself
};

Matrix class_means(const Matrix& points, const Matrix& weighted_shares, const Vector& totals,
                   const CommonRows& rows = {}) {
  const Matrix sums =
      rows.sum(points.rows(), weighted_shares.cols(), points.cols(), [&](Rows some) {
        const Index count = some.end - some.begin;
        return linalg::multiply(weighted_shares.middleRows(some.begin, count),
                                points.middleRows(some.begin, count), Op::transpose);
      });
  return totals.cwiseInverse().asDiagonal() * sums;
}

// Without point i the mean of class k is mean + rho (mean - x), rho = w/(total - w), w being the
// weight of i in k: the distance to it is (1 + rho) times as long. A class without other points has
// no mean then: it comes behind all the others.
Candidate class_means_candidate(const LabelledPoints& labelled) {
  const Matrix shares = labelled.weights.asDiagonal() * labelled.shares;
  const CommonRows& rows = labelled.rows;
  const Vector totals = rows.sum(shares.rows(), 1, shares.cols(),
                                 [&](Rows some) -> Matrix {
                                   const Matrix part =
                                       shares.middleRows(some.begin, some.end - some.begin);
                                   return part.colwise().sum();
                                 })
                            .transpose()
                            .cwiseMax(1e-12);
  Candidate candidate;
  candidate.classifier.points = class_means(labelled.points, shares, totals, rows);
  Matrix scores(shares.rows(), shares.cols());
  rows.visit(scores.rows(), scores.rows(), [&](Rows some) {
    const Index count = some.end - some.begin;
    scores.middleRows(some.begin, count) = squared_distances(
        labelled.points.middleRows(some.begin, count), candidate.classifier.points);
  });
  Vector sums = Vector::Zero(scores.rows());  // added up one by one, as every rank does
  std::vector<Index> alone;
  for (Index i = 0; i < scores.rows(); ++i) {
    alone.clear();
    for (Index k = 0; k < scores.cols(); ++k) {
      const double rest = totals[k] - shares(i, k);
      if (rest > 1e-3 * shares(i, k)) {
        scores(i, k) *= std::pow(1 + shares(i, k) / rest, 2);
      } else {
        scores(i, k) = 0;
        alone.push_back(k);
      }
    }
    const double behind = 1.001 * scores.row(i).maxCoeff();
    for (const Index k : alone) scores(i, k) = behind;
    for (Index k = 0; k < scores.cols(); ++k) sums[i] += scores(i, k);
  }
  const double size =
      rows.sum(sums) / static_cast<double>(rows.total(scores.rows()) * scores.cols());
  candidate.classifier.scale = size > 0 ? size : 1;
  const auto count = static_cast<Index>(labelled.places.size());
  candidate.left_out = scores.bottomRows(count) / -candidate.classifier.scale;
  return candidate;
}

// Sets the calibration of a candidate; its log-loss is returned.
double calibrate_candidate(Candidate& candidate, const LabelledPoints& labelled,
                           const Vector& weights, Biases biases, const CommonRows& rows) {
  const Calibration calibration =
      calibrate(candidate.left_out, labelled.places, weights, biases, rows);
  candidate.classifier.temperature = calibration.temperature;
  candidate.classifier.biases = calibration.biases;
  return calibration.log_loss;
}

// Without itself the only point of a class is never found, by any classifier: it tells nothing.
double left_out_accuracy(const Matrix& scores, const LabelledPoints& labelled,
                         const CommonRows& rows) {
  const auto place = [&](Index i) { return labelled.places[static_cast<std::size_t>(i)]; };
  const Matrix sizes = rows.sum(scores.rows(), 1, scores.cols(), [&](Rows some) {
    Matrix counts = Matrix::Zero(1, scores.cols());
    for (Index i = some.begin; i < some.end; ++i) ++counts(0, place(i));
    return counts;
  });
  Vector weights = labelled.weights.tail(scores.rows());
  for (Index i = 0; i < weights.size(); ++i)
    if (sizes(0, place(i)) < 2) weights[i] = 0;
  const double total = rows.sum(weights);
  if (!(total > 0)) return 1;
  weights /= total;
  return std::min(1.0, rows.dot(weights, right(scores, labelled.places)));
}

}  // namespace

FittedClassifier fit_classifier(LabelledPoints labelled, double unit, Purpose purpose,
                                const ClassOptions& options, const Pulse& pulse) {
  const auto judged = static_cast<Index>(labelled.places.size());
  const CommonRows rows = labelled.rows.last(judged, labelled.points.rows());
  Vector weights = labelled.weights.tail(judged);
  weights /= rows.sum(weights);

  Candidate best = class_means_candidate(labelled);
  double smallest = calibrate_candidate(best, labelled, weights, Biases::free, rows);

  const Matrix targets = labelled.shares.array() - 1 / static_cast<double>(labelled.shares.cols());
  KernelRidge ridge(labelled.points, options.landmarks, std::move(labelled.distances),
                    labelled.rows);
  for (const double factor : {2.0, 1.0, 0.5}) {
    Candidate next;
    next.classifier.width = factor * options.kernel_width * unit;
    ridge.set_width(next.classifier.width);
    KernelFit fit = ridge.fit(targets, labelled.weights, options.smoothing, judged, pulse);
    if (fit.coefficients.size() == 0) continue;
    next.classifier.coefficients = std::move(fit.coefficients);
    next.classifier.missed = fit.missed;
    next.left_out = std::move(fit.left_out);
    const double loss = calibrate_candidate(next, labelled, weights, Biases::free, rows);
    if (!rows.shard.all(loss < smallest)) continue;
    smallest = loss;
    best = std::move(next);
  }
  if (purpose == Purpose::labels) calibrate_candidate(best, labelled, weights, Biases::zero, rows);
  if (best.classifier.width > 0) best.classifier.points = ridge.support();

  const double left_out = left_out_accuracy(best.left_out, labelled, rows);
  return {std::move(best.classifier), left_out};
}

Vector right(const Matrix& scores, const std::vector<Index>& places) {
  Vector found(scores.rows());
  for (Index i = 0; i < scores.rows(); ++i) {
    Index place = 0;
    scores.row(i).maxCoeff(&place);
    found[i] = place == places[static_cast<std::size_t>(i)] ? 1 : 0;
  }
  return found;
}

Classifier fit_backwards(const Classifier& forth, const Matrix& points, Matrix distances,
                         const Matrix& probabilities, const Vector& weights,
                         const ClassOptions& options, const Pulse& pulse) {
  const auto n = static_cast<double>(points.rows());
  Classifier back;
  back.width = forth.width;
  back.biases = Vector::Zero(probabilities.cols());
  const Matrix weighted = weights.asDiagonal() * probabilities;
  const Vector totals = weighted.colwise().sum();
  const auto by_means = [&] {
    back.width = 0;
    back.points = class_means(points, weighted, totals.cwiseMax(1e-300));
    return back;
  };
  if (forth.width == 0) return by_means();
  // A point weighs as much as its classes are rare, so that every class weighs the same.
  const Vector rarity = (totals / n).cwiseMax(0.5 / n).cwiseInverse();
  const Vector balanced =
      (probabilities * rarity / static_cast<double>(probabilities.cols())).cwiseMax(1e-3);
  KernelRidge ridge(points, options.landmarks, std::move(distances));
  ridge.set_width(back.width);
  const Matrix targets = probabilities.array() - 1 / static_cast<double>(probabilities.cols());
  back.coefficients =
      ridge.fit(targets, weights.cwiseProduct(balanced), options.smoothing, 0, pulse).coefficients;
  if (back.coefficients.size() == 0) return by_means();
  back.points = ridge.support();
  return back;
}

}  // namespace remblai
