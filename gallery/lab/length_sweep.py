"""
2. Six lengths under three shape policies
=========================================

**Question.** A model sees sequences of six lengths. How many times is it compiled with
``dynamic=False``, with the default, and with ``dynamic=True``?

**Prediction.** Six, two and one: each length, then one that goes symbolic, then one.

**Run it** in a clone, with torch alone: ``PYTHONPATH=src python gallery/lab/length_sweep.py --backend eager``
(or ``aot_eager``, or ``inductor`` where there is a C++ compiler). Seconds, on a CPU.
"""

# %%
# Two blocks that differ in their norm alone: one writes RMS norm by hand, the other
# uses ``nn.LayerNorm``, an operator with code of its own.

import torch
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend

from compile_in_practice.replay import pyplot, replay, table

LENGTHS = (8, 16, 24, 32, 40, 48)  # tokens in a sequence, T
POLICIES = {"false": False, "none": None, "true": True}  # values of dynamic=
B, C = 2, 16  # sequences in a batch, width


class HandNorm(nn.Module):
    """RMS norm over the last dimension, from basic operations."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(C))

    def forward(self, x):
        return x * (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt() * self.weight


def block(norm):
    """A small block around a norm."""
    return nn.Sequential(norm, nn.Linear(C, 2 * C), nn.GELU(), nn.Linear(2 * C, C))


def n_frames(model, dynamic, backend):
    """Calls of the backend for all lengths; each output is compared with eager's."""
    torch._dynamo.reset()
    counter = CompileCounterWithBackend(backend)
    compiled = torch.compile(model, backend=counter, dynamic=dynamic)
    with torch.no_grad():
        for length in LENGTHS:
            x = torch.randn(B, length, C)  # (B, T, C)
            torch.testing.assert_close(compiled(x), model(x))
    torch._dynamo.reset()
    return counter.frame_count


# %%
# The experiment counts both blocks under each policy.


def experiment(backend="aot_eager"):
    """Calls of the backend by norm and policy."""
    torch.manual_seed(0)
    data = {"sizes": {"n_lengths": len(LENGTHS)}}
    for name, norm in (("hand_norm", HandNorm()), ("layer_norm", nn.LayerNorm(C))):
        model = block(norm)
        counts = {key: n_frames(model, dynamic, backend) for key, dynamic in POLICIES.items()}
        data[name] = {f"n_frames_{key}": count for key, count in counts.items()}
    hand = data["hand_norm"]
    assert hand["n_frames_false"] == len(LENGTHS), data
    assert hand["n_frames_none"] <= 3, data
    assert hand["n_frames_true"] == 1, data
    return data


# %%
# With the default, the second length makes the size symbolic and no third compile comes.

data = replay(experiment)
columns = {"block": "name", **{f"dynamic={key}": f"n_frames_{key}" for key in POLICIES}}
rows = [{"name": name, **data[name]} for name in ("hand_norm", "layer_norm")]
table(rows, columns)

# %%
# ``dynamic=True`` is a request. Where ``nn.LayerNorm`` counts two under it, no length is
# to blame: its ``eps``, a Python float, became a symbol, ``aot_eager`` needs its value, and
# the first compile starts over, so that the backend is called twice for one frame
# (:ref:`its evidence <dynamic-floats>`). ``--backend eager`` counts one.

plt = pyplot()
figure, axes = plt.subplots(figsize=(6, 2.6))
for shift, (row, hatch) in enumerate(zip(rows, ("", "///"), strict=True)):
    counts = [row[f"n_frames_{key}"] for key in POLICIES]
    places = [number + 0.4 * shift for number in range(len(counts))]
    bars = axes.bar(places, counts, width=0.38, color="0.75", edgecolor="0.2", hatch=hatch)
    axes.bar_label(bars)
    bars.set_label(row["name"].replace("_", " "))
axes.set_xticks([number + 0.2 for number in range(len(POLICIES))])
axes.set_xticklabels([f"dynamic={key}" for key in POLICIES])
axes.set_ylabel("calls of the backend")
axes.legend(frameon=False)
figure.tight_layout()

# %%
# **What this does not show.** How fast a symbolic graph is beside a static one, and what
# a compile costs: both need Inductor on the machine that you use.
