"""What Python adds to a fit of 500 by 500 digits: the estimator beside the same fit in a C++ program.

    make bench && make python
    build/python/test-env/bin/python bench/overhead.py

Both take turns, one thread each; the fastest of all turns counts. Two processes differ by what the
allocator does with memory, up to a tenth here, so the last lines say what share of an estimator's fit is
spent outside the compiled one: checks, copies, the history.
"""

import json
import pathlib
import subprocess
import time

import remblai
from remblai import _core

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "build/release/remblai_bench"
TURNS = 6


def cpp():
    """Fastest fit of the C++ program, in seconds."""
    command = [PROGRAM, "--benchmark_filter=fit_digits", "--benchmark_format=json"]
    command += ["--benchmark_min_time=0.01", "--benchmark_repetitions=5"]
    done = subprocess.run(command, capture_output=True, check=True)
    runs = json.loads(done.stdout)["benchmarks"]
    return min(run["real_time"] for run in runs if run["run_type"] == "iteration") / 1000


def python(fit, repeat=5):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        fit()
        times.append(time.perf_counter() - start)
    return min(times)


def outside(fit):
    """The smallest share of a fit that is spent in Python, of five."""
    compiled, inside = _core.fit, []

    def timed(*arguments):
        start = time.perf_counter()
        result = compiled(*arguments)
        inside.append(time.perf_counter() - start)
        return result

    _core.fit = timed
    shares = []
    try:
        for _ in range(5):
            whole = python(fit, 1)
            shares.append(1 - inside.pop() / whole)
    finally:
        _core.fit = compiled
    return min(shares)


def main():
    digits = remblai.mnist_sample()
    Xs, Xt = digits["Xs"], digits["Xt"]
    transport = remblai.GroundMetricTransport(n_threads=1)
    ways = {
        "C++": cpp,
        "remblai.fit": lambda: python(lambda: remblai.fit(Xs=Xs, Xt=Xt, threads=1)),
        "GroundMetricTransport": lambda: python(lambda: transport.fit(Xs=Xs, Xt=Xt)),
    }
    best = {way: float("inf") for way in ways}
    for _ in range(TURNS):
        for way, measure in ways.items():
            best[way] = min(best[way], measure())
    for way, seconds in best.items():
        print(f"{way:24} {1000 * seconds:8.2f} ms   {100 * (seconds / best['C++'] - 1):+6.2f} %")
    classifier = remblai.GroundMetricClassifier(n_threads=1)
    for name, fit in (
        ("GroundMetricTransport", lambda: transport.fit(Xs=Xs, Xt=Xt)),
        ("GroundMetricClassifier", lambda: classifier.fit(Xs, digits["ys"], Xt=Xt)),
    ):
        print(f"{name:24} {100 * outside(fit):8.2f} % outside the compiled fit")


if __name__ == "__main__":
    main()
