"""The examples run, as scripts and as notebooks, which have the same code."""

import json
import os
import pathlib
import subprocess
import sys

import nbclient
import nbformat
import pytest
from conftest import ROOT

EXAMPLES = ROOT / "examples/python"
DATA = pathlib.Path(os.environ.get("REMBLAI_DATA", ROOT.parent / "shared/data"))
SCRIPTS = ["two_moons.py", "mnist_label_shift.py", "decaf6_dslr_webcam.py"]


@pytest.fixture(params=SCRIPTS)
def script(request, monkeypatch):
    features = DATA / "office-caltech/decaf6/dslr.mat"
    if request.param.startswith("decaf6") and not features.exists():
        pytest.skip("no DeCAF6 features; set REMBLAI_DATA")
    monkeypatch.setenv("REMBLAI_DATA", str(DATA))
    return EXAMPLES / request.param


def test_an_example_runs(script, tmp_path):
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "accuracy" in done.stdout


def test_a_notebook_runs(script, tmp_path):
    notebook = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
    nbformat.validate(notebook)
    place = {"metadata": {"path": tmp_path}}
    client = nbclient.NotebookClient(notebook, timeout=120, resources=place)
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("accuracy" in output.get("text", "") for output in outputs)


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
