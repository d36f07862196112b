// The paper's tables as they were typed in: its averages are those of its rows.
#include "published.h"

#include <gtest/gtest.h>

#include "office_caltech.h"

namespace remblai::experiments {
namespace {

TEST(Published, AveragesAreThoseOfTheRows) {
  for (const char* method : {"ot-identity", "ot-w", "ot-w-inverse", "learned"}) {
    double sum = 0;
    for (const std::string& task : office_tasks())
      sum += published_office_caltech(task, method).value();
    EXPECT_NEAR(sum / 12, published_office_caltech("average", method).value(), 0.006) << method;
  }
}

TEST(Published, NothingWhereThePaperHasNone) {
  EXPECT_EQ(published_mnist("10", "ot-identity"), 85.24);
  EXPECT_EQ(published_mnist("50", "learned"), 81.49);
  EXPECT_FALSE(published_mnist("10", "none"));
  EXPECT_FALSE(published_mnist("60", "learned"));
  EXPECT_FALSE(published_office_caltech("A-A", "learned"));
}

}  // namespace
}  // namespace remblai::experiments
