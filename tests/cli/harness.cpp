// Processes with their output in files, so that nothing can block; a pseudo-terminal where asked
// for.
#include "harness.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "remblai/io.h"

namespace remblai::cli_test {

const std::string& binary() {
  static const std::string path = REMBLAI_BINARY;
  return path;
}

namespace fs = std::filesystem;
namespace {

std::string temporary_folder() {
  std::string path = (fs::temp_directory_path() / "remblai-cli-XXXXXX").string();
  if (!mkdtemp(path.data())) throw std::runtime_error("no temporary folder");
  return path;
}

void redirect(const std::string& path, int descriptor) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  dup2(file, descriptor);
  close(file);
}

}  // namespace

Process::Process(const Words& words, const Environment& environment, bool terminal)
    : folder_(temporary_folder()) {
  int slave = -1;
  if (terminal && openpty(&terminal_, &slave, nullptr, nullptr, nullptr) != 0) {
    throw std::runtime_error("no pseudo-terminal");
  }
  pid_ = fork();
  if (pid_ != 0) {
    if (slave >= 0) close(slave);
    return;
  }
  redirect(folder_ + "/out", STDOUT_FILENO);
  if (terminal) {
    dup2(slave, STDERR_FILENO);
  } else {
    redirect(folder_ + "/err", STDERR_FILENO);
  }
  signal(SIGINT, SIG_DFL);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  _exit(127);
}

Process::~Process() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (terminal_ >= 0) close(terminal_);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void Process::send(int signal) const {
  kill(pid_, signal);
}

const std::string& Process::wait_for(const std::string& text) {
  char buffer[4096];
  while (text.empty() || shown_.find(text) == std::string::npos) {
    const ssize_t count = ::read(terminal_, buffer, sizeof buffer);
    if (count <= 0) break;  // the program has ended
    shown_.append(buffer, static_cast<std::size_t>(count));
  }
  return shown_;
}

Finished Process::wait() {
  Finished result;
  if (terminal_ >= 0) result.err = wait_for("");
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = read(folder_ + "/out");
  if (terminal_ < 0) result.err = read(folder_ + "/err");
  return result;
}

Finished run(const Words& words, const Environment& environment) {
  return Process(Words{binary()} + words, environment).wait();
}

Finished shell(const std::string& command) {
  return Process({"bash", "-c", command}).wait();
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

bool exists(const std::string& path) {
  return fs::exists(path);
}

std::string sample(const std::string& part, const std::string& kind) {
  return fmt::format("{}/{}-{}-{}-ubyte.gz", REMBLAI_SAMPLE_DATA, part, kind,
                     kind == "images" ? "idx3" : "idx1");
}

Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

void Cli::SetUp() {
  folder_ = temporary_folder();
}

void Cli::TearDown() {
  fs::remove_all(folder_);
}

Words Cli::names_in(const std::string& folder) {
  Words names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void Cli::write_small_data() const {
  std::mt19937_64 generator(7);
  std::normal_distribution<double> normal;
  const auto cloud = [&](const std::string& name, Index count, double shift) {
    Matrix points(count, 3);
    Labels labels(count);
    for (Index i = 0; i < count; ++i) {
      labels[i] = i % 2;
      for (Index j = 0; j < 3; ++j) points(i, j) = normal(generator) + shift;
      points(i, 0) += 8.0 * static_cast<double>(labels[i]);
    }
    io::write_npy(at(name + ".npy"), points);
    io::write_npy(at(name + "_labels.npy"), labels);
  };
  cloud("source", 40, 0);
  cloud("target", 30, 1);
  cloud("test", 20, 1);
}

void Cli::write_table(const std::string& name, const std::string& header) const {
  const Matrix points = io::read_points(at(name + ".npy"));
  const Labels labels = io::read_labels(at(name + "_labels.npy"));
  std::ostringstream text;
  text.precision(17);
  text << header;
  for (Index i = 0; i < points.rows(); ++i) {
    text << points(i, 0) << ',' << labels[i] << ',' << points(i, 1) << ',' << points(i, 2) << ','
         << i % 3 + 1 << '\n';
  }
  write(at(name + ".csv"), text.str());
}

Words Cli::small_adapt() const {
  return {
      "adapt",    "--source",       at("source.npy"), "--source-labels", at("source_labels.npy"),
      "--target", at("target.npy"), "--out",          at("out")};
}

void expect_refused(const Words& words, const Words& parts) {
  std::string line;
  for (const std::string& word : words) line += " " + word;
  SCOPED_TRACE(line);
  const Finished result = run(words);
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(result.err.starts_with("error: ")) << result.err;
  for (const std::string& part : parts) {
    EXPECT_NE(result.err.find(part), std::string::npos) << "no '" << part << "' in: " << result.err;
  }
}

}  // namespace remblai::cli_test
