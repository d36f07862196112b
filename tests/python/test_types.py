"""The package is typed, and its types hold."""

import pathlib
import subprocess
import sys

from conftest import ROOT

import remblai

USE = """
import numpy as np
import remblai

X = np.zeros((3, 2))
model: remblai.Model = remblai.fit(Xs=X, Xt=X)
rows: int = len(model.plan())
fitted = remblai.GroundMetricTransport(reg_e=0.1).fit(Xs=X, Xt=X)
mean = remblai.spd.geometric_mean(np.eye(2), fitted.metric_)
wrong: str = mean
"""


def mypy(*arguments, cwd):
    command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_the_package_has_no_type_errors(tmp_path):
    done = mypy("-p", "remblai", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_program_sees_the_types(tmp_path):
    (tmp_path / "use.py").write_text(USE)
    done = mypy("use.py", cwd=tmp_path)
    assert done.stdout.count("error:") == 1 and "use.py:10: error" in done.stdout, done.stdout


def test_every_public_name_is_in_the_reference():
    page = (ROOT / "docs/reference/python.md").read_text().splitlines()
    listed = {line.rpartition(":: remblai.")[2] for line in page if line.startswith(".. auto")}
    assert set(dir(remblai)) - {"__version__"} == listed


def test_every_function_of_the_module_has_a_stub():
    stub = pathlib.Path(remblai.__file__).with_name("_core.pyi").read_text()
    for name in dir(remblai._core):
        if not name.startswith("_"):
            assert name in stub
