// The module remblai._core: the library as Python sees it. Input checking, conversion of data types
// and everything that needs no C++ is in the package around it.
#include "bindings.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <string>
#include <utility>

#include "arrays.h"
#include "options.h"
#include "remblai/devices.h"
#include "remblai/error.h"
#include "remblai/io.h"
#include "remblai/sample.h"
#include "remblai/threads.h"
#include "remblai/version.h"

namespace remblai::python {
namespace {

nb::dict sample(Sample (*unpack)()) {
  Sample digits = unlocked([unpack] { return unpack(); });
  nb::dict all;
  const auto add = [&](const char* points, const char* labels, Domain& domain) {
    all[points] = give(std::move(domain.points));
    all[labels] = give(std::move(domain.labels));
  };
  add("Xs", "ys", digits.source);
  add("Xt", "yt", digits.target);
  add("X_test", "y_test", digits.test);
  return all;
}

}  // namespace

}  // namespace remblai::python

NB_MODULE(_core, core) {
  using namespace remblai::python;
  using namespace nb::literals;
  nb::register_exception_translator([](const std::exception_ptr& raised, void*) {
    try {
      std::rethrow_exception(raised);
    } catch (const remblai::Error& error) {
      raise_refused(error.message());
    }
  });
  // Models that a reference cycle of the caller's keeps until the end are no leak of ours.
  nb::set_leak_warnings(false);
  core.doc() = "The C++ library. Use the functions and classes of the package remblai instead.";
  core.attr("version") = remblai::version();
  bind_model(core);
  bind_fit(core);
  bind_transport(core);
  bind_spd(core);
  core.def(
      "message_text",
      [](const std::string& field, const std::string& value, const std::string& problem,
         const std::string& remedy, const Names& names) {
        return text_of({field, value, problem, remedy}, names);
      },
      "field"_a, "value"_a, "problem"_a, "remedy"_a, "names"_a = Names(),
      "a message in words, with `names` in place of keywords");
  core.def("options", describe_options, "every option of fit: name, default, choices, help");
  core.def(
      "resolved_options", [](const nb::dict& keywords) { return to_dict(options_from(keywords)); },
      "keywords"_a,
      "every option with its value, where these are given; the rest is as the method has it");
  core.def("prediction_options", describe_prediction, "the same for Model.predict");
  core.def(
      "write_text",
      [](const std::filesystem::path& path, const std::string& text) {
        unlocked([&] { remblai::io::write_text(path.string(), text); });
      },
      "path"_a, "text"_a, "writes a file under a temporary name, then renames it");
  core.def(
      "devices",
      [] {
        std::vector<std::string> all{"cpu"};
        for (std::size_t count = remblai::gpus().size(); all.size() <= count;)
          all.push_back(all.size() == 1 ? "cuda" : "cuda:" + std::to_string(all.size() - 1));
        return all;
      },
      "what `device=` may be on this machine, the processor first");
  core.def("thread_count", nb::overload_cast<int>(&remblai::thread_count), "wanted"_a,
           "the number of threads that `wanted` stands for; 0 is one for each core");
  core.def(
      "mnist_sample", [] { return sample(remblai::mnist_sample); },
      "a small sample of MNIST whose labels shift");
  core.def(
      "turned_mnist_sample", [] { return sample(remblai::turned_mnist_sample); },
      "another, of the same source: target digits are turned, thicker and paler");
}
