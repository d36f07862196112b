// The program as a whole: help, version, mistakes in the command line, completion.
// Nothing here fits anything.
#include "harness.h"

#include <algorithm>
#include <sstream>

#include "remblai/options.h"
#include "remblai/predict.h"
#include "remblai/version.h"

namespace remblai::cli_test {
namespace {

const Words commands{"adapt", "fit",  "map",       "predict", "evaluate",
                     "info",  "demo", "reproduce", "bench",   "completion"};

/// What bash would offer after this line; the last word is being typed.
Words completions(const Words& words) {
  std::string array;
  for (const std::string& word : words) array += " '" + word + "'";
  const Finished result = shell("source <(" + binary() + " completion bash) && COMP_WORDS=(" +
                                array + ") && COMP_CWORD=" + std::to_string(words.size() - 1) +
                                " && _remblai && printf '%s\\n' \"${COMPREPLY[@]}\"");
  EXPECT_EQ(result.code, 0) << result.err;
  Words offered;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) offered.push_back(line);
  return offered;
}

TEST_F(Cli, VersionIsTheLibrarys) {
  const Finished result = run({"--version"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, std::string("remblai ") + version() + "\n");
}

TEST_F(Cli, HelpAndVersionHaveOtherNames) {
  EXPECT_EQ(run({"-V"}).out, run({"--version"}).out);
  EXPECT_EQ(run({"-V"}).code, 0);
  EXPECT_EQ(run({"help"}).code, 0);
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  EXPECT_EQ(run({"help", "fit"}).out, run({"fit", "--help"}).out);
}

TEST_F(Cli, HelpNamesEveryCommand) {
  const Finished result = run({"--help"});
  EXPECT_EQ(result.code, 0);
  for (const std::string& command : commands) {
    EXPECT_NE(result.out.find("\n  " + command + " "), std::string::npos) << command;
    const Finished help = run({command, "--help"});
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_NE(help.out.find("Usage: remblai " + command), std::string::npos) << help.out;
  }
}

std::string stream_text(double value) {
  std::ostringstream stream;
  stream << value;
  return stream.str();
}

TEST_F(Cli, HelpHasEveryOptionWithItsDefault) {
  for (const std::string command : {"adapt", "fit"}) {
    const std::string help = run({command, "--help"}).out;
    const auto has = [&](const std::string& name, const auto& field, const char*) {
      const auto begin = help.find("\n  --" + name + " ");
      ASSERT_NE(begin, std::string::npos) << command << " --" << name;
      std::string paragraph = help.substr(begin, help.find("\n  --", begin + 1) - begin);
      std::replace(paragraph.begin(), paragraph.end(), '\n', ' ');
      std::string text;
      if constexpr (!std::is_arithmetic_v<std::decay_t<decltype(field)>>) {
        text = remblai::name(field);
      } else {
        text = stream_text(field);
      }
      const auto at = paragraph.find("[default:");
      ASSERT_NE(at, std::string::npos) << paragraph;
      const bool left =
          text == "auto" || text == stream_text(by_method) || text == stream_text(steps_by_method);
      const bool own = name == "method" && command == "adapt";
      EXPECT_NE(paragraph.find(own    ? "class-aware]"
                               : left ? "]"
                                      : text + "]",
                               at),
                std::string::npos)
          << paragraph;
      if (name == "prior" || name == "prior-ridge" || name == "lambda" || name == "ridge" ||
          name == "steps") {
        EXPECT_NE(paragraph.find(", class-aware ", at), std::string::npos) << paragraph;
      }
    };
    const Options defaults;
    for_each_option(defaults, has);
    const PredictOptions prediction;
    if (command == "adapt") for_each_option(prediction, has);
    for (const char* heading : {"\nFiles:\n", "\nMethod:\n", "\nRunning:\n"}) {
      EXPECT_NE(help.find(heading), std::string::npos) << command << heading;
    }
    EXPECT_EQ(help.find("\nPrediction:\n") != std::string::npos, command == "adapt") << command;
    EXPECT_EQ(help.find("|given"), std::string::npos);
    for (const char* flag :
         {"--source ", "--source-labels ", "--target ", "--out ", "--source-weights ",
          "--target-weights ", "--transpose ", "--quiet ", "--json "}) {
      EXPECT_NE(help.find(flag), std::string::npos) << command << flag;
    }
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST_F(Cli, HelpWinsOverMistakesBehindIt) {
  EXPECT_EQ(run({"adapt", "--metric", "nonsense", "--help"}).code, 0);
  EXPECT_EQ(run({"adapt", "--nonsense", "-h"}).code, 0);
  EXPECT_EQ(run({"-h"}).out, run({"--help"}).out);
}

TEST_F(Cli, NoCommandShowsHelpOnStandardError) {
  const Finished result = run({});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("adapt"), std::string::npos);
}

TEST_F(Cli, UnknownNamesAreToldWithTheNearest) {
  expect_refused({"adpat"}, {"unknown command 'adpat'", "did you mean 'adapt'?"});
  expect_refused({"zzzzzzzz"}, {"unknown command", "demo"});
  expect_refused({"--versoin"}, {"unknown option '--versoin'", "did you mean '--version'?"});
  expect_refused({"adapt", "--sorce", "x"}, {"unknown option '--sorce'", "'--source'"});
  expect_refused({"fit", "--lamda=1"}, {"unknown option '--lamda'", "'--lambda'"});
  expect_refused({"fit", "-x"}, {"unknown option '-x'"});
  expect_refused({"info"}, {"FILE or --devices is required"});
  expect_refused({"info", "a.npy", "--devices"}, {"--devices"});
  expect_refused({"info", "a.npy", "b.npy"}, {"unexpected 'b.npy'"});
}

TEST_F(Cli, RequiredFlagsAndValues) {
  expect_refused({"adapt"}, {"--source", "required", "remblai adapt --help"});
  expect_refused({"adapt", "--source"}, {"--source needs a value"});
  expect_refused({"adapt", "--source", "--target", "x.npy"}, {"--source needs a value: FILE"});
  expect_refused({"predict", "--model", "m.npz", "--model", "n.npz"},
                 {"--model was given twice; give it once"});
  expect_refused({"fit", "--lambda=1", "--lambda", "2"}, {"--lambda was given twice"});
  expect_refused({"adapt", "foo", "--source", "x.npy"}, {"unexpected 'foo'", "remblai adapt"});
}

TEST_F(Cli, ErrorsHaveNoColourWithoutTerminalOrWithNoColor) {
  const Words words{binary(), "adpat"};
  EXPECT_EQ(Process(words).wait().err.find('\033'), std::string::npos);
  EXPECT_NE(Process(words, {{"NO_COLOR", ""}}, true).wait().err.find('\033'), std::string::npos);
  EXPECT_EQ(Process(words, {{"NO_COLOR", "1"}}, true).wait().err.find('\033'), std::string::npos);
}

TEST_F(Cli, FullStandardOutputIsAnError) {
  const Finished result = shell(binary() + " completion bash > /dev/full");
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(result.err.starts_with("error: ")) << result.err;
}

TEST_F(Cli, CompletionOffersCommandsFlagsValuesAndFiles) {
  EXPECT_EQ(completions({"remblai", "ad"}), Words{"adapt"});
  EXPECT_EQ(completions({"remblai", "eva"}), Words{"evaluate"});
  EXPECT_EQ(completions({"remblai", "--ver"}), Words{"--version"});
  EXPECT_EQ(completions({"remblai", "fit", "--outer"}), Words{"--outer-tolerance"});
  EXPECT_EQ(completions({"remblai", "adapt", "--knn-metric", ""}), (Words{"model", "euclidean"}));
  EXPECT_EQ(completions({"remblai", "fit", "--quiet", "--preprocess", "z"}), Words{"zscore"});
  EXPECT_EQ(completions({"remblai", "completion", "b"}), Words{"bash"});
  write(at("points file.npy"), "");
  EXPECT_EQ(completions({"remblai", "fit", "--source", at("po")}), Words{at("points file.npy")});
  EXPECT_EQ(completions({"remblai", "info", at("po")}), Words{at("points file.npy")});
  const Words metric = completions({"remblai", "fit", "--metric", "w"});
  ASSERT_GE(metric.size(), 2u);
  EXPECT_EQ(metric[0], "w");
  EXPECT_EQ(metric[1], "w-inverse");
  EXPECT_EQ(completions({"remblai", "fit", "--metric", "=", "w-"}), Words{"w-inverse"});
  EXPECT_EQ(completions({"remblai", "adapt", "--knn-metric", "="}), (Words{"model", "euclidean"}));
  EXPECT_EQ(completions({"remblai", "fit", "--metric=w-"}), Words{"--metric=w-inverse"});
}

TEST_F(Cli, CompletionKnowsOnlyBash) {
  expect_refused({"completion", "tcsh"}, {"tcsh", "bash"});
}

}  // namespace
}  // namespace remblai::cli_test
