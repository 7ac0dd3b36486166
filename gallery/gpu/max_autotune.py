"""
5. max-autotune: when a template beats the library
==================================================
"""

# %%

import torch
import torch.nn.functional as F

from compile_in_practice.contest import DEFAULT, MAX_AUTOTUNE, NO_CUDAGRAPHS, contest
from compile_in_practice.timing import device, kernel_names

CONTENDERS = {
    "default": DEFAULT,
    "max_autotune": MAX_AUTOTUNE,
    "no_cudagraphs": NO_CUDAGRAPHS,
}
CASES = [
    {"what": "matmul", "shape": [16, 4096, 4096], "dtype": "bfloat16"},  # a decode step
    {"what": "matmul", "shape": [4096, 4096, 4096], "dtype": "bfloat16"},
    {"what": "matmul", "shape": [4093, 4095, 4097], "dtype": "bfloat16"},  # odd sizes
    {"what": "conv", "shape": [32, 256, 14, 256], "dtype": "bfloat16"},
    {"what": "matmul", "shape": [4096, 4096, 4096], "dtype": "float32"},
    {"what": "matmul", "shape": [16, 4096, 4096], "dtype": "float32"},
]
TRY_CASES = [
    {"what": "matmul", "shape": [8, 16, 32], "dtype": "bfloat16"},
    {"what": "conv", "shape": [1, 4, 8, 4], "dtype": "float32"},
]


def matmul(a, b):
    """(M, K) @ (K, N)."""
    return a @ b


def conv(x, w):
    """3 × 3 convolution of (B, C, H, H) with padding."""
    return F.conv2d(x, w, padding=1)


def experiment(*, what, shape, dtype):
    """The library, and what each mode picks instead; the kernels timed apart from launches."""
    kind = getattr(torch, dtype)

    def make(seed):
        generator = torch.Generator(device()).manual_seed(seed)

        def random(*size):
            return torch.randn(*size, generator=generator, device=device()).to(kind)

        if what == "matmul":
            m, k, n = shape
            return random(m, k), random(k, n)
        batch, c_in, side, c_out = shape
        return random(batch, c_in, side, side), random(c_out, c_in, 3, 3)

    function = matmul if what == "matmul" else conv
    label = "_".join([what, *map(str, shape), dtype.replace("float", "f")]) + "_"
    with torch.no_grad():
        rows = contest(function, make, CONTENDERS, label=label)
        a, b = make(3)
        rows[0]["facts"] = {
            **rows[0].get("facts", {}),
            "kernel": kernel_names(lambda: function(a, b))[:1],
        }
        if rows[-1]["status"] == "ok":
            rows[-1]["facts"] = {**rows[-1].get("facts", {}), "kernel": picked(function, (a, b))}
    return rows


def picked(function, arguments):
    """Names of the kernels of a settled call without CUDA graphs: the templates that won."""
    compiled = torch.compile(function, **NO_CUDAGRAPHS)
    compiled(*arguments)
    return kernel_names(lambda: compiled(*arguments))[:4]
