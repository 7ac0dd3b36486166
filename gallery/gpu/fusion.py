"""
2. Fusion: bytes that need not move
===================================
"""

# %%

import torch
import torch.nn.functional as F

from compile_in_practice.contest import DEFAULT, contest
from compile_in_practice.timing import device, kernel_names

COLUMNS = 4096  # of h: (rows, COLUMNS), bf16
CASES = [
    *({"what": "pointwise", "rows": n} for n in (64, 1024, 16384, 65536)),
    *({"what": "whole", "rows": n} for n in (64, 1024, 16384)),
]
TRY_CASES = [{"what": "pointwise", "rows": 2}, {"what": "whole", "rows": 2}]


def pointwise(h, b, mask):
    """The chain after the product: three eager kernels."""
    return F.gelu(h + b) * mask


def whole(x, w, b, mask):
    """The chain with its matrix product."""
    return F.gelu(x @ w + b) * mask


def experiment(*, what, rows):
    """Eager and compiled: time, kernels, bytes that must move at least."""
    function = pointwise if what == "pointwise" else whole

    def make(seed):
        generator = torch.Generator(device()).manual_seed(seed)

        def random(*shape):
            values = torch.randn(*shape, generator=generator, device=device())
            return values.to(torch.bfloat16)

        b, mask = random(COLUMNS), (random(rows, COLUMNS) > 0).to(torch.bfloat16)
        if what == "pointwise":
            return random(rows, COLUMNS), b, mask
        return random(rows, COLUMNS), random(COLUMNS, COLUMNS) / 64, b, mask

    with torch.no_grad():
        measured = contest(
            function, make, {"default": DEFAULT}, label=f"{what}_{rows}_", n_samples=40
        )
        arguments = make(3)
        moved = sum(a.numel() * a.element_size() for a in arguments) + rows * COLUMNS * 2
        names = {
            "eager": kernel_names(lambda: function(*arguments)),
            "default": settled_names(torch.compile(function), arguments),
        }
    for each in measured:
        facts = each.setdefault("facts", {})
        facts["least_gb"] = moved / 1e9
        facts["kernels"] = [name[:60] for name in names[each["name"].rpartition("_")[2]]]
        if "busy" in each:
            facts["least_gb_s"] = moved / 1e9 / each["busy"]["kernel_ms"] * 1e3
    return measured


def settled_names(compiled, arguments):
    """Kernels of a call after the first."""
    compiled(*arguments)
    return kernel_names(lambda: compiled(*arguments))
