"""NumPy opens a model that the program wrote.

usage: numpy_opens_model.py PROGRAM SAMPLE_DIR WORK_DIR
Exits 77 (skipped) when NumPy is not installed.
"""

import pathlib
import subprocess
import sys

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is not installed (Debian package python3-numpy)")
    sys.exit(77)

program, sample, work = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
work.mkdir(parents=True, exist_ok=True)
path = work / "model.npz"
path.unlink(missing_ok=True)
run = subprocess.run([
    program, "fit", "--source", sample / "source-images-idx3-ubyte.gz", "--source-labels",
    sample / "source-labels-idx1-ubyte.gz", "--target", sample / "target-images-idx3-ubyte.gz",
    "--out", path, "--steps", "2", "--quiet"
])
assert run.returncode in (0, 3), f"remblai fit ended with {run.returncode}"

with np.load(path, allow_pickle=False) as model:
    for name in model.files:
        print(f"{name:20} {model[name].dtype} {model[name].shape}")
    expected = {
        "source_points": (500, 784),
        "target_points": (500, 784),
        "source_labels": (500,),
        "f": (500,),
        "g": (500,),
    }
    for name, shape in expected.items():
        assert model[name].shape == shape, f"{name} is {model[name].shape}, not {shape}"
        assert np.isfinite(model[name]).all(), f"{name} holds a value that is not finite"
    assert np.array_equal(np.bincount(model["source_labels"]), np.full(10, 50))
    assert int(np.ravel(model["format_version"])[0]) >= 1
