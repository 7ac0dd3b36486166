"""
3. A float attribute against a buffer
=====================================

**Question.** A schedule changes a scale that ``forward`` reads. What does each change
cost when the scale is a Python float, and when it is a buffer?

**Prediction.** A float is a guarded constant: at least one recompile. A buffer is an
input whose contents no guard reads: none.

**Run it** in a clone, with torch alone: ``PYTHONPATH=src python gallery/lab/float_or_buffer.py --backend eager``
(or ``aot_eager``, or ``inductor`` where there is a C++ compiler). Seconds, on a CPU.
"""

# %%
# The same module twice. The fix is the way in which the scale is stored and changed.

import torch
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend

from compile_in_practice.replay import pyplot, replay, table

SCALES = (0.5, 0.6, 0.7, 0.8)  # values of a schedule, one for each call


class FloatScale(nn.Module):
    """WRONG where the scale changes: a Python float is part of the guards."""

    def __init__(self):
        super().__init__()
        self.scale = SCALES[0]

    def forward(self, x):
        return x * self.scale

    def set(self, value):
        self.scale = value


class BufferScale(FloatScale):
    """The scale is a buffer, filled in place."""

    def __init__(self):
        nn.Module.__init__(self)
        self.register_buffer("scale", torch.tensor(SCALES[0]))

    def set(self, value):
        self.scale.fill_(value)


def n_recompiles(model, dynamic, backend):
    """Compiles after the first, over one call for each scale."""
    torch._dynamo.reset()
    counter = CompileCounterWithBackend(backend)
    compiled = torch.compile(model, backend=counter, dynamic=dynamic)
    x = torch.ones(8)
    for value in SCALES:
        model.set(value)
        torch.testing.assert_close(compiled(x), x * value)
    torch._dynamo.reset()
    return counter.frame_count - 1


# %%
# The experiment counts both under the default and under ``dynamic=False``.


def experiment(backend="aot_eager"):
    """Recompiles by kind of scale and shape policy."""
    data = {"sizes": {"n_values": len(SCALES)}}
    for name, make in (("float", FloatScale), ("buffer", BufferScale)):
        data[name] = {
            "n_recompiles": n_recompiles(make(), None, backend),
            "n_recompiles_static": n_recompiles(make(), False, backend),
        }
    assert data["float"]["n_recompiles"] >= 1, data
    assert data["buffer"]["n_recompiles"] == 0, data
    return data


# %%
# Under the default, one mismatch makes the float symbolic; under ``dynamic=False``
# each further value is one more compile.

data = replay(experiment)
rows = [{"name": name, **data[name]} for name in ("float", "buffer")]
table(rows, {"scale": "name", "recompiles": "n_recompiles", "dynamic=False": "n_recompiles_static"})

# %%
# Store what a schedule changes as a buffer and write it in place.

plt = pyplot()
figure, axes = plt.subplots(figsize=(6, 2))
for shift, (key, label, hatch) in enumerate(
    (("n_recompiles", "default", ""), ("n_recompiles_static", "dynamic=False", "///"))
):
    counts = [row[key] for row in rows]
    places = [number + 0.4 * shift for number in range(len(rows))]
    bars = axes.barh(places, counts, height=0.38, color="0.75", edgecolor="0.2", hatch=hatch)
    axes.bar_label(bars, padding=3)
    bars.set_label(label)
axes.set_yticks([0.2, 1.2])
axes.set_yticklabels(["float attribute", "buffer"])
axes.set_xlabel("recompiles over one schedule")
axes.legend(frameon=False)
figure.tight_layout()

# %%
# **What this does not show.** The price of one recompile: seconds with Inductor on a
# real model, almost nothing here. A float that ``forward`` tests in an ``if`` is another
# case: its value is guarded again.
