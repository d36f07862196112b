"""Writes a notebook beside every example: `# %%` begins a cell of code, `# %% [markdown]` one of text.

    python examples/python/make_notebooks.py
"""

import json
import pathlib
import re


def notebook(script):
    """The notebook of a script, as the structure that its file holds."""
    cells = []
    for place, part in enumerate(re.split(r"^# %%", script, flags=re.MULTILINE)[1:]):
        kind, _, body = part.partition("\n")
        lines = body.strip("\n").split("\n")
        cell = {"id": f"cell-{place}", "metadata": {}}
        if "[markdown]" in kind:
            cell["cell_type"] = "markdown"
            lines = [re.sub(r"^# ?", "", line) for line in lines]
        else:
            cell.update(cell_type="code", execution_count=None, outputs=[])
        cell["source"] = [line + "\n" for line in lines[:-1]] + lines[-1:]
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


if __name__ == "__main__":
    for script in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        if script.name != pathlib.Path(__file__).name:
            text = json.dumps(notebook(script.read_text()), indent=1) + "\n"
            script.with_suffix(".ipynb").write_text(text)
            print(script.with_suffix(".ipynb"))
