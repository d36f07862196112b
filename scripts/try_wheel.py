"""Tries an installed wheel: it fits, saves, loads, and uses no library of the system but those that
every Linux has. Run by the interpreter of the environment: scripts/build-wheel does."""

import os
import pathlib
import re
import sys
import tempfile

import numpy as np

import remblai

#: What PEP 600 lets a manylinux wheel take from the system, as far as this one does.
SYSTEM = (
    r"(ld-linux[\w-]*|libc|libm|libdl|librt|libpthread|libutil|libgcc_s|libstdc\+\+|libz|libexpat)"
    r"\.so"
)


def libraries() -> set[str]:
    """The shared libraries that this process has mapped."""
    lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
    return {line.split(maxsplit=5)[-1] for line in lines if ".so" in line}


digits = remblai.mnist_sample()
fitted = remblai.GroundMetricClassifier().fit(digits["Xs"], digits["ys"], Xt=digits["Xt"])
score = fitted.score(digits["X_test"], digits["y_test"])
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.npz")
    fitted.save(path)
    np.testing.assert_array_equal(
        remblai.load(path).predict(digits["X_test"]), fitted.predict(digits["X_test"])
    )
    fitted.report(os.path.join(folder, "page.html"))

own = (sys.prefix, sys.base_prefix + "/lib/python3", sys.base_prefix + "/lib64/python3")
strange = [
    path
    for path in libraries()
    if not path.startswith(own) and not re.match(SYSTEM, os.path.basename(path))
]
strange = [path for path in strange if not os.path.basename(path).startswith("libpython")]
if strange:
    sys.exit(f"libraries of this system that another may lack: {', '.join(sorted(strange))}")
print(
    f"remblai {remblai.__version__} in {sys.prefix}: {100 * score:.1f} % of the test digits right"
)
