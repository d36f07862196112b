// The program of the README: learn from labelled source digits, label digits of a shifted target.
#include <remblai/remblai.h>
#include <iostream>

int main() {
  const remblai::Sample digits = remblai::mnist_sample();
  remblai::Problem problem;
  problem.source = digits.source;                // points and labels
  problem.target.points = digits.target.points;  // points alone
  const remblai::Model model = remblai::fit(problem, {.lambda = 0.5});
  const remblai::Labels labels = remblai::predict(model, digits.test.points);
  std::cout << model.status.reason() << "; accuracy "
            << remblai::evaluate(labels, digits.test.labels).accuracy() << '\n';
}
