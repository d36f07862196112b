"""What Python adds to a fit of 500 by 500 points."""

import time

import remblai
from remblai import _core


def best(work, repeat=5):
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def test_the_estimator_adds_less_than_two_percent(digits):
    Xs, Xt = digits["Xs"], digits["Xt"]
    estimator = remblai.GroundMetricTransport(n_threads=1)

    def compiled():
        _core.fit(Xs, Xt, options={"threads": 1})

    compiled()
    for _ in range(3):  # another process may have been in the way
        inner = best(compiled)
        outer = best(lambda: estimator.fit(Xs=Xs, Xt=Xt))
        if outer < 1.02 * inner:
            break
    print(f"compiled {inner:.4f} s, estimator {outer:.4f} s")
    assert outer < 1.02 * inner
