// What a file gives back is what was saved, to the bit.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>

#include "remblai/types.h"

namespace remblai::test {

/// NaN equals itself, 0 is not -0.
template <class Values>
void expect_same_bits(const Values& a, const Values& b, const char* what) {
  ASSERT_EQ(a.rows(), b.rows()) << what;
  ASSERT_EQ(a.cols(), b.cols()) << what;
  for (Index i = 0; i < a.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint64_t>(a.data()[i]), std::bit_cast<std::uint64_t>(b.data()[i]))
        << what << " " << i;
}

}  // namespace remblai::test
