"""What comes in: every layout and type that makes sense, and clear words for the rest."""

import pickle
import subprocess
import sys

import numpy as np
import pandas
import pytest
import scipy.sparse
from conftest import shifted
from sklearn.exceptions import ConvergenceWarning

import remblai
from remblai import GroundMetricTransport

Xs, ys, Xt, _ = shifted()
EXPECTED = GroundMetricTransport().fit(Xs=Xs, Xt=Xt).transform(Xs=Xs)


class Tensor:
    """Like a tensor on the CPU: an array by way of __array__."""

    def __init__(self, values):
        self.values = values
        self.shape = values.shape

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)

    def __len__(self):
        return len(self.values)


def padded(values):
    wide = np.zeros((2 * len(values), values.shape[1] + 2))
    wide[::2, 1:-1] = values
    return wide[::2, 1:-1]


def read_only(values):
    values = values.copy()
    values.flags.writeable = False
    return values


@pytest.mark.parametrize(
    "turn",
    [
        np.asfortranarray,
        padded,
        read_only,
        Tensor,
        pandas.DataFrame,
        np.ndarray.tolist,
        lambda X: X.astype(object),
        lambda X: X[::-1][::-1],
    ],
)
def test_the_same_points_in_another_form(turn):
    fitted = GroundMetricTransport().fit(Xs=turn(Xs), Xt=turn(Xt))
    np.testing.assert_array_equal(fitted.transform(Xs=turn(Xs)), EXPECTED)


def test_float32_stays():
    fitted = GroundMetricTransport().fit(Xs=Xs.astype(np.float32), Xt=Xt.astype(np.float32))
    for X in (fitted.xs_, Xs.astype(np.float32) + 1):
        assert fitted.transform(Xs=X).dtype == np.float32
    assert fitted.inverse_transform(Xt=fitted.xt_).dtype == np.float32
    np.testing.assert_allclose(fitted.transform(Xs=fitted.xs_), EXPECTED, rtol=1e-2, atol=1e-2)


def test_whole_numbers_are_points():
    fitted = GroundMetricTransport().fit(Xs=(10 * Xs).astype(int), Xt=(10 * Xt).astype(np.int8))
    assert fitted.transform(Xs=(10 * Xs).astype(int)).dtype == np.float64


class OnGpu:
    """Like an array on a GPU of another kind: NumPy cannot read it, and its library has a way of its
    own."""

    def __init__(self, values):
        self._values = values
        self.shape, self.dtype = values.shape, values.dtype

    def __dlpack_device__(self):
        return 10, 0

    def __array__(self, dtype=None, copy=None):
        raise TypeError("it is on the GPU")


class LikeTorch(OnGpu):
    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self._values


class LikeCupy(OnGpu):
    def get(self):
        return self._values


class LikeNumba:
    __cuda_array_interface__ = {}

    def __init__(self, values):
        self._values = values
        self.shape, self.dtype = values.shape, values.dtype

    def copy_to_host(self):
        return self._values


class LikeJax(OnGpu):
    def __array__(self, dtype=None, copy=None):
        return np.array(self._values, dtype=dtype)


@pytest.mark.parametrize("kind", [LikeTorch, LikeCupy, LikeNumba, LikeJax])
def test_arrays_on_a_gpu_are_copied(kind):
    fitted = GroundMetricTransport().fit(Xs=kind(Xs), ys=kind(ys), Xt=kind(Xt))
    np.testing.assert_array_equal(fitted.transform(Xs=kind(Xs)), EXPECTED)
    weights = kind(np.ones(len(Xs)))
    model = remblai.fit(Xs=kind(Xs), Xt=kind(Xt), source_weights=weights)
    np.testing.assert_array_equal(model.f, remblai.fit(Xs=Xs, Xt=Xt).f)
    cost = np.add.outer(np.arange(4.0), np.arange(5.0)) ** 2
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    plan = remblai.transport(kind(cost), kind(weights), lambda_=1.0).plan
    np.testing.assert_array_equal(plan, remblai.transport(cost, weights, lambda_=1.0).plan)
    classifier = remblai.GroundMetricClassifier().fit(kind(Xs), kind(ys), Xt=kind(Xt))
    labels = classifier.predict(kind(Xt))
    plain = remblai.GroundMetricClassifier().fit(Xs, ys, Xt=Xt)
    np.testing.assert_array_equal(labels, plain.predict(Xt))
    assert classifier.score(kind(Xs), kind(ys)) == plain.score(Xs, ys)
    assert remblai.evaluate(kind(labels), kind(labels)).accuracy == 1
    mean = remblai.spd.karcher_mean(kind(np.stack([np.eye(2), 4 * np.eye(2)])))
    np.testing.assert_allclose(mean, 2 * np.eye(2))


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    fitted = GroundMetricTransport().fit(Xs=torch.from_numpy(Xs), Xt=torch.from_numpy(Xt))
    np.testing.assert_array_equal(fitted.transform(Xs=torch.from_numpy(Xs)), EXPECTED)


def with_entry(value):
    X = Xs.copy()
    X[3, 1] = value
    return X


@pytest.mark.parametrize(
    "values, error, words",
    [
        (scipy.sparse.csr_matrix(Xs), TypeError, "toarray"),
        (with_entry(np.nan), ValueError, "Xs contains NaN"),
        (with_entry(np.inf), ValueError, "infinity"),
        (np.array([["a", "b"]]), ValueError, "^Xs: text; convert"),
        (Xs.astype(str), ValueError, "^Xs: text; convert"),
        (Xs.astype(str).tolist(), ValueError, "^Xs: text"),
        (Xs.astype(str).astype(object), ValueError, "^Xs: text"),
        (pandas.DataFrame(Xs).astype(str), ValueError, "^Xs: text"),
        (Xs.astype("datetime64[s]"), ValueError, "^Xs: dates"),
        (Xs.astype("timedelta64[s]"), ValueError, "^Xs: dates"),
        (pandas.DataFrame({"a": pandas.date_range("2024", periods=60)}), ValueError, "^Xs: dates"),
        (np.ma.masked_greater(Xs, 0), ValueError, "^Xs: .* are masked; fill them in"),
        (Xs + 1j, ValueError, "^Xs: [Cc]omplex"),
        (Xs[:, 0], ValueError, "^Xs: Expected 2D"),
        (Xs[None], ValueError, "^Xs: .* dim"),
        (Xs[:0], ValueError, "^Xs: .* 0 sample"),
        (Xs[:, :0], ValueError, "^Xs: .* 0 feature"),
        (None, ValueError, "Xs"),
        (Xs[:, :2], ValueError, "features"),
    ],
)
def test_points_that_cannot_be(values, error, words):
    with pytest.raises(error, match=words):
        GroundMetricTransport().fit(Xs=values, Xt=Xt)
    with pytest.raises(error, match=words):
        remblai.fit(Xs=values, Xt=Xt)


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"reg_e": -1}, "^reg_e: -1"),
        ({"reg_e": "much"}, "not a number"),
        ({"t": 1.0}, "^t: 1"),
        ({"max_iter": 0}, "^max_iter: 0"),
        ({"tol": -1.0}, "^tol: -1"),
        ({"inner_tol": 0.0}, "^inner_tol: 0"),
        ({"ridge": np.nan}, "^ridge"),
        ({"n_threads": 1.5}, "^n_threads: 1.5 is not a whole number"),
        ({"prior": "unity"}, "identity, w, w-inverse"),
        ({"prior": -np.eye(3)}, "definite|eigenvalue"),
        ({"prior": np.eye(2)}, "prior"),
        ({"prior": 2.0}, "^prior: 2.0 is not one of auto, .*w-inverse, spread, nor a matrix"),
        ({"method": "papers"}, "^method: 'papers' is not one of paper, class-aware"),
        ({"metric": "cosine"}, "learned, identity, w, w-inverse, nor"),
        ({"metric": "given"}, "^metric: 'given' is not"),
        ({"max_iter": 1.5}, "not a whole number"),
        ({"max_iter": 10**10}, "too large"),
        ({"reg_e": "much", "norm": "max"}, "not a number"),
        ({"norm": "loglog"}, "norm"),
        ({"solver": "magic"}, "sinkhorn"),
        ({"out_of_sample_map": "none"}, "ferradans"),
    ],
)
def test_parameters_that_cannot_be(parameters, words):
    with pytest.raises(ValueError, match=words):
        GroundMetricTransport(**parameters).fit(Xs=Xs, Xt=Xt)


def test_a_fault_has_the_names_that_the_caller_typed():
    with pytest.raises(ValueError, match="^ridge: -1 is out of range; it must be"):
        remblai.fit(Xs=Xs, Xt=Xt, ridge=-1)
    with pytest.raises(ValueError, match="^lambda_: -1 is out of range"):
        remblai.fit(Xs=Xs, Xt=Xt, lambda_=-1)
    with pytest.raises(ValueError, match="^outer_tolerance: -1") as raised:
        remblai.fit(Xs=Xs, Xt=Xt, outer_tolerance=-1)
    assert (raised.value.field, raised.value.value) == ("outer-tolerance", "-1")
    again = pickle.loads(pickle.dumps(raised.value))
    assert str(again) == str(raised.value) and again.field == raised.value.field
    for parameters, words in (
        ({"reg_e": -1}, "^reg_e: -1 is out of range"),
        ({"tol": -1}, "^tol: -1 is out of range"),
        ({"ridge": -1}, "^ridge: -1 is out of range"),
    ):
        with pytest.raises(ValueError, match=words):
            GroundMetricTransport(**parameters).fit(Xs=Xs, Xt=Xt)
    with pytest.warns(ConvergenceWarning, match="give more 'steps'"):
        model = remblai.fit(Xs=Xs, Xt=Xt, steps=1)
    assert "give more 'steps'" in model.reason and "give more 'steps'" in model.report()
    with pytest.warns(ConvergenceWarning, match="give more 'max_iter'"):
        GroundMetricTransport(max_iter=1).fit(Xs=Xs, Xt=Xt)


def test_text_of_the_caller_is_not_changed(tmp_path):
    for text in ("$ridge", "--ridge", "'lambda_'", "lambda_: 1"):
        with pytest.raises(ValueError) as raised:
            GroundMetricTransport(prior=text).fit(Xs=Xs, Xt=Xt)
        assert str(raised.value).startswith(f"prior: {text!r} is not one of")
    np.savez(tmp_path / "$ridge --ridge.npz", a=np.eye(2))
    with pytest.raises(ValueError) as raised:
        remblai.load(tmp_path / "$ridge --ridge.npz")
    assert "/$ridge --ridge.npz'" in str(raised.value)


def test_names_of_columns_command_no_terminal():
    frame = pandas.DataFrame(Xs)
    frame.columns = [f"x{k}" for k in range(frame.shape[1])]
    other = frame.rename(columns={"x0": "\x1b[2J\u202ered"})
    with pytest.raises(ValueError) as refused:
        GroundMetricTransport().fit(Xs=frame, Xt=other)
    assert "\x1b" not in str(refused.value) and "\u202e" not in str(refused.value)
    assert "\\x1b[2J\\u202ered" in str(refused.value)


def test_a_wrong_keyword_names_the_nearest():
    with pytest.raises(TypeError, match="did you mean 'reg_e'"):
        GroundMetricTransport(rege=1)
    with pytest.raises(TypeError, match="did you mean 'n_neighbors'"):
        remblai.GroundMetricClassifier(n_neighbours=1)
    with pytest.raises(TypeError, match="did you mean 'lambda_'"):
        remblai.fit(Xs=Xs, Xt=Xt, **{"lambda": 1})
    with pytest.raises(TypeError, match="did you mean 'ridge'"):
        remblai.fit(Xs=Xs, Xt=Xt, rigde=1)
    with pytest.raises(TypeError, match="did you mean 'lambda_'"):
        remblai.fit(Xs=Xs, Xt=Xt, reg_e=1)
    with pytest.raises(TypeError, match="did you mean 'known_labels'"):
        remblai.fit(Xs=Xs, Xt=Xt, yt_known=ys)
    with pytest.raises(TypeError, match="did you mean 'random_state'"):
        remblai.GroundMetricClassifier(seed=1)
    with pytest.raises(TypeError, match="did you mean 'seed'"):
        remblai.fit(Xs=Xs, Xt=Xt, random_state=1)
    with pytest.raises(TypeError, match="log_ is always there"):
        GroundMetricTransport(log=True)
    with pytest.raises(TypeError, match="did you mean 'tolerance'"):
        remblai.transport(np.eye(2), lambda_=1, tolerence=1)
    for call in (GroundMetricTransport().fit, GroundMetricTransport().fit_transform, remblai.fit):
        with pytest.raises(TypeError, match="by name: Xs="):
            call(Xs, Xt)
    with pytest.raises(TypeError, match="start: ndarray"):
        remblai.fit(Xs=Xs, Xt=Xt, start=Xs)


def test_whole_numbers_may_be_floats():
    assert GroundMetricTransport(max_iter=50.0).fit(Xs=Xs, Xt=Xt).status_ == "converged"


def test_columns_keep_their_order():
    source, target = (pandas.DataFrame(X, columns=list("abc")) for X in (Xs, Xt))
    fitted = GroundMetricTransport().fit(Xs=source, Xt=target)
    assert list(fitted.feature_names_in_) == list("abc")
    for fit in (
        lambda: GroundMetricTransport().fit(Xs=source, Xt=target[list("cba")]),
        lambda: fitted.transform(Xs=source[list("cba")]),
        lambda: remblai.GroundMetricClassifier().fit(source, ys, Xt=target[list("cba")]),
    ):
        with pytest.raises(ValueError, match="^X[st]: .*feature names"):
            fit()


def test_functions_and_models_take_no_other_columns():
    source, target = (pandas.DataFrame(X, columns=list("abc")) for X in (Xs, Xt))
    other = target.rename(columns={"b": "\x1b[2Jred"})
    paths = {"Xs": source, "lambdas": [1.0]}
    model = remblai.fit(Xs=source, ys=ys, Xt=target)
    for wrong, there in ((target[list("cba")], "'c'"), (other, "'.x1b.2Jred'")):
        for call, name in (
            (lambda wrong=wrong: remblai.fit(Xs=source, Xt=wrong), "Xt"),
            (lambda wrong=wrong: remblai.fit_path(Xt=wrong, **paths), "Xt"),
            (lambda wrong=wrong: remblai.fit_path(Xt=target, X_test=wrong, **paths), "X_test"),
            (lambda wrong=wrong: model.predict(wrong), "points"),
            (lambda wrong=wrong: model.predict_proba(wrong), "points"),
            (lambda wrong=wrong: model.propagate(wrong), "points"),
            (lambda wrong=wrong: model.map(wrong), "points"),
            (lambda wrong=wrong: model.map_back(wrong), "points"),
            (lambda wrong=wrong: model.distances(source, wrong), "b"),
        ):
            with pytest.raises(ValueError, match=f"^{name}: column . is {there}, that of") as said:
                call()
            assert "\x1b" not in str(said.value)
    # Numbers are no names, and points without names go by place.
    assert remblai.fit(Xs=pandas.DataFrame(Xs), Xt=target).features == []
    np.testing.assert_array_equal(model.map(pandas.DataFrame(Xs)), model.map(source))
    np.testing.assert_array_equal(remblai.fit(Xs=source, Xt=Xt).f, model.f)


@pytest.mark.parametrize(
    "values",
    [
        pandas.DataFrame({"a": pandas.period_range("2024", periods=60, freq="D")}),
        pandas.DataFrame({"a": [1, pandas.NA]}),
        {"a": 1.0},
        (row for row in Xs),
        np.zeros(60, dtype=[("a", float), ("b", float)]),
        np.matrix(Xs),
        np.where(np.eye(3), 1j, 0).astype(object),
        [[1.0, 2.0], [3.0]],
    ],
)
def test_what_is_no_array_of_numbers_is_refused_by_name(values):
    for call, name in (
        (lambda: remblai.fit(Xs=values, Xt=Xt), "Xs"),
        (lambda: remblai.fit(Xs=Xs, Xt=values), "Xt"),
        (lambda: remblai.fit(Xs=Xs, Xt=Xt, source_weights=values), "source_weights"),
        (lambda: remblai.GroundMetricClassifier().fit(values, ys, Xt=Xt), "X"),
        (lambda: remblai.emd([], [], values), "M"),
    ):
        with pytest.raises((TypeError, ValueError), match=f"^{name}: "):
            call()


def test_weights_and_sizes_that_cannot_be():
    weights, cost = np.full(4, 0.25), np.eye(4)
    both = np.stack([weights, weights], axis=1)
    for solve in (remblai.emd, lambda a, b, M: remblai.unbalanced(a, b, M, 0.1, 1.0)):
        np.testing.assert_array_equal(
            solve(weights, weights[:, None], cost), solve(weights, weights, cost)
        )
        with pytest.raises(ValueError, match=r"^b: an array of shape \(4, 2\)"):
            solve(weights, both, cost)
    assert remblai.sinkhorn(weights, weights, cost, 0.1, numItermax=10**12).shape == (4, 4)
    fitted = GroundMetricTransport().fit(Xs=Xs, Xt=Xt)
    for size in (2.5, "3"):
        with pytest.raises(ValueError, match="^batch_size: .* is not a whole number"):
            fitted.transform(Xs=Xs + 1, batch_size=size)


def test_warnings_of_columns_have_the_name_of_the_argument():
    frame = pandas.DataFrame(Xs, columns=list("abc"))
    fitted = GroundMetricTransport().fit(Xs=frame, Xt=frame + 1)
    plain = GroundMetricTransport().fit(Xs=Xs, Xt=Xt)
    for call, words in (
        (lambda: fitted.transform(Xs=Xs), "^Xs does not have valid feature names"),
        (lambda: fitted.inverse_transform(Xt=Xt), "^Xt does not have valid feature names"),
        (lambda: plain.transform(Xs=frame), "^Xs has feature names, but GroundMetricTransport was"),
        (lambda: GroundMetricTransport().fit(Xs=Xs, Xt=frame), "^Xt has feature names"),
        (
            lambda: remblai.GroundMetricClassifier().fit(frame, ys, Xt=Xt),
            "^Xt does not have valid feature names, but GroundMetricClassifier was fitted with",
        ),
    ):
        with pytest.warns(UserWarning, match=words) as told:
            call()
        assert len(told) == 1 and told[0].filename == __file__


def test_communicators_that_are_none():
    for call in (
        lambda: remblai.fit(Xs=Xs, Xt=Xt, comm="x"),
        lambda: GroundMetricTransport().fit(Xs=Xs, Xt=Xt, comm="x"),
        lambda: remblai.GroundMetricClassifier().fit(Xs, ys, Xt=Xt, comm="x"),
    ):
        with pytest.raises(TypeError, match="^comm: str; give a communicator of mpi4py"):
            call()


@pytest.mark.parametrize("seed", [2**31 - 1, 2**31, 2**32 - 1, np.uint32(2**32 - 1)])
def test_any_seed_of_scikit_learn(seed):
    fitted = GroundMetricTransport(random_state=seed).fit(Xs=Xs, Xt=Xt)
    assert fitted.model_.options["seed"] == int(seed) % 2**31
    with pytest.raises(ValueError, match="^random_state: 4294967296 is too large"):
        GroundMetricTransport(random_state=2**32).fit(Xs=Xs, Xt=Xt)


def test_text_of_any_kind_is_no_number():
    """NumPy has a second kind of text, which it turns into numbers as well."""
    fitted = GroundMetricTransport().fit(Xs=Xs, ys=ys, Xt=Xt)
    pairs = np.stack([Xs[:3], Xt[:3]], axis=1)
    kinds = [str, object]
    if hasattr(getattr(np, "dtypes", None), "StringDType"):
        kinds.append(np.dtypes.StringDType())
    for kind in kinds:
        matrices = np.stack([np.eye(2)] * 2).astype(str).astype(kind)
        for call, name in (
            (lambda: remblai.fit(Xs=Xs.astype(str).astype(kind), Xt=Xt), "Xs"),
            (lambda: fitted.pair_distance(pairs.astype(str).astype(kind)), "pairs"),
            (lambda: remblai.spd.karcher_mean(matrices), "matrices"),
            (
                lambda: remblai.fit(
                    Xs=Xs, ys=ys, Xt=Xt, method="class-aware",
                    target_shares=np.array([".2", ".3", ".5"]).astype(kind),
                ),
                "target_shares",
            ),
        ):  # fmt: skip
            with pytest.raises(ValueError, match=f"^{name}: text"):
                call()


@pytest.mark.parametrize("wrong", [np.inf, np.nan])
def test_a_classifier_names_the_points_that_are_wrong(wrong):
    bad = Xt.copy()
    bad[0, 0] = wrong
    with pytest.raises(ValueError, match="Xt contains"):
        remblai.GroundMetricClassifier().fit(Xs, ys, Xt=bad)


def test_points_of_a_model_method():
    model = remblai.fit(Xs=Xs, ys=ys, Xt=Xt)
    np.testing.assert_array_equal(model.predict(Xt.tolist()), model.predict(Xt))
    with pytest.raises(ValueError, match="2D"):
        model.predict(Xt[0])
    with pytest.raises(ValueError, match="points contains NaN"):
        model.map(with_entry(np.nan))


def test_labels_that_cannot_be():
    with pytest.raises(ValueError, match="ys"):
        GroundMetricTransport().fit(Xs=Xs, ys=ys[:-1], Xt=Xt)
    with pytest.raises(ValueError, match="ys: 59 labels for 60"):
        remblai.fit(Xs=Xs, ys=ys[:-1], Xt=Xt)
    with pytest.raises(ValueError, match="GroundMetricClassifier"):
        remblai.fit(Xs=Xs, ys=ys.astype(str), Xt=Xt)
    with pytest.raises(ValueError, match="whole numbers"):
        remblai.fit(Xs=Xs, ys=ys + 0.5, Xt=Xt)
    with pytest.raises(ValueError, match="ys: NaN"):
        remblai.fit(Xs=Xs, ys=np.where(ys == 0, np.nan, ys), Xt=Xt)
    for beyond in (np.full(len(Xs), 2**64 - 1, np.uint64), np.full(len(Xs), 1e300)):
        with pytest.raises(ValueError, match="ys: labels beyond"):
            remblai.fit(Xs=Xs, ys=beyond, Xt=Xt)
    with pytest.raises(ValueError, match="source_weights"):
        remblai.fit(Xs=Xs, Xt=Xt, source_weights=np.ones(3))
    with pytest.raises(ValueError, match="weight"):
        remblai.fit(Xs=Xs, Xt=Xt, source_weights=-np.ones(len(Xs)))


def test_files_that_are_no_models(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing.npz"):
        remblai.load(tmp_path / "nothing.npz")
    np.savez(tmp_path / "other.npz", a=np.eye(2))
    with pytest.raises(ValueError, match="model"):
        remblai.load(tmp_path / "other.npz")


def test_messages_name_the_arguments_of_the_caller():
    model = remblai.fit(Xs=Xs, Xt=Xt)
    with pytest.raises(ValueError, match="'ys'"):
        model.predict(Xt)
    huge = ys + 2**60
    with pytest.raises(ValueError, match="^ys: label 1"):
        remblai.fit(Xs=Xs, ys=huge, Xt=Xt)
    with pytest.raises(ValueError, match="^y: label 1"):
        remblai.GroundMetricClassifier().fit(Xs, huge, Xt=Xt)
    with pytest.raises(ValueError, match="^source_weights: all are zero"):
        remblai.fit(Xs=Xs, Xt=Xt, source_weights=np.zeros(len(Xs)))
    with pytest.raises(ValueError, match="^q: all are zero"):
        remblai.transport(np.eye(2), [1, 1], [0, 0], lambda_=1)
    for text in (Xs.astype(str), np.ma.masked_greater(Xs, 0), Xs.astype("datetime64[s]")):
        with pytest.raises(ValueError, match="^X: "):
            remblai.GroundMetricClassifier().fit(text, ys, Xt=Xt)
        with pytest.raises(ValueError, match="^Xt: "):
            remblai.GroundMetricClassifier().fit(Xs, ys, Xt=text)
        with pytest.raises(ValueError, match="^points: "):
            model.map(text)
    np.testing.assert_array_equal(  # nothing is masked
        remblai.fit(Xs=np.ma.masked_array(Xs), Xt=Xt).f, model.f
    )


def test_a_model_that_outlives_the_interpreter_is_not_reported():
    code = (
        "import gc, numpy as np, remblai\n"
        "class Own: pass\n"
        "own = Own(); own.me = own\n"
        "own.model = remblai.fit(Xs=np.eye(4), Xt=2 * np.eye(4))\n"
        "gc.freeze()\n"  # the cycle is never collected
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "leak" not in done.stderr, done.stderr
