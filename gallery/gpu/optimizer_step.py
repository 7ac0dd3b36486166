"""
7. The optimizer: foreach, fused, compiled
==========================================
"""

# %%

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
