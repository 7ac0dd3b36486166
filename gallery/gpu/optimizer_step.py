"""
7. The optimizer: foreach, fused and compiled
=============================================

**Question.** Does compiling ``optimizer.step`` beat ``fused=True``?

**Prediction.** The compiled step moves as few bytes as the fused one, and pays for guards on
the CPU.

**Record it** on a CUDA machine with torch alone: ``python -m compile_in_practice.record --experiment optimizer_step``.
Elsewhere this page replays what was recorded.
"""

# %%
# The public recipe's own configuration: ten ``Linear(1024)`` and Adam. ``least_gb`` counts
# the parameter, gradient and two moments read, and three of them written.

import torch
from torch import nn
from torch._inductor.utils import fresh_cache

from compile_in_practice.contest import attempt, difference, wake_compiler
from compile_in_practice.gpt import GPT
from compile_in_practice.timing import busy, device, sample, seconds

WAYS = {
    "foreach": {"foreach": True},
    "loop": {"foreach": False},
    "fused": {"fused": True},
    "compiled": {},
    "compiled_tensor_lr": {"lr": torch.tensor(1e-3)},
    "compiled_capturable": {"lr": torch.tensor(1e-3), "capturable": True},
}
CASES = [
    {
        "model": "linear",
        "count": 10,
        "kind": "Adam",
    },  # the public recipe's own configuration
    {"model": "gpt", "count": 12, "kind": "AdamW"},
]
TRY_CASES = [{"model": "linear", "count": 2, "kind": "Adam", "width": 16}]


def experiment(*, model, count, kind, width=1024):
    """One optimizer step over the parameters of a model, each way."""
    rows, expected = [], None
    for way in WAYS:

        def run(way=way, expected=expected):
            return step(way, model, count, kind, width, expected)

        rows.append(attempt(f"{model}{count}_{way}", run))
        found = rows[-1].pop("parameters", None)
        expected = found if expected is None else expected
    for each in rows[1:]:
        if each["status"] == "ok":
            each["speedup"] = rows[0]["timing"]["median_ms"] / each["timing"]["median_ms"]
    return rows


def step(way, model, count, kind, width, expected):
    """Fields of a row; parameters after three steps are compared with foreach's."""
    torch.manual_seed(0)
    layers = (
        [nn.Linear(width, width) for _ in range(count)]
        if model == "linear"
        else [GPT(n_layer=count)]
    )
    parameters = list(nn.Sequential(*layers).to(device()).parameters())
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter)
    optimizer = getattr(torch.optim, kind)(parameters, **{"lr": 1e-3, **WAYS[way]})
    update, fields = optimizer.step, {}
    wake_compiler()
    with fresh_cache():
        if way.startswith("compiled"):
            update = torch.compile(optimizer.step)
            fields["compile"] = {"cold_s": round(seconds(update), 3)}
        else:
            update()
        update()
        update()
        after = [parameter.detach().clone() for parameter in parameters]
        fields["timing"] = sample(update)
        work = busy(update)
    count_of = sum(parameter.numel() for parameter in parameters)
    fields["facts"] = {
        "n_parameters": count_of,
        "n_tensors": len(parameters),
        "least_gb": count_of * 4 * 7 / 1e9,
    }
    if expected is not None:
        fields["correct"] = difference(after, expected)
    if work is not None:
        fields["busy"] = {
            **work,
            "share": min(1.0, work["kernel_ms"] / fields["timing"]["median_ms"]),
        }
    return {**fields, "parameters": after}


# %%
# A step, its kernels, and its bytes.

from compile_in_practice.replay import flat, pyplot, replay_records, table

records = replay_records(experiment)
for record in records:
    rows = [{**row, "rate": row["least_gb"] / row["kernel_ms"] * 1e3} for row in flat(record)]
    columns = {
        "step": "name",
        "ms": "median_ms:.3f",
        "kernels": "n_kernels:.0f",
        "kernel ms": "kernel_ms:.3f",
    }
    columns |= {"GB/s": "rate:.0f", "speedup": "speedup:.2f", "cold s": "cold_s:.1f"}
    table(rows, {**columns, "difference": "relative:.0e"})

# %%
# Compiled, the step's kernels take
# :value:`records.optimizer_step.linear10_compiled.kernel_ms:.3f` ms against
# :value:`records.optimizer_step.linear10_fused.kernel_ms:.3f` ms fused. The whole call is
# :verdict:`slower than fused <records.optimizer_step.linear10_compiled.median_ms > records.optimizer_step.linear10_fused.median_ms>`:
# :value:`records.optimizer_step.linear10_compiled.median_ms:.2f` ms against
# :value:`records.optimizer_step.linear10_fused.median_ms:.2f`. ``capturable=True`` with a tensor
# learning rate brings it to
# :value:`records.optimizer_step.linear10_compiled_capturable.median_ms:.2f` ms.
# Both kernels come close to the copy bandwidth: compiled reaches
# :value:`records.optimizer_step.linear10_compiled.least_gb / records.optimizer_step.linear10_compiled.kernel_ms * 1e3 / records.ceilings.copy_4096.gb_s:.2f`
# of it. What is left is the CPU's share of the call.
#
# Write ``fused=True`` first: one word, no compile.
#
# The `recipe <https://docs.pytorch.org/tutorials/recipes/compiling_optimizer.html>`__ publishes
# 747 to 392 microseconds for this configuration, on a machine that it does not name.

plt = pyplot()
figure, axes = plt.subplots(figsize=(6, 2.6))
for record in records:
    rows = [row for row in flat(record) if "median_ms" in row]
    names = [row["name"].partition("_")[2].replace("_", " ") for row in rows]
    axes.barh(
        names, [row["median_ms"] for row in rows], color="none", edgecolor="0.2", label="call"
    )
    axes.barh(
        names,
        [row["kernel_ms"] for row in rows],
        color="0.6",
        hatch="///",
        edgecolor="0.2",
        label="kernels",
    )
axes.set_xlabel("ms a step")
axes.legend(frameon=False)
axes.invert_yaxis()
figure.tight_layout()

# %%
# **What this does not show.** A larger model, where kernels outweigh the CPU: the
# recording's time was over before it.
