"""The pictures of the documentation, made with the program itself. Always the same bytes.

    python docs/pictures.py FOLDER

Backgrounds are transparent and lines of middle brightness, so that one picture serves light and dark pages.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("SOURCE_DATE_EPOCH", "0")

import matplotlib  # noqa: E402

matplotlib.use("Agg")
import numpy as np  # noqa: E402
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.collections import LineCollection  # noqa: E402
from matplotlib.colors import LinearSegmentedColormap  # noqa: E402

GREY, BLUE, ORANGE, GREEN = "#868686", "#3d8fd1", "#e8833a", "#3aa376"
# From nothing to blue: what is empty lets the page through.
SHADES = LinearSegmentedColormap.from_list("shades", [(0.24, 0.56, 0.82, 0.0), (0.24, 0.56, 0.82, 1.0)])
STYLE = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.transparent": True,
    "svg.hashsalt": "remblai",
    "svg.fonttype": "path",
    "font.size": 11,
    "axes.titlesize": 11,
    "text.color": GREY,
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "axes.titlecolor": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.labelcolor": GREY,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
}
ROOT = pathlib.Path(__file__).resolve().parent.parent


class Program:
    """Runs `remblai adapt` in a folder of its own, and answers with the report and the arrays it wrote."""

    def __init__(self, program: str, folder: pathlib.Path):
        self.program, self.folder = program, folder

    def adapt(self, *arguments: str, arrays: tuple = ()):
        out = self.folder / "out"
        command = [self.program, "adapt", "--method", "paper", *map(str, arguments), "--out", str(out), "--json", "--threads", "1"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode not in (0, 3):
            raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
        return json.loads(done.stdout), *(np.load(out / f"{name}.npy") for name in arrays)

    def points(self, source, labels, target) -> list:
        for name, array in (("x", source), ("y", labels), ("z", target)):
            np.save(self.folder / f"{name}.npy", array)
        paths = [self.folder / f"{name}.npy" for name in "xyz"]
        return ["--source", paths[0], "--source-labels", paths[1], "--target", paths[2]]


def stripes(count: int = 40):
    """Two classes apart in one direction, each spread far along the other; the target is another draw of
    them, moved along the stripes. Everything is turned by 25 degrees."""
    rng = np.random.default_rng(1)
    angle = np.deg2rad(25)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    labels = np.arange(count) % 2

    def draw(shift):
        along = rng.normal(shift, 4, count)
        across = np.where(labels, 0.8, -0.8) + rng.normal(0, 0.2, count)
        return np.column_stack([along, across]) @ turn

    return draw(0), draw(5), labels


def ellipse(metric, centre=(0, 0), size=1.0):
    """The points at one distance from the centre."""
    circle = np.column_stack([np.cos(np.linspace(0, 2 * np.pi, 200)), np.sin(np.linspace(0, 2 * np.pi, 200))])
    values, vectors = np.linalg.eigh(metric)
    return np.asarray(centre) + size * circle / np.sqrt(values) @ vectors.T


def save(figure, folder: pathlib.Path, name: str) -> None:
    figure.savefig(folder / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def two_metrics(run: Program, folder: pathlib.Path) -> None:
    source, target, labels = stripes()
    figure, axes = plt.subplots(2, 1, figsize=(7.2, 6.6), sharex=True, sharey=True)
    for ax, metric in zip(axes, ("identity", "learned")):
        report, plan, matrix = run.adapt(
            *run.points(source, labels, target), "--metric", metric, "--lambda", "0.02", "--ridge", "0.01",
            "--save-plan", "--save-metric", arrays=("plan", "metric"),
        )  # fmt: skip
        lines, colours = [], []
        for i, j in np.argwhere(plan > 0.1 * plan.max()):
            right = labels[i] == labels[j]
            lines.append([source[i], target[j]])
            colours.append(matplotlib.colors.to_rgba(GREY if right else "#d64545", 0.7 * plan[i, j] / plan.max()))
        ax.add_collection(LineCollection(lines, colors=colours, linewidths=1.0))
        for points, marker, name in ((source, "o", "source"), (target, "^", "target")):
            for label, colour in ((0, BLUE), (1, ORANGE)):
                chosen = points[labels == label]
                ax.scatter(*chosen.T, s=22, marker=marker, color=colour, label=f"{name}, class {label}", zorder=3)
        moved = sum(plan[i, j] for i, j in np.ndindex(plan.shape) if labels[i] != labels[j])
        unit = ellipse(matrix / np.sqrt(np.linalg.det(matrix)), (-7, 3.2), 1.3)
        ax.plot(*unit.T, color=GREEN)
        ax.text(-7, 0.6, "equally far", color=GREEN, ha="center", size=9)
        name = "Euclidean metric" if metric == "identity" else "learned metric"
        ax.set_title(f"{name}: {100 * moved:.0f} % of the mass changes class")
        ax.set_aspect("equal")
        ax.axis("off")
    axes[1].legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, 0.0), fontsize=9, handletextpad=0.1, columnspacing=1)
    figure.subplots_adjust(hspace=0.08)
    save(figure, folder, "two_metrics")


def lambdas(run: Program, folder: pathlib.Path) -> None:
    source, target, labels = stripes()
    order = [np.lexsort((points[:, 0], labels)) for points in (source, target)]
    figure, axes = plt.subplots(1, 4, figsize=(9.6, 2.9))
    for ax, value in zip(axes, ("0.005", "0.05", "0.5", "5")):
        report, plan = run.adapt(
            *run.points(source, labels, target), "--lambda", value, "--save-plan", arrays=("plan",)
        )
        plan = plan[np.ix_(*order)]
        ax.imshow(plan, cmap=SHADES, vmin=0, vmax=np.quantile(plan, 0.995), interpolation="nearest")
        spread = np.exp(-np.sum(plan * np.log(np.maximum(plan, 1e-300))) - np.log(len(plan)))
        ax.set_title(f"lambda {value}\n{spread:.0f} of {len(plan)} targets a point")
        ax.set_xticks([])
        ax.set_yticks([])
        for spine in ax.spines.values():
            spine.set_visible(True)
    axes[0].set_ylabel("source points, by class", fontsize=9)
    for ax in axes:
        ax.set_xlabel("target points, by class", fontsize=9)
    save(figure, folder, "lambdas")


def digits() -> list:
    folder = ROOT / "data/mnist-shift"
    return [
        "--source", folder / "source-images-idx3-ubyte.gz",
        "--source-labels", folder / "source-labels-idx1-ubyte.gz",
        "--target", folder / "target-images-idx3-ubyte.gz",
        "--test", folder / "test-images-idx3-ubyte.gz",
        "--test-labels", folder / "test-labels-idx1-ubyte.gz",
    ]  # fmt: skip


def ridge_path(run: Program, folder: pathlib.Path) -> None:
    ridges = [0.001, 0.01, 0.1, 1, 10, 100]
    reports = [
        run.adapt(*digits(), "--lambda", "0.5", "--ridge", ridge, "--outer-tolerance", "0.01")[0]
        for ridge in ridges
    ]
    euclidean = run.adapt(*digits(), "--lambda", "0.5", "--metric", "identity")[0]
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.0))
    left.semilogx(ridges, [100 * r["accuracy"]["test"] for r in reports], "o-", color=BLUE)
    level = 100 * euclidean["accuracy"]["test"]
    left.axhline(level, color=ORANGE, linestyle="--")
    left.text(0.001, level + 0.5, "Euclidean metric", color=ORANGE, size=9)
    left.set(xlabel="ridge", ylabel="accuracy, %")
    right.loglog(ridges, [r["history"][-1]["condition"] for r in reports], "o-", color=GREEN)
    right.set(xlabel="ridge", ylabel="condition number of A")
    figure.subplots_adjust(wspace=0.3)
    save(figure, folder, "ridge_path")


def convergence(run: Program, folder: pathlib.Path) -> None:
    runs = {
        name: run.adapt(*digits(), "--lambda", "0.1", "--outer-tolerance", "1e-7", "--inner", "tight",
                        "--tolerance", "1e-9", "--acceleration", name)[0]["history"]
        for name in ("none", "anderson")
    }  # fmt: skip
    lowest = min(step["objective"] for history in runs.values() for step in history)
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.0))
    for (name, history), colour, mark in zip(runs.items(), (ORANGE, BLUE), ("s--", "o-")):
        steps = [step["step"] for step in history]
        above = np.array([(step["objective"] - lowest) / abs(lowest) for step in history])
        shown = above > 1e-10
        left.semilogy(np.array(steps)[shown], above[shown], mark, color=colour, label=f"acceleration {name}")
        right.semilogy(steps[1:], [step["distance_change"] for step in history[1:]], mark, color=colour)
    left.set(xlabel="step", ylabel="objective above the lowest")
    left.legend(fontsize=9)
    right.set(xlabel="step", ylabel="change of squared distances")
    figure.subplots_adjust(wspace=0.32)
    save(figure, folder, "convergence")


def geodesic(run: Program, folder: pathlib.Path) -> None:
    moment = np.array([[2.6, 1.5], [1.5, 1.2]])
    values, vectors = np.linalg.eigh(moment)
    figure, axes = plt.subplots(1, 5, figsize=(9.6, 2.2), sharex=True, sharey=True)
    for ax, t in zip(axes, (0, 0.25, 0.5, 0.75, 1)):
        metric = (vectors * values ** (t - 1)) @ vectors.T  # the prior is I
        ax.fill(*ellipse(metric).T, color=BLUE, alpha=0.25 + 0.35 * (t == 0.5), linewidth=0)
        ax.plot(*ellipse(metric).T, color=BLUE)
        ax.set_title({0: "t = 0: inverse of C", 0.5: "t = 1/2", 1: "t = 1: D = I"}.get(t, f"t = {t}"))
        ax.set_aspect("equal")
        ax.axis("off")
    save(figure, folder, "geodesic")


def make(program: str, folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, plt.rc_context(STYLE):
        run = Program(program, pathlib.Path(scratch))
        for picture in (two_metrics, lambdas, ridge_path, convergence, geodesic):
            picture(run, folder)


if __name__ == "__main__":
    import cli_reference

    make(cli_reference.program(), pathlib.Path(sys.argv[1]))
