"""
1. A messy model and its clean rewrite
======================================

**Question.** What do a print, a branch on ``.item()`` and a disabled helper cost,
and does a rewrite that computes the same remove all of it?

**Prediction.** Each of the three ends a graph; the rewrite is one graph.

**Run it** in a clone, with torch alone: ``PYTHONPATH=src python gallery/lab/messy_vs_clean.py --backend eager``
(or ``aot_eager``, or ``inductor`` where there is a C++ compiler). Seconds, on a CPU.
"""

# %%
# The two models share their weights. In the messy one, each fault has a comment.

import torch
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend

from compile_in_practice.replay import pyplot, replay, table

B, C = 4, 16  # rows of the input, and its width


@torch.compiler.disable
def log_norm(x):
    """Stand in for a logging or metrics call that must not be traced."""
    return x.norm()


class Messy(nn.Module):
    """Three faults in one forward."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(C, C), nn.Linear(C, C)

    def forward(self, x):
        x = self.first(x).relu()
        print(end="")  # WRONG: a call that writes ends the graph
        if x.mean().item() > 0:  # WRONG: Python needs the number, so the graph ends
            x = x * 2
        log_norm(x)  # WRONG here: disabled code runs between two graphs
        return self.last(x)


class Clean(Messy):
    """The same result: the branch is data, logging is left to the caller."""

    def forward(self, x):
        x = self.first(x).relu()
        x = torch.where(x.mean() > 0, x * 2, x)
        return self.last(x)


# %%
# The experiment counts with ``explain`` and with a counting backend, and checks
# that both models still give what eager gives.


def experiment(backend="aot_eager"):
    """Breaks, graphs and frames of both models."""
    torch.manual_seed(0)
    messy, clean = Messy(), Clean()
    clean.load_state_dict(messy.state_dict())
    x = torch.randn(B, C)  # (B, C)
    expected = messy(x)
    data = {}
    for name, model in (("messy", messy), ("clean", clean)):
        torch._dynamo.reset()
        explained = torch._dynamo.explain(model)(x)
        torch._dynamo.reset()
        counter = CompileCounterWithBackend(backend)
        out = torch.compile(model, backend=counter)(x)
        torch.testing.assert_close(out, expected)
        data[name] = {
            "n_breaks": explained.graph_break_count,
            "n_graphs": explained.graph_count,
            "n_frames": counter.frame_count,
            "n_ops": counter.op_count,
        }
    torch._dynamo.reset()
    assert data["messy"]["n_breaks"] >= 3, data
    assert data["clean"]["n_breaks"] == 0, data
    assert data["clean"]["n_graphs"] == 1, data
    return data


# %%
# Each fault is a break, and each break is one more graph for the backend.

data = replay(experiment)
columns = {"model": "name", "breaks": "n_breaks", "graphs": "n_graphs", "ops": "n_ops"}
models = ("messy", "clean")  # what is stored is sorted by name
table([{"name": name, **data[name]} for name in models], columns)

# %%
# Fix them in this order: branches on data become ``torch.where``, logging moves out
# of ``forward``, and what must stay disabled is called before or after the model.

plt = pyplot()
figure, axes = plt.subplots(figsize=(6, 2))
counts = [data[name]["n_graphs"] for name in models]
bars = axes.barh(models, counts, color="0.75", edgecolor="0.2", hatch=["///", ""])
axes.bar_label(bars, padding=3)
axes.set_xlabel("graphs for one forward")
axes.invert_yaxis()
figure.tight_layout()

# %%
# **What this does not show.** Counts, not speed: a measuring backend makes nothing
# faster. A break outside the hot loop can be cheap; measure your own step before you
# rewrite code that runs once.
