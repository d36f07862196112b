"""The program under mpirun: the same results for any number of ranks, one message for a fault.

    mpirun_test.py REMBLAI MPIRUN FOLDER

Exit code 77: MPI cannot be had here.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

try:
    import numpy as np
except ImportError:
    print("skipped: this Python has no NumPy")
    sys.exit(77)

program, mpirun, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
LAUNCH = [mpirun, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]


def run(ranks, *words, seconds=300, **environment):
    words = [str(word) for word in words]
    return subprocess.run(
        [*LAUNCH, "-n", str(ranks), program, *words],
        cwd=folder, capture_output=True, text=True, timeout=seconds,
        env={**os.environ, **environment},
    )  # fmt: skip


def started(pid, rank):
    """Whether a process is that rank of the program."""
    try:
        words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        return (words[0] == program.encode() and f"OMPI_COMM_WORLD_RANK={rank}".encode() in environment
                and os.readlink(f"/proc/{pid}/cwd") == str(folder.resolve()))  # fmt: skip
    except OSError:
        return False


def require(condition, what, finished=None):
    if condition:
        return
    print("FAILED:", what)
    if finished is not None:
        print(finished.stdout, finished.stderr, sep="\n")
    sys.exit(1)


def same_models(a, b, what):
    a, b = np.load(folder / a), np.load(folder / b)
    require(sorted(a.files) == sorted(b.files), f"{what}: other arrays")
    for name in set(a.files) - {"meta"}:  # which has the time
        require(a[name].shape == b[name].shape, f"{what}: {name} has another shape")
        if name.startswith(("class_", "head_", "opinion_")):
            near = np.allclose(a[name], b[name], rtol=1e-9, atol=1e-12, equal_nan=True)
            require(near, f"{what}: {name} differs")
    for name in ("source_points", "source_labels", "source_weights", "target_points"):
        require(name not in a.files or np.array_equal(a[name], b[name]), f"{what}: {name} differs")
    for name in ("f", "g"):
        finite = np.isfinite(a[name])
        require(np.array_equal(finite, np.isfinite(b[name])), f"{what}: {name} is not finite")
        scale = 1 + np.abs(a[name][finite]).max()
        error = np.abs(a[name][finite] - b[name][finite]).max() / scale
        require(error <= 1e-12, f"{what}: {name} differs by {error}")


def write_data(m, n, d):
    draw = np.random.default_rng(m)
    x, y = draw.standard_normal((m, d)), draw.integers(0, 3, m)
    x[:, 0] += y
    np.save(folder / "x.npy", x)
    np.save(folder / "fortran.npy", np.asfortranarray(x))
    np.savez(folder / "x.npz", x=x)
    np.savetxt(folder / "x.csv", x, delimiter=",", fmt="%.17g")
    lines = (folder / "x.csv").read_text().splitlines()
    names = ",".join(f"name{j}" for j in range(d))
    text = "\r\n".join([names, "# a comment", *lines[: m // 2], "", "  ", *lines[m // 2 :]])
    (folder / "named.csv").write_bytes(text.encode())
    (folder / "quoted.csv").write_text(text.replace(names, names.replace("name0", '"a\nname"')))
    np.save(folder / "y.npy", y)
    np.save(folder / "z.npy", draw.standard_normal((n, d)) * 1.2 + 0.5)
    weights = draw.random(m)
    weights[m // 4 : m // 2] = 0
    np.save(folder / "w.npy", weights)
    bad = x.copy()
    bad[-1, 0] = np.nan
    np.save(folder / "bad.npy", bad)
    images = draw.integers(0, 256, (m, 2, 2)).astype(np.uint8)
    header = bytes([0, 0, 8, 3]) + b"".join(k.to_bytes(4, "big") for k in images.shape)
    (folder / "images.idx").write_bytes(header + images.tobytes())
    np.save(folder / "images.npy", images.reshape(m, 4).astype(float))
    negative = images.reshape(m, 4).astype(float)
    negative[-1, 0] = -1
    np.save(folder / "negative.npy", negative)
    np.save(folder / "pixels.npy", draw.integers(0, 256, (n, 4)).astype(float))


FIT = ["fit", "--method", "paper", "--target", "z.npy", "--threads", "1", "--quiet"]
ADAPT = ["adapt", "--method", "paper", "--source", "x.npy", "--source-labels", "y.npy",
         "--target", "z.npy", "--threads", "1", "--quiet"]  # fmt: skip
CLASSES = ["adapt", *ADAPT[3:]]  # the class-aware method is the default


def main():
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_data(203, 151, 7)
    try:
        first = run(1, "--version")
    except OSError as error:
        print("skipped:", error)
        sys.exit(77)
    if first.returncode != 0:
        print("skipped: mpirun does not work here:", first.stderr)
        sys.exit(77)

    # Every number of ranks, and every marginal rule.
    rules = {"exact": [], "source": ["--relax-source", "0.5"], "target": ["--relax-target", "0.5"],
             "both": ["--relax-source", "1", "--relax-target", "2"],
             "weights": ["--source-weights", "w.npy"]}  # fmt: skip
    for rule, flags in rules.items():
        for ranks in (1, 2, 3, 4):
            done = run(ranks, *FIT, "--source", "x.npy", *flags, "--out", f"{rule}{ranks}.npz")
            require(done.returncode in (0, 3), f"{rule} on {ranks} ranks", done)
            same_models(f"{rule}1.npz", f"{rule}{ranks}.npz", f"{rule} on {ranks} ranks")

    # Maps and labels.
    for ranks in (1, 2, 3, 4):
        done = run(ranks, *ADAPT, "--out", f"out{ranks}", "--neighbours", "3", "--test", "z.npy",
                   "--save-metric", "--save-plan")  # fmt: skip
        require(done.returncode == 0, f"adapt on {ranks} ranks", done)
        for name in ("labels.npy", "test_labels.npy"):
            a, b = (np.load(folder / out / name) for out in ("out1", f"out{ranks}"))
            require(np.array_equal(a, b), f"{name} of {ranks} ranks differs")
        a, b = (np.load(folder / out / "mapped.npy") for out in ("out1", f"out{ranks}"))
        require(a.shape == b.shape and np.abs(a - b).max() < 1e-12, f"mapped.npy of {ranks} ranks")
        a, b = (np.load(folder / out / "plan.npy") for out in ("out1", f"out{ranks}"))
        require(a.shape == b.shape and np.abs(a - b).max() < 1e-15, f"plan.npy of {ranks} ranks")

    # Labels by the mass that the plan sends.
    for ranks in (1, 3):
        done = run(ranks, *ADAPT, "--out", f"mass{ranks}", "--rule", "propagate")
        require(done.returncode == 0, f"propagate on {ranks} ranks", done)
    a, b = (np.load(folder / out / "labels.npy") for out in ("mass1", "mass3"))
    require(np.array_equal(a, b), "labels through the plan differ")

    # A plan that cannot be written loses nothing else.
    words = [program, *ADAPT, "--out", "no_plan", "--save-plan"]
    small = ["sh", "-c", "trap '' XFSZ; ulimit -f 300; exec \"$@\"", "sh", *words]
    done = subprocess.run(
        [*LAUNCH, "--mca", "btl", "self,tcp", "-n", "1", *small, ":", "-n", "2", *words],
        cwd=folder, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    require(done.returncode == 2 and "not written: plan.npy" in done.stderr, "no plan", done)
    require(done.stderr.count("error:") == 1, "one message", done)
    same_models("out1/model.npz", "no_plan/model.npz", "a fit whose plan was not written")

    # Lines of progress come from the first rank, and MPI starts for fit and adapt alone.
    for steps in (2000, 30000):  # a run of less than two seconds has none
        done = run(2, *FIT[:-1], "--source", "x.npy", "--out", "told.npz", "--overwrite",
                   "--steps", steps, "--outer-tolerance", "0", "--inner", "tight")  # fmt: skip
        told = [line for line in done.stderr.splitlines() if line.startswith("step ")]
        if told:
            break
    require(done.returncode == 3 and len(told) > 0, "lines of progress", done)
    done = run(2, "info", "x.npy")
    require(done.returncode == 2 and "works in one process" in done.stderr, "info on 2 ranks", done)
    script = '"$0" --version && "$0" "$@" && "$0" --version'
    words = ["sh", "-c", script, program, *FIT, "--source", "x.npy", "--out", "script.npz"]
    done = subprocess.run([*LAUNCH, "-n", "2", *words], cwd=folder, capture_output=True, text=True,
                          timeout=60)  # fmt: skip
    require(done.returncode == 0 and done.stdout.count("remblai ") == 4, "a script", done)

    # What is too long for one message goes in several.
    done = run(3, *CLASSES, "--out", "short", REMBLAI_MPI_MOST="100")
    require(done.returncode == 0, "short messages", done)

    # The class-aware method, with exact kernel systems' worth of points and with landmarks.
    for name, flags in {"all": [], "some": ["--landmarks", "50"]}.items():
        for ranks in (1, 2, 3, 4):
            words = [*CLASSES, *flags, "--out", f"{name}{ranks}"]
            done = run(ranks, *words)
            require(done.returncode == 0, f"{words} on {ranks} ranks", done)
            same_models(f"{name}1/model.npz", f"{name}{ranks}/model.npz", f"{name}, {ranks} ranks")
            a, b = (np.load(folder / f"{name}{k}" / "labels.npy") for k in (1, ranks))
            require(np.array_equal(a, b), f"class-aware labels of {ranks} ranks differ")

    same_models("all1/model.npz", "short/model.npz", "short messages")

    # Every format gives each rank its own rows.
    for name in ("fortran.npy", "x.npz", "x.csv", "named.csv", "quoted.csv"):
        done = run(3, *FIT, "--source", name, "--out", "format.npz", "--overwrite")
        require(done.returncode == 0, name, done)
        same_models("exact1.npz", "format.npz", name)
    pixels = ["fit", "--method", "paper", "--target", "pixels.npy", "--quiet", "--threads", "1"]
    for name in ("images.npy", "images.idx"):
        done = run(3, *pixels, "--source", name, "--out", f"{name}.npz")
        require(done.returncode == 0, name, done)
    same_models("images.npy.npz", "images.idx.npz", "images.idx")

    done = run(3, *FIT, "--source", "x.npy", "--out", "dry.npz", "--dry-run")
    require(done.returncode == 0 and done.stdout.count("the whole fit") == 1, "a dry run", done)

    # A fault on one rank is one message, and the end of all.
    for words, part in (
        ([*FIT, "--source", "bad.npy"], "row 203, column 1"),
        ([*FIT, "--source", "nothing.npy"], "nothing.npy"),
        ([*FIT, "--source", "x.npy", "--lambda", "0"], "--lambda"),
        ([*pixels, "--source", "negative.npy", "--preprocess", "hellinger"], "row 203, column 1"),
    ):
        done = run(3, *words, "--out", "fault.npz", seconds=60)
        require(done.returncode == 2, f"exit code of {words}", done)
        require(done.stderr.count("error:") == 1 and part in done.stderr, f"message of {words}", done)
        require(not (folder / "fault.npz").exists(), f"{words} left a file")

    done = run(3, *ADAPT, "--neighbours", "500", "--out", "many", seconds=60)
    require(done.returncode == 2 and "than the 203 labelled" in done.stderr, "neighbours", done)
    require(not (folder / "many").exists(), "too many neighbours were seen after the fit", done)

    # Ranks with different options end instead of waiting for each other.
    words = [program, *FIT, "--source", "x.npy", "--out", "fault.npz", "--steps"]
    done = subprocess.run([*LAUNCH, "-n", "1", *words, "2", ":", "-n", "1", *words, "3"],
                          cwd=folder, capture_output=True, text=True, timeout=60)  # fmt: skip
    require(done.returncode == 2 and "not given the same" in done.stderr, "different options", done)

    # What rank 0 finds after the fit is the end of all: none is left to wait for.
    def with_patience(seconds, *job):
        return subprocess.run(
            [*LAUNCH, *job], cwd=folder, capture_output=True, text=True, timeout=60,
            env={**os.environ, "REMBLAI_MPI_PATIENCE": str(seconds)},
        )  # fmt: skip

    words = [program, *FIT[:-1], "--source", "x.npy", "--out", "full.npz", "--json", "--overwrite"]
    full = ["sh", "-c", 'exec "$@" > /dev/full', "sh", *words]
    done = with_patience(600, "-n", "1", *full, ":", "-n", "2", *words)
    require(done.returncode == 2 and done.stderr.count("error:") == 1, "a full disk", done)
    (folder / "full.html").symlink_to("/dev/full")
    page = [program, *ADAPT, "--out", "page", "--report", "full.html"]
    done = with_patience(600, "-n", "3", *page)
    require(done.returncode == 2 and done.stderr.count("error:") == 1, "a page not written", done)
    require("the results in page are kept" in done.stderr, "what is kept", done)
    unread = ["sh", "-c", '"$@" | true', "sh", *words]
    done = with_patience(600, "-n", "1", *unread, ":", "-n", "2", *words)
    require(done.returncode == 2 and "error:" not in done.stderr, "a reader that went", done)

    # A rank that fails while the others go on ends them.
    wrong = [program, "fit", "--nonsense"]
    done = with_patience(0.5, "-n", "2", *words, ":", "-n", "1", *wrong)
    require(done.returncode == 2 and done.stderr.count("error:") == 1, "a rank alone", done)
    require("--nonsense" in done.stderr, "the message of a rank alone", done)

    # One rank that is asked to end stops all, and another number of ranks goes on from there.
    words = [*FIT, "--source", "x.npy", "--steps", "1000", "--outer-tolerance", "0"]
    stop = [*words, "--out", "stop.npz", "--checkpoint", "stop_state.npz"]
    job = subprocess.Popen([*LAUNCH, "-n", "3", program, *stop], cwd=folder, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    end = time.monotonic() + 60
    while not (folder / "stop_state.npz").exists() and time.monotonic() < end:
        time.sleep(0.005)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if started(pid, 1):
            os.kill(int(pid), signal.SIGTERM)
    stdout, stderr = job.communicate(timeout=60)
    done = subprocess.CompletedProcess(stop, job.returncode, stdout, stderr)
    require(done.returncode == 130, "SIGTERM to one rank", done)
    require("stopped by a request to terminate" in stderr, "the message after SIGTERM", done)
    done = run(2, *stop, "--resume")
    require(done.returncode == 3, "a run that goes on", done)
    done = run(1, *words, "--out", "never_stopped.npz")
    require(done.returncode == 3, "a run that is not stopped", done)
    same_models("stop.npz", "never_stopped.npz", "a run that goes on with other ranks")

    # Fewer points than ranks.
    write_data(3, 20, 2)
    done = run(4, *FIT, "--source", "x.npy", "--out", "dry.npz", "--dry-run")
    require(done.returncode == 0 and done.stdout.count("the whole fit") == 1, "a dry run", done)
    for ranks in (1, 4):
        done = run(ranks, *ADAPT, "--out", f"few{ranks}")
        require(done.returncode in (0, 3), f"3 points on {ranks} ranks", done)
    same_models("few1/model.npz", "few4/model.npz", "3 points on 4 ranks")
    print("the same results on 1, 2, 3 and 4 ranks")


main()
