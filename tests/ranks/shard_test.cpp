// Sums over rows that ranks share: right, and the same bits however many share them.
#include "base/shard.h"

#include <gtest/gtest.h>

#include <new>

#include <limits>
#include <random>

#include "ranks/thread_ranks.h"
#include "remblai/error.h"

namespace remblai {
namespace {

Matrix random_rows(Index rows, Index columns) {
  std::mt19937 generator(static_cast<unsigned>(rows * 100 + columns));
  std::normal_distribution<double> normal;
  Matrix all(rows, columns);
  for (double& value : all.reshaped()) value = normal(generator);
  return all;
}

// Calls body(shard, local rows of `all`) on every rank, each with its share.
template <class Body>
void divide(int ranks, const Matrix& all, const Body& body) {
  run_ranks(ranks, [&](const std::shared_ptr<const Comm>& comm) {
    const auto [first, last] = share_of(all.rows(), comm->rank(), comm->size());
    body(Shard(comm, last - first), Matrix(all.middleRows(first, last - first)));
  });
}

TEST(Shard, SharesAreAllRowsInOrder) {
  for (const Index rows : {1, 5, 31, 64, 100, 1000, 100000})
    for (const int size : {1, 2, 3, 7, 64, 70}) {
      Index next = 0;
      for (int rank = 0; rank < size; ++rank) {
        const auto [first, last] = share_of(rows, rank, size);
        EXPECT_EQ(first, next);
        next = last;
      }
      EXPECT_EQ(next, rows);
    }
}

TEST(Shard, SumsHaveTheSameBitsForAnyNumberOfRanks) {
  for (const Index rows : {1, 3, 70, 999, 5000}) {
    const Matrix all = random_rows(rows, 5);
    double sum = 0, dot = 0;
    Vector columns;
    Matrix compressed;
    for (const int ranks : {1, 2, 3, 4, 7}) {
      divide(ranks, all, [&](const Shard& shard, const Matrix& local) {
        const Vector a = local.col(0), b = local.col(1);
        const double s = shard.sum(a), d = shard.dot(a, b);
        // Long enough to be added up in shares of the columns.
        const Vector c = shard.sum(local.rows(), 5000, [&](Rows part) -> Vector {
          Vector sums = Vector::Zero(5000);
          for (Index i = part.begin; i < part.end; ++i)
            for (Index j = 0; j < 5000; ++j) sums[j] += local(i, j % 5) * static_cast<double>(j);
          return sums;
        });
        const Matrix few = shard.compressed_rows(local);
        EXPECT_EQ(shard.total(local.rows()), rows);
        if (shard.comm()->rank() > 0) return;
        if (ranks == 1) {
          sum = s, dot = d, columns = c, compressed = few;
          EXPECT_NEAR(s, all.col(0).sum(), 1e-12 * static_cast<double>(rows));
          EXPECT_NEAR(d, all.col(0).dot(all.col(1)), 1e-12 * static_cast<double>(rows));
          EXPECT_LE((few.transpose() * few - all.transpose() * all).norm(),
                    1e-12 * all.squaredNorm());
          EXPECT_LE(few.rows(), std::min<Index>(5, rows));
        }
        EXPECT_EQ(s, sum) << ranks;
        EXPECT_EQ(d, dot) << ranks;
        EXPECT_EQ(c, columns) << ranks;
        EXPECT_EQ(few, compressed) << ranks;
      });
    }
  }
}

TEST(Shard, SharesOfAnyKindAddUp) {
  const Matrix all = random_rows(500, 3);
  run_ranks(3, [&](const std::shared_ptr<const Comm>& comm) {
    const Index begins[] = {0, 0, 17, 500};  // nothing, 17 rows, the rest
    const Index first = begins[comm->rank()], count = begins[comm->rank() + 1] - first;
    const Shard shard(comm, count);
    const Matrix local = all.middleRows(first, count);
    EXPECT_EQ(shard.first(), first);
    EXPECT_NEAR(shard.sum(Vector(local.col(0))), all.col(0).sum(), 1e-11);
    EXPECT_EQ(shard.largest(Vector(local.col(1))), all.col(1).maxCoeff());
    EXPECT_EQ(shard.smallest(Vector(local.col(1))), all.col(1).minCoeff());
    const Matrix few = shard.compressed_rows(local);
    EXPECT_LE((few.transpose() * few - all.transpose() * all).norm(), 1e-12 * all.squaredNorm());
    EXPECT_EQ(shard.rows_of(local, {499, 0, 16, 17, 17}),
              Matrix(all(std::vector<Index>{499, 0, 16, 17, 17}, Eigen::all)));
    EXPECT_EQ(shard.everywhere(Vector(local.col(2))), Vector(all.col(2)));
    const Matrix whole = gather_rows(comm.get(), local);
    if (comm->rank() == 0) {
      EXPECT_EQ(whole, all);
    }
  });
}

TEST(Shard, WithoutACommItIsAPlainSum) {
  const Vector v = random_rows(77, 1);
  EXPECT_EQ(Shard().sum(v), v.sum());
  EXPECT_EQ(Shard().dot(v, v), v.dot(v));
  EXPECT_EQ(Shard().total(77), 77);
  EXPECT_FALSE(Shard().divided());
}

TEST(Shard, AFaultOnOneRankIsThrownByAll) {
  run_ranks(4, [](const std::shared_ptr<const Comm>& comm) {
    agree(comm.get(), [] {});
    try {
      agree(comm.get(), [&] {
        if (comm->rank() == 1 || comm->rank() == 3)
          throw Error({.field = "ridge",
                       .value = std::to_string(comm->rank()),
                       .problem = "is bad",
                       .remedy = "mend it"});
      });
      ADD_FAILURE() << "rank " << comm->rank() << " went on";
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), (Message{"ridge", "1", "is bad", "mend it"}));
    }
    EXPECT_THROW(agree(comm.get(),
                       [&] {
                         if (comm->rank() == 2) throw std::bad_alloc();
                       }),
                 Error);
  });
}

}  // namespace
}  // namespace remblai
