// The problem as the iterations see it: points of positive weight, in coordinates of the span of
// the data.
#pragma once

#include <vector>

#include "base/shard.h"
#include "remblai/domain.h"
#include "remblai/metric.h"
#include "remblai/options.h"

namespace remblai {

/// Which directions the coordinates keep: all, those in which points differ, or these and the one
/// towards zero, which W = X'X + Z'Z sees.
enum class Span { everything, displacements, with_origin };

/// The smallest span that is exact for these options.
Span span_of(const Options& options);

struct Space {
  Shard shard;                                  ///< of the source rows
  Shard targets;                                ///< of the rows of z, where they are divided
  std::vector<Index> source_rows, target_rows;  ///< points of positive weight
  Vector p, q;                                  ///< their weights
  Frame frame;
  Matrix x, z;  ///< their coordinates, m x r and n x r, or a share of these

  /// Of ranks that all have z each keeps a share. Without ranks nothing changes.
  void divide_targets();
  Vector own_q() const { return q.segment(targets.first(), z.rows()); }  ///< of the rows of z

  Index dimension() const { return frame.dimension(); }
  Index rank() const { return frame.rank(); }
};

/// Both domains are preprocessed and valid, with weights that sum to 1. `shard` is of the source
/// points, those of weight zero included. O((m + n) d min(m + n, d)).
Space make_space(const Domain& source, const Domain& target, Span span, const Shard& shard = {});

}  // namespace remblai
