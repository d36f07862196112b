// The smallest use of the installed library: fit, map, predict, and an error that must arrive.
// Succeeds when every answer has its shape, so that headers, symbols and run paths are all right.
#include <remblai/remblai.h>
#include <cstdio>

int main() {
  remblai::Problem problem;
  problem.source.points = remblai::Matrix{{0, 0}, {0, 1}, {4, 0}, {4, 1}};
  problem.source.labels = remblai::Labels{{1, 1, 2, 2}};
  problem.target.points = remblai::Matrix{{10, 3}, {10, 4}, {14, 3}};
  const remblai::Model model = remblai::fit(problem, {.steps = 3});
  const remblai::Matrix mapped = remblai::map(model);
  const remblai::Labels labels = remblai::predict(model, problem.target.points);
  bool refused = false;
  try {
    remblai::fit({}, {});
  } catch (const remblai::Error&) {
    refused = true;
  }
  std::printf("remblai %s: %td points mapped, %td labels\n", remblai::version(), mapped.rows(),
              labels.size());
  return mapped.rows() == 4 && mapped.cols() == 2 && labels.size() == 3 && refused ? 0 : 1;
}
