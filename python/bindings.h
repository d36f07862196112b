// The parts of the module _core, each in the file of its name.
#pragma once

#include <nanobind/nanobind.h>

namespace remblai::python {

namespace nb = nanobind;

void bind_fit(nb::module_& core);        ///< fit, FitPath; after bind_model
void bind_model(nb::module_& core);      ///< load, Model, Predictor
void bind_transport(nb::module_& core);  ///< transport, exact
void bind_spd(nb::module_& core);        ///< spd_*

}  // namespace remblai::python
