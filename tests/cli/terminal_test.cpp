// Standard streams that are closed, full or gone, and text from files on a terminal.
#include <signal.h>

#include <filesystem>

#include "harness.h"
#include "remblai/io.h"
#include "remblai/model_io.h"

namespace remblai::cli_test {
namespace {

class Streams : public Cli {
 protected:
  void SetUp() override {
    Cli::SetUp();
    write_small_data();
  }

  std::string line(const Words& words) const {
    std::string text = binary();
    for (const std::string& word : words) text += " '" + word + "'";
    return text;
  }
};

// OpenBLAS asks for the buffers of its threads until it gets them, and the exit waited for that.
TEST_F(Cli, SlowALimitOnAddressesIsAnErrorThatEnds) {
  const Finished result = shell("ulimit -v 150000; exec timeout 20 " + binary() + " --version");
  EXPECT_EQ(result.code, 2) << result.out;
  EXPECT_NE(result.err.find("error: the limit on addresses (ulimit -v)"), std::string::npos)
      << result.err;
  write(at("x.csv"), "1,2\n3,5\n4,4\n");
  const Words words{"fit",   "--source",  at("x.csv"), "--target", at("x.csv"),
                    "--out", at("m.npz"), "--threads", "1"};
  std::string command = "ulimit -v 300000; export OPENBLAS_NUM_THREADS=1; exec timeout 20 ";
  for (const std::string& word : Words{binary()} + words) command += word + " ";
  EXPECT_EQ(shell(command).code, 0) << "what is enough is taken";
}

TEST_F(Streams, ResultsAreWrittenWhateverBecomesOfTheStreams) {
  const Words some{"--steps", "1"};  // not converged: something is said on standard error
  for (const auto& [redirection, code] : std::map<std::string, int>{{"2>&-", 3},
                                                                    {"2>/dev/full", 3},
                                                                    {">&-", 2},
                                                                    {">/dev/full", 2},
                                                                    {">&- 2>&-", 2},
                                                                    {"<&- >&- 2>&-", 2}}) {
    const std::string model = at("model.npz");
    const Finished result =
        shell(line(Words{"fit", "--source", at("source.npy"), "--target", at("target.npy"),
                         "--method", "paper", "--out", model, "--overwrite"} +
                   some) +
              " " + redirection);
    EXPECT_EQ(result.code, code) << redirection << result.err;
    EXPECT_EQ(load(model).source.size(), 40) << redirection;
    std::remove(model.c_str());
  }
  EXPECT_EQ(shell(line({"info", at("source.npy")}) + " | true; echo ${PIPESTATUS[0]}").err, "");
  EXPECT_EQ(shell(line({"info", at("gone.npy")}) + " 2>&-").code, 2);
}

TEST_F(Streams, AHangUpWritesWhatIsThere) {
  Process process(Words{binary()} + small_adapt() + without_end, {{"TERM", "xterm"}}, true);
  process.wait_for(" left");
  process.send(SIGHUP);
  process.wait_for("stopping: ");
  process.send(SIGHUP);  // the shell sends one, and the kernel another
  const Finished result = process.wait();
  EXPECT_EQ(result.code, 130) << result.err;
  EXPECT_NE(result.err.find("the end of its terminal"), std::string::npos) << result.err;
  EXPECT_TRUE(exists(at("out/model.npz")));
}

TEST_F(Streams, SystemdSendsTwoSignalsAndLosesNothing) {
  for (const auto& [first, second] : {std::pair(SIGTERM, SIGHUP), std::pair(SIGHUP, SIGTERM)}) {
    Process process(Words{binary()} + small_adapt() + without_end, {{"TERM", "xterm"}}, true);
    process.wait_for(" left");
    process.send(first);
    process.wait_for("stopping: ");
    process.send(second);
    EXPECT_EQ(process.wait().code, 130) << first << " first";
  }
}

TEST_F(Streams, ADumbTerminalGetsNoLivingLines) {
  Process process(Words{binary(), "fit", "--source", at("source.npy"), "--target", at("gone.npy"),
                        "--out", at("model.npz")},
                  {{"TERM", "dumb"}}, true);
  const Finished result = process.wait();
  EXPECT_EQ(result.err.find('\033'), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("error: "), std::string::npos) << result.err;
}

TEST_F(Streams, TextFromFilesIsEscaped) {
  const std::string evil = "\033[2J\033]0;x\007";
  // libzip makes text of such names; MATLAB's files have them as they are.
  const std::string matlab = std::string(REMBLAI_TEST_DATA) + "/io_v5_many.mat";
  std::string bytes = read(matlab);
  const std::string name = io::list(matlab)[0].name + '\0';
  for (auto place = bytes.find(name); place != std::string::npos; place = bytes.find(name))
    bytes[place] = '\033';
  write(at("evil.mat"), bytes);
  write(at("evil.csv"), "a," + evil + "\n1,x\n");
  for (const Words& words :
       {Words{"info", at("evil.mat")}, Words{"info", at("evil.mat:nothing")},
        Words{"info", at("evil.csv")}, Words{"info", at("evil.csv:" + evil)},
        Words{"fit", "--source", at("evil.csv"), "--target", at("evil.csv"), "--out", at("m.npz")},
        Words{"fit", "--source", at("evil.mat"), "--target", at("evil.mat"), "--out",
              at("m.npz")}}) {
    const Finished result = run(words);
    EXPECT_EQ((result.out + result.err).find('\033'), std::string::npos)
        << result.out << result.err;
  }
}

TEST_F(Streams, NamesOfFilesAreEscaped) {
  const std::string evil = at("e\033[2Jx\007\xc2\x9b");
  std::filesystem::rename(at("source.npy"), evil + ".npy");
  Words fit{"fit", "--source", evil + ".npy", "--target", at("target.npy"), "--out", evil + ".npz"};
  Words adapt = small_adapt();
  adapt[2] = evil + ".npy";
  adapt.back() = evil;
  for (const Words& words :
       {Words{"info", evil + ".npy"}, fit, fit + Words{"--overwrite", "--json"},
        Words{"info", evil + ".npz"}, Words{"report", evil + ".npz"},
        Words{"map", "--model", evil + ".npz", "--out", evil + "-mapped.npy"},
        adapt + Words{"--report", evil + "-page.html"}, adapt + Words{"--json"}}) {
    const Finished result = run(words);
    EXPECT_EQ(result.code, 0) << result.err;
    for (const char* control : {"\033", "\007", "\xc2\x9b"})
      EXPECT_EQ((result.out + result.err).find(control), std::string::npos)
          << words[0] << ": " << result.out << result.err;
  }
  EXPECT_EQ(nlohmann::json::parse(read(evil + "/report.json"))["inputs"]["source"], evil + ".npy");
}

TEST_F(Streams, NamesThatBeginWithADash) {
  io::write_npy(at("-x.npy"), Matrix(Matrix::Ones(2, 2)));
  const std::string here = "cd '" + folder_ + "' && ";
  EXPECT_EQ(shell(here + line({"info", "--", "-x.npy"})).code, 0);
  EXPECT_EQ(shell(here + line({"info", "--", "-x.npy", "--help"})).code, 2);
  EXPECT_NE(
      shell(here + line({"fit", "--source", "-y.npy", "--target", "-x.npy", "--out", "m.npz"}))
          .err.find("'-y.npy': no such file"),
      std::string::npos);
  expect_refused({"fit", "--source", "--target", "x"}, {"--source", "needs a value"});
}

TEST_F(Streams, OneArrayIsDescribedThoughAnotherIsDamaged) {
  io::write_npz(at("a.npz"),
                {{"good", Vector(Vector::Ones(3))}, {"spoilt", Vector(Vector::Ones(3))}});
  std::string bytes = read(at("a.npz"));
  bytes[bytes.find("NUMPY", bytes.find("spoilt"))] = 'X';
  write(at("a.npz"), bytes);
  EXPECT_EQ(run({"info", at("a.npz:good")}).code, 0);
  const Finished all = run({"info", at("a.npz")});
  EXPECT_EQ(all.code, 0) << all.err;
  for (const char* part :
       {"1 array of numbers, 1 that cannot be used", "good: 3 numbers", "values 1 to 1",
        "spoilt: damaged\n  not usable: it does not begin like a .npy file"})
    EXPECT_NE(all.out.find(part), std::string::npos) << part << " in " << all.out;
  // The header is whole, and the numbers are not those of the checksum.
  bytes[bytes.find("NUMPY", bytes.find("good")) + 130] ^= 1;
  write(at("a.npz"), bytes);
  const Finished none = run({"info", at("a.npz")});
  EXPECT_EQ(none.code, 2);
  for (const char* part : {"good: 3 numbers", "spoilt: damaged"})
    EXPECT_NE(none.out.find(part), std::string::npos) << part << " in " << none.out;
  expect_refused({"info", at("a.npz:spoilt")}, {"spoilt", "does not begin like a .npy file"});
}

TEST_F(Streams, InfoNamesWhatItCannotTakeOfAMat) {
  const Finished all = run({"info", std::string(REMBLAI_TEST_DATA) + "/io_v5_many.mat"});
  EXPECT_EQ(all.code, 0) << all.err;
  for (const char* part : {"that cannot be used", "not usable: it is of class cell",
                           "not usable: it is sparse", "not usable: its numbers are complex"})
    EXPECT_NE(all.out.find(part), std::string::npos) << part << " in " << all.out;
}

}  // namespace
}  // namespace remblai::cli_test
