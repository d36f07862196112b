// The two experiments of the paper, and the loop over their tasks.
#include "experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "journal.h"
#include "mnist.h"
#include "office_caltech.h"
#include "published.h"
#include "remblai/error.h"
#include "transport/engine.h"

namespace remblai::experiments {
namespace {

void require_seeds(int seeds) {
  if (seeds < 1)
    throw Error(
        {.field = "--seeds", .value = fmt::format("{}", seeds), .problem = "is less than 1"});
}

void require_range(const char* flag, const std::vector<int>& values, int low, int high) {
  if (values.empty()) throw Error({.field = flag, .problem = "the list is empty"});
  for (const int value : values)
    if (value < low || value > high)
      throw Error({.field = flag,
                   .value = fmt::format("{}", value),
                   .problem = fmt::format("is not between {} and {}", low, high)});
}

}  // namespace

Experiment mnist_experiment(const std::string& data, const MnistSelection& selection) {
  require_seeds(selection.seeds);
  require_range("--skew", selection.skews, 0, 100);
  if (!selection.absent.empty()) require_range("--absent", selection.absent, 1, 9);
  require_range("--digit", selection.digits, 0, 9);
  Experiment experiment;
  experiment.title = "MNIST, label shift";
  experiment.row_heading = "skew";
  // Where a task takes its numbers from; the name is for people.
  struct Shift {
    int skew, digit;
    bool absent = false;  // `skew` is the number of digits without target points
  };
  std::map<std::string, Shift> shifts;
  for (const int skew : selection.skews)
    for (const int digit : selection.digits)
      for (int seed = 0; seed < selection.seeds; ++seed) {
        const std::string name = fmt::format("skew{}-digit{}", skew, digit);
        shifts[name] = {skew, digit};
        experiment.tasks.push_back({std::to_string(skew), name, seed, ""});
      }
  for (const int absent : selection.absent)
    for (const int digit : selection.digits)
      for (int seed = 0; seed < selection.seeds; ++seed) {
        const std::string name = fmt::format("absent{}-draw{}", absent, digit);
        shifts[name] = {absent, digit, true};
        experiment.tasks.push_back({fmt::format("{} absent", absent), name, seed, ""});
      }
  const auto digits = std::make_shared<const Mnist>(read_mnist(data + "/mnist"));
  experiment.files = digits->files;
  experiment.draw = [digits, shifts](const Task& task) {
    const Shift& shift = shifts.at(task.name);
    if (shift.absent) return draw_mnist_without(*digits, shift.skew, shift.digit, task.seed);
    return draw_mnist(*digits, shift.skew, shift.digit, task.seed);
  };
  const std::string data_fingerprint = fingerprint({&digits->source, &digits->target});
  for (Task& task : experiment.tasks) task.data = data_fingerprint;
  experiment.published = published_mnist;
  if (selection.digits.size() < 10)
    experiment.published_note = "The paper's rows are means over all ten digits.";
  experiment.published_rows = 5;
  return experiment;
}

Experiment office_caltech_experiment(const std::string& data,
                                     const OfficeCaltechSelection& selection) {
  require_seeds(selection.seeds);
  const std::vector<std::string> all = office_tasks();
  for (const std::string& task : selection.tasks)
    if (std::find(all.begin(), all.end(), task) == all.end())
      throw Error({.field = "--task",
                   .problem = fmt::format("there is no '{}'", literal(task)),
                   .remedy = fmt::format("the tasks are {}", fmt::join(all, ", "))});
  Experiment experiment;
  experiment.title = fmt::format("Office-Caltech, {}", printable(selection.features));
  experiment.row_heading = "task";
  const auto photos = std::make_shared<const OfficeCaltech>(
      read_office_caltech(selection.features.find('/') == std::string::npos
                              ? data + "/office-caltech/" + selection.features
                              : selection.features));
  experiment.files = photos->files;
  for (const std::string& task : all) {
    const auto& wanted = selection.tasks;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), task) == wanted.end()) continue;
    std::vector<std::string> files;
    for (const char domain : {task.front(), task.back()})
      if (const auto file = photos->missing.find(domain); file != photos->missing.end())
        files.push_back(file->second);
    if (!files.empty()) {
      experiment.missing.push_back(fmt::format("{} needs {}", task, fmt::join(files, " and ")));
      continue;
    }
    draw_office_caltech(*photos, task, 0);  // refuses what cannot be drawn, before anything runs
    const std::string task_data =
        fingerprint({&photos->domains.at(task.front()), &photos->domains.at(task.back())});
    for (int seed = 0; seed < selection.seeds; ++seed)
      experiment.tasks.push_back({task, task, seed, task_data});
  }
  if (experiment.tasks.empty())
    throw Error(
        {.problem = fmt::format("no task can run: {}{}", literal(experiment.missing.front()),
                                experiment.missing.size() > 1 ? ", and so on" : ""),
         .remedy = "put the missing files there"});
  experiment.draw = [photos](const Task& task) {
    return draw_office_caltech(*photos, task.name, task.seed);
  };
  // The paper's numbers are those of one kind of features.
  experiment.published = [decaf6 = selection.features == "decaf6"](const std::string& row,
                                                                   const std::string& method) {
    return decaf6 ? published_office_caltech(row, method) : std::nullopt;
  };
  experiment.published_rows = all.size();
  return experiment;
}

void require_device(const Resources& resources) {
  make_engine(resources, 0, 0);
}

bool run_tasks(const Experiment& experiment, const Settings& settings, int jobs, Journal& journal,
               const TaskProgress& progress) {
  std::vector<const Task*> left;
  for (const Task& task : experiment.tasks)
    if (!journal.find(task)) left.push_back(&task);
  const std::size_t before = experiment.tasks.size() - left.size();

  std::mutex mutex;
  std::condition_variable news;
  std::atomic<bool> stop = false;
  std::exception_ptr failure;
  std::size_t next = 0, done = 0;
  int working = std::clamp(jobs, 1, std::max(1, static_cast<int>(left.size())));
  const auto work = [&] {
    try {
      // One engine for all fits of this thread, where a GPU was asked for.
      const linalg::OnEngine engine(make_engine(settings.options.resources, 0, 0));
      while (!stop) {
        const Task* task = nullptr;
        {
          const std::lock_guard lock(mutex);
          if (next == left.size()) break;
          task = left[next++];
        }
        const auto runs =
            run_methods(experiment.draw(*task), settings, [&] { return stop.load(); });
        if (!runs) break;
        const std::lock_guard lock(mutex);
        if (failure) break;
        journal.append(*task, *runs);
        ++done;
        news.notify_one();
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      stop = true;
    }
    const std::lock_guard lock(mutex);
    --working;
    news.notify_one();
  };
  {
    std::vector<std::jthread> workers;
    // Whatever is thrown below, the workers end before their threads are joined.
    const struct Stopper {
      std::atomic<bool>& stop;
      ~Stopper() { stop = true; }
    } stopper{stop};
    for (int job = working; job > 0; --job) workers.emplace_back(work);
    std::unique_lock lock(mutex);
    while (working > 0) {
      news.wait_for(lock, std::chrono::milliseconds(100));
      const std::size_t now = before + done;
      lock.unlock();
      if (!progress(now)) stop = true;
      lock.lock();
    }
  }
  if (failure) std::rethrow_exception(failure);
  return before + done == experiment.tasks.size();
}

}  // namespace remblai::experiments
