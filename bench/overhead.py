"""What Python adds to a fit of 500 by 500 digits: the estimator beside the same fit in a C++ program.

    make bench && make python
    build/python/test-env/bin/python bench/overhead.py

Both take turns, one thread each; the fastest of all turns counts.
"""

import json
import pathlib
import subprocess
import time

import remblai

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "build/release/remblai_bench"
TURNS = 6


def cpp():
    """Fastest fit of the C++ program, in seconds."""
    command = [PROGRAM, "--benchmark_filter=fit_digits", "--benchmark_format=json"]
    command += ["--benchmark_min_time=0.01", "--benchmark_repetitions=5"]
    done = subprocess.run(command, capture_output=True, check=True)
    runs = json.loads(done.stdout)["benchmarks"]
    return min(run["real_time"] for run in runs if run["run_type"] == "iteration") / 1000


def python(fit):
    times = []
    for _ in range(5):
        start = time.perf_counter()
        fit()
        times.append(time.perf_counter() - start)
    return min(times)


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


if __name__ == "__main__":
    main()
