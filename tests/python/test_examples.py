"""The examples run, and their notebooks have the same code."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import ROOT

EXAMPLES = ROOT / "examples/python"
DATA = pathlib.Path(os.environ.get("REMBLAI_DATA", ROOT.parent / "shared/data"))
SCRIPTS = ["two_moons.py", "mnist_label_shift.py", "decaf6_dslr_webcam.py"]


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_example_runs(name, tmp_path):
    if name.startswith("decaf6") and not (DATA / "office-caltech/decaf6/dslr.mat").exists():
        pytest.skip("no DeCAF6 features; set REMBLAI_DATA")
    environment = {**os.environ, "MPLBACKEND": "Agg", "REMBLAI_DATA": str(DATA)}
    done = subprocess.run(
        [sys.executable, EXAMPLES / name], cwd=tmp_path, env=environment, capture_output=True,
        text=True, check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "accuracy" in done.stdout


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_notebook_is_its_script(name):
    sys.path.insert(0, str(EXAMPLES))
    try:
        from make_notebooks import notebook
    finally:
        sys.path.pop(0)
    script = EXAMPLES / name
    stored = json.loads(script.with_suffix(".ipynb").read_text())
    assert stored == notebook(script.read_text()), "run examples/python/make_notebooks.py"
