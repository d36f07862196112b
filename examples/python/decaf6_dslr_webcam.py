# %% [markdown]
# # Office-Caltech, DeCAF6: DSLR to Webcam
# Needs the DeCAF6 features of the two domains: set REMBLAI_DATA to the folder that holds
# `office-caltech/decaf6/dslr.mat` and `webcam.mat`. 4096 features and a few hundred points: the work
# happens in the span of the points.

# %%
import os
import pathlib

import numpy as np
from scipy.io import loadmat
from sklearn.neighbors import KNeighborsClassifier

from remblai import GroundMetricClassifier

folder = pathlib.Path(os.environ.get("REMBLAI_DATA", ".")) / "office-caltech/decaf6"


def domain(name):
    path = folder / f"{name}.mat"
    if not path.exists():
        raise SystemExit(f"{path} is missing: set REMBLAI_DATA to the folder of office-caltech/")
    data = loadmat(path)
    return data["feas"].astype(float), data["labels"].ravel().astype(int)


# %% [markdown]
# As in the paper: 8 points of each class are the source; one half of the target is fitted, without its
# labels, and the other is scored.

# %%
random = np.random.default_rng(0)
X, y = domain("dslr")
rows = np.concatenate([random.permutation(np.flatnonzero(y == c))[:8] for c in np.unique(y)])
Xs, ys = X[rows], y[rows]
Z, z = domain("webcam")
order = random.permutation(len(Z))
Xt, X_test, y_test = Z[order[::2]], Z[order[1::2]], z[order[1::2]]

# %%
raw = KNeighborsClassifier(1).fit(Xs, ys).score(X_test, y_test)
print(f"accuracy of the nearest source point: {raw:.3f}")
for metric in ("identity", "learned"):
    classifier = GroundMetricClassifier(method="paper", reg_e=0.3, metric=metric)
    classifier.fit(Xs, ys, Xt=Xt)
    print(f"accuracy, metric {metric}: {classifier.score(X_test, y_test):.3f}")
classifier = GroundMetricClassifier().fit(Xs, ys, Xt=Xt)
print(f"accuracy, class-aware: {classifier.score(X_test, y_test):.3f}")
