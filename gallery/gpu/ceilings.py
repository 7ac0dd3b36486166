"""
1. Ceilings: what this card can do
==================================
"""

# %%

import torch

from compile_in_practice.contest import row
from compile_in_practice.timing import device, sample

CASES = [
    *({"what": "copy", "size": n} for n in (64, 256, 1024, 4096)),  # MiB of one buffer
    *({"what": "matmul_bf16", "size": n} for n in (2048, 4096, 8192, 16384)),  # n × n × n
    *({"what": "matmul_tf32", "size": n} for n in (8192,)),
    *({"what": "matmul_fp32", "size": n} for n in (8192,)),
]
TRY_CASES = [{"what": "copy", "size": 8}, {"what": "matmul_bf16", "size": 128}]


def copy_rate(size):
    """Bytes read and written per second by a copy between two buffers of `size` MiB."""
    source = torch.randn(size * 2**18, device=device())
    target = torch.empty_like(source)
    timing = sample(lambda: target.copy_(source))
    assert torch.equal(source, target)
    moved_gb = 2 * source.numel() * 4 / 1e9
    return {
        "timing": timing,
        "facts": {"moved_gb": moved_gb, "gb_s": moved_gb / timing["median_ms"] * 1e3},
    }


def matrix_rate(size, dtype, *, tf32=False):
    """Operations per second of a square product of random matrices."""
    torch.backends.cuda.matmul.allow_tf32 = tf32
    a, b = (torch.randn(size, size, device=device(), dtype=dtype) for _ in range(2))
    timing = sample(lambda: a @ b, n_samples=40)
    exact = a[:64].double() @ b.double()
    error = float(((a @ b)[:64].double() - exact).norm() / exact.norm())
    operations = 2 * size**3
    facts = {
        "tflop_s": operations / timing["median_ms"] / 1e9,
        "error_to_float64": error,
    }
    torch.backends.cuda.matmul.allow_tf32 = False
    return {"timing": timing, "facts": facts}


def experiment(*, what, size):
    """One row: the rate of one copy or one product."""
    if what == "copy":
        fields = copy_rate(size)
    elif what == "matmul_bf16":
        fields = matrix_rate(size, torch.bfloat16)
    else:
        fields = matrix_rate(size, torch.float32, tf32=what == "matmul_tf32")
    return [row(f"{what}_{size}", **fields)]
