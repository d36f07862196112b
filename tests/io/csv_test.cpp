// Tables as text: the ways to write the same numbers, columns by name and index, and bad text.
#include <array>
#include <chrono>

#include "io/io_test_tools.h"

namespace remblai::io::test {
namespace {

using IoCsvTest = IoTest;

TEST_F(IoCsvTest, ManyWaysToWriteTheSameNumbers) {
  const Matrix expected = (Matrix(2, 3) << 1, -2.5, 3000, 0, 1e-5, 6).finished();
  for (const std::string text : {
           "1,-2.5,3e3\n0,1E-05,6\n",
           "1,-2.5,3e3\r\n0,1e-5,+6",
           "1;-2.5;3000\r0;.00001;6.\r",
           "\xef\xbb\xbf"
           "1\t-2.5\t3e+3\n0\t1e-5\t6\n",
           "# a comment, with, commas\n\n  \n1 , -2.5 ,\t3e3\n#\n 0,1e-5,6  \n\n",
           "a,b,c\n1,-2.5,3e3\n0,1e-5,6\n",
           "\"a;1\",\"b \"\"q\"\"\n2\",c\n\"1\",\" -2.5 \",3e3\n0,1e-5,6",
           ",0,1\n1,-2.5,3e3\n0,1e-5,6\n",
       }) {
    EXPECT_EQ(read_points(file("t.csv", text)), expected) << text;
  }
  EXPECT_EQ(read_points(file("t.tsv", "1\t-2.5\t3e3\n0\t1e-5\t6\n")), expected);
  EXPECT_EQ(read_points(file("t.csv", "1,-2.5,3e3\n0,1e-5,6\n"), true), expected.transpose());
  EXPECT_EQ(read_points(file("t.CSV", "7")), Matrix::Constant(1, 1, 7));
  EXPECT_EQ(read_points(file("t.csv", "1e-400,1e-310\n"))(0, 0), 0.0);
  for (const std::string tiny : {"1e-5000", "-12.5E-99999999999999999999", "0.00001e-4000"})
    EXPECT_EQ(read_points(file("t.csv", tiny + "\n"))(0, 0), 0.0) << tiny;
  for (const std::string huge : {"1e5000", "-0.1E+99999999999999999999"})
    EXPECT_ERROR(read_points(file("t.csv", huge + "\n")), "out of range");
}

TEST_F(IoCsvTest, ColumnsByNameAndIndex) {
  const std::string table =
      file("t.csv", "height,who,0,label,1\n1.5,ann,4,1,7\n2.5,\"bo, b\",5,-2,8\n");
  const Vector heights = (Vector(2) << 1.5, 2.5).finished();
  EXPECT_EQ(read_vector(table + ":height"), heights);
  EXPECT_EQ(read_vector(table + ":-5"), heights);
  EXPECT_EQ(read_vector(table + ":0"), (Vector(2) << 4, 5).finished()) << "names come first";
  EXPECT_EQ(read_vector(table + ":2"), (Vector(2) << 4, 5).finished());
  EXPECT_EQ(read_labels(table + ":label"), (Labels(2) << 1, -2).finished());
  EXPECT_EQ(read_labels(table + ":-2"), (Labels(2) << 1, -2).finished());
  EXPECT_ERROR(read_vector(table + ":hieght"),
               "there is no column 'hieght'; it has 'height', 'who', '0', 'label', '1'; the "
               "nearest is 'height'");
  EXPECT_ERROR(read_vector(table + ":5"), "there is no column '5'");
  EXPECT_ERROR(read_vector(table + ":-6"), "there is no column '-6'");
  EXPECT_ERROR(read_vector(table + ":99999999999999999999"), "there is no column");
  EXPECT_ERROR(read_labels(table + ":who"), "line 2, column 2 ('who'): 'ann' is not a number");
  EXPECT_ERROR(read_labels(table + ":height"), "label 1 (from 1) is 1.5");
  EXPECT_ERROR(read_vector(file("u.csv", "1,2\n") + ":x"), "columns are 0 to 1");
  EXPECT_ERROR(read_vector(file("u.csv", "x,x\n1,2\n") + ":x"), "two columns");
}

TEST_F(IoCsvTest, ColumnsCanBeLeftOut) {
  const std::string table = file("t.csv", "a,class,b\n1,red,2\n3,blue,4\n");
  const Matrix expected = (Matrix(2, 2) << 1, 2, 3, 4).finished();
  EXPECT_EQ(read_points(table, false, {table + ":class"}), expected);
  EXPECT_EQ(read_points(table, true, {table + ":1"}), expected.transpose());
  EXPECT_EQ(read_points(table, false, {path("./t.csv") + ":class"}), expected) << "the same file";
  EXPECT_EQ(read_points(table, false, {"", table, table + ":-2", table + ":class"}), expected);
  EXPECT_EQ(read_points(table, false, {table + ":class", table + ":a"}), expected.col(1));
  EXPECT_ERROR(read_points(table, false, {path("other.csv") + ":class"}), "'red' is not a number");
  EXPECT_ERROR(read_points(table, false, {table + ":clas"}), "the nearest is 'class'");
  EXPECT_ERROR(read_points(table, false, {table + ":a", table + ":1", table + ":b"}),
               "no column is left besides 'a, 1, b'");
}

TEST_F(IoCsvTest, NamesOfTheColumnsThatAreTaken) {
  const std::string table = file("names.csv", "a,\"b, c\",d\n1,2,3\n");
  using Names = std::vector<std::string>;
  EXPECT_EQ(read_names(table), (Names{"a", "b, c", "d"}));
  EXPECT_EQ(read_names(table, {table + ":a", table + ":-1"}), Names{"b, c"});
  EXPECT_EQ(read_names(table + ":d"), Names{"d"});
  EXPECT_EQ(read_names(file("numbers.csv", "1,2\n3,4\n")), Names{});
  EXPECT_EQ(read_names(data("io_points_f8_little.npy")), Names{});
}

TEST_F(IoCsvTest, AHeaderHasNoNumbersOrCountsThemFromZero) {
  const Matrix expected = (Matrix(1, 3) << 4, 5, 6).finished();
  for (const std::string header :
       {"a,b,c", "a,,c", ",b,c", ",0,1", "0,1,label", "label,0,1", "\"0\",\"1\",y", "NA,b,c"}) {
    EXPECT_EQ(read_points(file("t.csv", header + "\n4,5,6\n")), expected) << header;
  }
  EXPECT_EQ(read_labels(file("t.csv", "0,1,label\n4,5,6\n") + ":label"), Labels::Constant(1, 6));
  EXPECT_EQ(read_points(file("t.csv", "0,1,2\n4,5,6\n")).rows(), 2) << "numbers only are a point";
  EXPECT_EQ(read_points(file("t.csv", "1,2,3\n4,5,6\n")).rows(), 2);
}

TEST_F(IoCsvTest, ATypoInTheFirstLineIsNoHeader) {
  const std::string hint = "; a header must name every column, and not by a number";
  const auto reading = [&](const std::string& text) { return read_points(file("t.csv", text)); };
  EXPECT_ERROR(reading("1,2,x3\n4,5,6\n"), "line 1, column 3: 'x3' is not a number" + hint);
  EXPECT_ERROR(reading("# c\n0.5,1e,2\n4,5,6\n"), "line 2, column 2: '1e' is not a number" + hint);
  EXPECT_ERROR(reading("0,2,x\n4,5,6\n"), "'x' is not a number" + hint);
  EXPECT_ERROR(reading("0,b,c\n4,5,6\n"), "'b' is not a number" + hint);
  EXPECT_ERROR(reading("paris,0\nrome,1\noslo,0\n"), "'paris' is not a number" + hint);
  EXPECT_ERROR(read_labels(file("t.csv", "img1.png,0\nimg2.png,1\n") + ":1"),
               "line 1 mixes names and numbers");
  EXPECT_EQ(read_points(file("t.csv", ",0\n0,5\n1,6\n")).rows(), 2) << "a series of pandas";
  EXPECT_ERROR(reading("1e999,a\n4,5\n"), "'1e999' is out of range" + hint);
  EXPECT_ERROR(reading(",5,6\n1,2,3\n"), "line 1, column 1: the field is empty" + hint);
  EXPECT_ERROR(reading("5,,6\n1,2,3\n"), "line 1, column 2: the field is empty");
  EXPECT_ERROR(reading("1,2\n3,x\n"), "line 2, column 2: 'x' is not a number");
  EXPECT_ERROR(read_vector(file("t.csv", "year,2019\n1,2\n") + ":year"),
               "there is no column 'year'; line 1 mixes names and numbers");
  EXPECT_EQ(error_of([&] { reading("1,2\n3,x\n"); }).find("header"), std::string::npos);
}

TEST_F(IoCsvTest, ListsColumnsWithTheirKind) {
  const auto columns = list(file("t.csv", "a,b\n1,x\n2,3\n"));
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[0].name, "a");
  EXPECT_EQ(columns[0].type, "number");
  EXPECT_EQ(columns[1].type, "text");
  EXPECT_EQ(columns[1].shape, std::vector<Index>{2});
  EXPECT_EQ(list(file("t.csv", "1,2\n"))[1].name, "1");
}

TEST_F(IoCsvTest, BadTextIsNamedWithItsPlace) {
  const auto reading = [&](const std::string& text) { return read_points(file("t.csv", text)); };
  EXPECT_ERROR(reading("a,height\n1,2\n\n3,abc\n"),
               "t.csv: line 4, column 2 ('height'): 'abc' is not a number");
  EXPECT_ERROR(reading("1,2\n3,a\x01\xff\n"), "line 2, column 2: 'a\\x01\\xff' is not a number");
  EXPECT_ERROR(reading("1\n" + std::string(1000, 'x')), ": '" + std::string(40, 'x') + "...'");
  EXPECT_ERROR(reading("1,2\n3,\xc3\xa9\n"), "'\xc3\xa9' is not");
  EXPECT_ERROR(reading("1,2\n3,1.2.3\n"), "'1.2.3' is not a number");
  EXPECT_ERROR(reading("1;2\n3;1,5\n"), "'1,5' is not a number");
  EXPECT_ERROR(reading("1,2\n3,\n"), "line 2, column 2: the field is empty");
  EXPECT_ERROR(reading("1,2\n3,1e999\n"), "'1e999' is out of range");
  EXPECT_ERROR(reading("1,2\n3,nan\n"), "line 2, column 2: 'nan'; only finite numbers");
  EXPECT_ERROR(reading("1,2\n-inf,4\n"), "line 2, column 1: '-inf'; only finite numbers");
  EXPECT_ERROR(reading("1,2\n3,0x10\n"), "'0x10' is not a number");
}

TEST_F(IoCsvTest, BadFramesAreNamedWithTheirPlace) {
  const auto reading = [&](const std::string& text) { return read_points(file("t.csv", text)); };
  EXPECT_ERROR(reading("# c\n1,2,3\n4,5\n"), "line 3 has 2 fields, line 2 has 3");
  EXPECT_ERROR(reading("a,b\n1,2\n\"x\ny\",2,3\n"), "line 3 has 3 fields, line 1 has 2");
  EXPECT_ERROR(reading("a,b\n\"x\ny\",2\nz,3\n"), "line 2, column 1 ('a'): 'x\\x0ay'");
  EXPECT_ERROR(reading("1,2\n\"3,4\n5,6\n"), "line 2: a quote is not closed");
  EXPECT_ERROR(reading("1,2\n\"3\"x,4\n"), "line 2: text follows a closing quote");
  EXPECT_ERROR(reading(""), "empty");
  EXPECT_ERROR(reading("\n\n# only a comment"), "holds no numbers");
  EXPECT_ERROR(reading("a,b\n"), "names but no numbers");
  EXPECT_ERROR(reading(std::string("\xff\xfe"
                                   "1\0",
                                   4)),
               "UTF-16");
  EXPECT_ERROR(read_labels(file("t.csv", "1,2\n3,4\n")), "name a column, as in");
}

TEST_F(IoCsvTest, WhatMayBeAHeaderIsNeverAPoint) {
  const std::string years = file("t.csv", "who,2019,2020\nann,3,4\n");
  for (const std::string left : {":0", ":-3"})
    EXPECT_ERROR(read_points(years, false, {years + left}), "line 1 mixes names and numbers");
  EXPECT_ERROR(read_vector(years + ":1"), "line 1 mixes names and numbers");
  EXPECT_EQ(read_points(file("t.csv", "who,a,b\nann,3,4\n"), false, {path("t.csv:who")}),
            (Matrix(1, 2) << 3, 4).finished());
}

TEST_F(IoCsvTest, DecimalCommasAreNamed) {
  const std::string remedy = "write numbers with a point";
  EXPECT_ERROR(read_points(file("t.csv", "1,5;2,5\n3;4\n")),
               "line 1: '1,5' is not a number; " + remedy);
  EXPECT_ERROR(read_points(file("t.tsv", "1,5\t2,5\n3\t4\n")), remedy);
  EXPECT_ERROR(read_points(file("t.csv", "a;b\n1,5;2\n")), "'1,5' is not a number; " + remedy);
  EXPECT_EQ(read_names(file("t.csv", "a,1;b,2\n3;4\n")).size(), 2u);
}

TEST_F(IoCsvTest, MissingNumbersAreNoNames) {
  for (const std::string first : {"NA,NA", "?,?", "null,", ",NA", "N/A,None"})
    EXPECT_ERROR(read_points(file("t.csv", first + "\n1,2\n")), "line 1, column ") << first;
  EXPECT_ERROR(read_points(file("t.csv", "NA,0,1\n1,2,3\n")), "'NA' is not a number");
  EXPECT_EQ(count_points(file("t.csv", "NA,NA\n1,2\n")), 2);
}

TEST_F(IoCsvTest, NumbersAsPeopleWriteThemAreNoNames) {
  EXPECT_ERROR(read_points(file("t.csv", "1.000,5;2.000,5\n3;4\n")), "'1.000,5' is not a number");
  EXPECT_ERROR(read_points(file("t.csv", "1 000;-2 000\n3;4\n")), "'1 000' is not a number");
  EXPECT_ERROR(read_points(file("t.csv", "0;1 000;1\n3;4;5\n")), "'1 000' is not a number");
  EXPECT_EQ(read_names(file("t.csv", "time;1.1.1;1.1.2\n3;4;5\n")).size(), 3u);
}

TEST_F(IoCsvTest, ATsvHasTabs) {
  const std::string table = file("t.tsv", "a,b\n1.5\n2.5\n");
  EXPECT_EQ(read_names(table), std::vector<std::string>{"a,b"});
  EXPECT_EQ(read_points(table), (Matrix(2, 1) << 1.5, 2.5).finished());
  EXPECT_ERROR(read_points(file("t.TSV", "a;b\n1;2\n")), "'1;2' is not a number");
}

TEST_F(IoCsvTest, LargeLabelsDoNotMerge) {
  for (const std::string label : {"9007199254740992", "9007199254740993", "-9007199254740993"})
    EXPECT_ERROR(read_labels(file("t.csv", "1\n" + label + "\n")), "below 2^53");
  EXPECT_EQ(read_labels(file("t.csv", "9007199254740991\n"))[0], 9007199254740991);
}

// Ten times the file takes about ten times as long; a quadratic reader takes a hundred.
TEST_F(IoCsvTest, ABlankLineOfAColumnOfLabelsIsOneThatIsNotKnown) {
  const Labels expected = (Labels(5) << -1, 3, -1, -1, 4).finished();
  EXPECT_EQ(read_target_labels(file("t.csv", "label\n\n3\n  \n# no label\n\n4\n")), expected);
  EXPECT_EQ(read_target_labels(file("t.csv", "\r\n3\r\n\r\n\r\n4")), expected) << "no header";
  EXPECT_EQ(read_target_labels(file("t.csv", "\n3\nnan\n\"\"\n4\n\n\n")), expected) << "the end";
  std::string many;
  Labels all(200'000);
  for (Index i = 0; i < all.size(); ++i) {
    all[i] = i % 3 == 0 ? -1 : 1'000'000 + i;
    many += i % 3 == 0 ? "\n" : std::to_string(all[i]) + "\n";
  }
  EXPECT_TRUE(read_target_labels(file("many.csv", many)) == all) << "read in pieces";
  const Labels known = (Labels(2) << 3, 4).finished();
  // Labels that are all known, and tables, have no such gaps.
  EXPECT_EQ(read_labels(file("t.csv", "\n3\n\n4\n")), known);
  EXPECT_EQ(read_target_labels(file("t.csv", "1,3\n\n2,4\n") + ":1"), known);
}

TEST_F(IoCsvTest, TimeIsLinearInTheFile) {
  const auto seconds = [&](const std::string& text) {
    const std::string table = file("t.csv", text);
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const auto start = std::chrono::steady_clock::now();
      try {
        read_names(table);
        list(table);
        read_points(table);
      } catch (const Error&) {
      }
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      best = std::min(best, taken.count());
    }
    return best;
  };
  const auto times = [](std::size_t count, const std::string& part) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += part;
    return text;
  };
  for (const auto& [front, part, back] : std::vector<std::array<std::string, 3>>{
           {"\"", "\"\"", "\",b\n1,2\n"},  // quotes in a name
           {"", "a,", "b\n"},              // names
           {"", "1,2\n", ""},              // rows
           {"", "\n#", ""},                // comments
           {"\"", "\n\"\"", ""},           // a quote that is not closed
           {"", "0,", "x\n"},              // numbers before a name
       }) {
    const double one = seconds(front + times(30000, part) + back);
    const double ten = seconds(front + times(300000, part) + back);
    EXPECT_LT(ten, 40 * one + 0.2) << part;
  }
}

TEST_F(IoCsvTest, AWideFirstLineAndManyLinesTakeNoMemory) {
  const std::string most(999'999, ',');
  EXPECT_EQ(list(file("t.csv", "a" + most + "\n")).size(), 1'000'000u);
  EXPECT_ERROR(list(file("t.csv", "a" + most + ",\n")),
               "line 1: it has more than a million fields");
  EXPECT_ERROR(read_points(file("t.csv", std::string(100000, ',') + std::string(100000, '\n'))),
               "no numbers");
}

TEST_F(IoCsvTest, Damage) {
  const std::string table = file("t.csv", "a,\"b\",c\n1,2.5,3\n4,5e3,6\n7,8,9\n# end\n1,2,3\n");
  EXPECT_GT(fuzz(table, ".csv", 3000), 100);
}

}  // namespace
}  // namespace remblai::io::test
