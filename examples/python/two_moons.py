# %% [markdown]
# # Two moons, sheared and turned
# The target is the source sheared and turned by 50 degrees, without labels. Both the plan and the metric
# are learned; the pictures show where the source goes and which directions count.

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.neighbors import KNeighborsClassifier

from remblai import GroundMetricTransport, plot

Xs, ys = make_moons(200, noise=0.05, random_state=0)
Xt, yt = make_moons(200, noise=0.05, random_state=1)
Xs, Xt = Xs - Xs.mean(axis=0), Xt - Xt.mean(axis=0)
angle = np.radians(50)
turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
shear = np.array([[1.0, 0.0], [1.2, 1.0]])
Xt = Xt @ shear @ turn

# %%
raw = KNeighborsClassifier(1).fit(Xs, ys).score(Xt, yt)
print(f"accuracy without adaptation: {raw:.3f}")
for metric in ("identity", "learned"):
    transport = GroundMetricTransport(reg_e=0.02, metric=metric, ridge=1e-3)
    mapped = transport.fit_transform(Xs=Xs, Xt=Xt)
    score = KNeighborsClassifier(1).fit(mapped, ys).score(Xt, yt)
    print(f"accuracy with metric {metric}: {score:.3f} ({transport.status_})")

# %%
figure, axes = plt.subplots(2, 2, figsize=(10, 9))
plot.embedding(transport, axes[0, 0], ys=ys)
plot.ellipse(transport, axes[0, 0])
plot.plan(transport, axes[0, 1], ys=ys, yt=yt)
plot.metric(transport, axes[1, 0])
plot.convergence(transport, axes[1, 1])
figure.tight_layout()
figure.savefig("two_moons.png")
