"""
5. Compiled and eager twins after five steps
============================================

**Question.** Forward and loss are compiled, ``backward`` is called outside, and SGD
steps eagerly. Do the parameters stay those of an eager twin?

**Prediction.** Yes, bit for bit with a backend that runs the same kernels.

**Run it** in a clone, with torch alone: ``PYTHONPATH=src python gallery/lab/training_twins.py --backend eager``
(or ``aot_eager``, or ``inductor`` where there is a C++ compiler). Seconds, on a CPU.
"""

# %%
# One model, copied. The compiled function takes the model's output to a loss.

import copy

import torch
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend

from compile_in_practice.replay import pyplot, replay, table

N_STEPS = 5
B, C = 8, 16  # rows of a batch, and its width


def train(model, loss_of, batches):
    """Losses of one SGD step for each batch."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for x, y in batches:
        loss = loss_of(model, x, y)
        loss.backward()  # outside: runs the compiled backward
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
    return losses


def mean_square(model, x, y):
    """Loss of one batch."""
    return (model(x) - y).square().mean()


# %%
# The experiment trains both twins on the same batches.


def experiment(backend="aot_eager"):
    """Largest difference between the twins' parameters, losses and frames."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    eager = nn.Sequential(nn.Linear(C, 2 * C), nn.GELU(), nn.Linear(2 * C, C))
    twin = copy.deepcopy(eager)
    batches = [(torch.randn(B, C), torch.randn(B, C)) for _ in range(N_STEPS)]
    counter = CompileCounterWithBackend(backend)
    compiled = torch.compile(mean_square, backend=counter)
    eager_losses = train(eager, mean_square, batches)
    twin_losses = train(twin, compiled, batches)
    pairs = zip(eager.parameters(), twin.parameters(), strict=True)
    difference = max((a - b).abs().max().item() for a, b in pairs)
    torch._dynamo.reset()
    assert difference < 1e-6, difference
    return {
        "twins": {
            "n_steps": N_STEPS,
            "n_frames": counter.frame_count,
            "equal": difference == 0,
            "below_1e_6": difference < 1e-6,
        },
        "trace": {
            "eager_losses": eager_losses,
            "twin_losses": twin_losses,
            "difference": difference,
        },
    }


# %%
# One frame serves every step, and the twins agree.

data = replay(experiment)
table([data["twins"]], {"steps": "n_steps", "frames": "n_frames", "bit for bit": "equal"})
print("largest difference of a parameter:", data["trace"]["difference"])

# %%
# Compile forward and loss, leave the loop around them alone, and compare once with a
# twin before a long run.

plt = pyplot()
figure, axes = plt.subplots(figsize=(6, 2.6))
steps = range(1, data["twins"]["n_steps"] + 1)
axes.plot(
    steps,
    data["trace"]["eager_losses"],
    "o-",
    color="0.2",
    label="eager",
    markersize=9,
    fillstyle="none",
)
axes.plot(steps, data["trace"]["twin_losses"], "x--", color="0.2", label="compiled")
axes.set_xticks(list(steps))
axes.set_xlabel("step")
axes.set_ylabel("loss")
axes.legend(frameon=False)
figure.tight_layout()

# %%
# **What this does not show.** Inductor's numerics: it may reorder sums, so run the lab
# with ``--backend inductor`` where you can. A model with dropout needs the same random
# numbers in both twins.
