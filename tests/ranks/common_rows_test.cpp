// Common rows count once, whatever the number of ranks; the others as those of a shard.
#include "base/common_rows.h"

#include <gtest/gtest.h>

#include "ranks/ranks_data.h"

namespace remblai {
namespace {

// What one rank has of `all`, whose first rows are common.
Matrix part_of_rows(const Matrix& all, Index common, const Comm& comm) {
  const auto [first, last] = share_of(all.rows() - common, comm.rank(), comm.size());
  Matrix part(common + last - first, all.cols());
  part << all.topRows(common), all.middleRows(common + first, last - first);
  return part;
}

TEST(CommonRows, SumsAndRowsAreThoseOfAll) {
  for (const Index common : {0, 1, 70}) {
    const Matrix all = normal_points(common + 203, 3, 5);
    const std::vector<Index> numbers{0, common, 40, common + 202, common > 0 ? common - 1 : 7};
    Matrix sums;
    double dot = 0;
    for (const int ranks : {1, 2, 3, 5})
      run_ranks(ranks, [&](const std::shared_ptr<const Comm>& comm) {
        const Matrix part = part_of_rows(all, common, *comm);
        const CommonRows rows = CommonRows::of(Shard(comm, part.rows() - common), common);
        EXPECT_EQ(rows.total(part.rows()), all.rows());
        EXPECT_EQ(rows.rows_of(part, numbers), Matrix(all(numbers, Eigen::all)));
        const Matrix found = rows.sum(part.rows(), 1, 3, [&](Rows some) -> Matrix {
          return Matrix(part.middleRows(some.begin, some.end - some.begin)).colwise().sum();
        });
        EXPECT_LE((found - all.colwise().sum()).cwiseAbs().maxCoeff(), 1e-12);
        EXPECT_NEAR(rows.sum(Vector(part.col(1))), all.col(1).sum(), 1e-12);
        const double product = rows.dot(part.col(0), part.col(1));
        EXPECT_NEAR(product, all.col(0).dot(all.col(1)), 1e-12);
        if (comm->rank() > 0) return;
        if (ranks == 1) sums = found, dot = product;
        EXPECT_EQ(found, sums) << ranks;
        EXPECT_EQ(product, dot) << ranks;
      });
  }
}

TEST(CommonRows, EveryRowIsVisitedOnceAndTheLastOnesKnowWhichAreCommon) {
  run_ranks(3, [](const std::shared_ptr<const Comm>& comm) {
    const Index common = 10, own = 50 + comm->rank();
    const CommonRows rows = CommonRows::of(Shard(comm, own), common);
    std::vector<int> visits(static_cast<std::size_t>(common + own), 0);
    rows.visit(common + own, 7, [&](Rows some) {
      EXPECT_LE(some.end - some.begin, 7);
      for (Index i = some.begin; i < some.end; ++i) ++visits[static_cast<std::size_t>(i)];
    });
    EXPECT_EQ(visits, std::vector<int>(visits.size(), 1));
    EXPECT_EQ(rows.last(own, common + own).common, 0);
    EXPECT_EQ(rows.last(own + 4, common + own).common, 4);
  });
}

TEST(CommonRows, SharesComeAroundInOrderAndAreUnitedAgain) {
  // The last of these cross in many parts, and some ranks have no part of one.
  for (const auto& [rows, columns] : {std::pair<Index, Index>{1, 4}, {203, 3}, {203, 20000}}) {
    const Matrix all = normal_points(rows, columns, 3);
    std::vector<Index> cuts;
    for (const int ranks : {1, 2, 3, 5})
      run_ranks(ranks, [&](const std::shared_ptr<const Comm>& comm) {
        Matrix own = all;
        keep_share(*comm, own);
        const Shard shares(comm, own.rows());
        EXPECT_EQ(shares.total(own.rows()), all.rows());
        std::vector<Index> found;
        visit_shares(shares, own, [&](Index first, const Matrix& some) {
          EXPECT_EQ(some, all.middleRows(first, some.rows()));
          found.push_back(first + some.rows());
        });
        EXPECT_EQ(united(shares, own), all);
        EXPECT_EQ(found.back(), all.rows());
        if (comm->rank() > 0) return;
        if (ranks == 1) cuts = found;
        EXPECT_EQ(found, cuts) << ranks;
      });
  }
}

TEST(CommonRows, InOneProcessNoneIsCommon) {
  const Matrix all = normal_points(30, 2, 1);
  const CommonRows rows = CommonRows::of({}, 12);
  EXPECT_EQ(rows.total(30), 30);
  EXPECT_EQ(rows.last(5, 30).total(5), 5);
  EXPECT_NEAR(rows.sum(Vector(all.col(0))), all.col(0).sum(), 1e-13);
}

}  // namespace
}  // namespace remblai
