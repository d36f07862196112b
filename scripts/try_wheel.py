"""Tries an installed wheel: it fits, saves, loads, and uses no library of the system but those that
every Linux has. Run by the interpreter of the environment: scripts/build-wheel does."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

import remblai

#: What PEP 600 lets a manylinux wheel take from the system, as far as this one does.
SYSTEM = (
    r"(ld-linux[\w-]*|libc|libm|libdl|librt|libresolv|libpthread|libutil|libgcc_s|libstdc\+\+|libz"
    r"|libexpat)"
    r"\.so"
)


def libraries() -> set[str]:
    """The shared libraries that the package needs, itself or by way of others, and where."""
    package = pathlib.Path(remblai.__file__).parent
    own = [*package.glob("*.so"), *package.parent.glob("remblai.libs/*.so*")]
    done = subprocess.run(["ldd", *own], capture_output=True, text=True, check=True)
    missing = re.findall(r"(\S+) => not found", done.stdout)
    if missing:
        sys.exit(f"libraries that are nowhere: {', '.join(missing)}")
    return set(re.findall(r"(/\S+) \(0x", done.stdout))


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

strange = [
    path
    for path in libraries()
    if not os.path.realpath(path).startswith(os.path.realpath(sys.prefix))
    and not re.match(SYSTEM, os.path.basename(path))
]
if strange:
    sys.exit(f"libraries of this system that another may lack: {', '.join(sorted(strange))}")
print(
    f"remblai {remblai.__version__} in {sys.prefix}: {100 * score:.1f} % of the test digits right"
)
