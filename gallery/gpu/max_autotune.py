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
    *(
        {"what": "matmul", "shape": shape, "dtype": "bfloat16"}
        for shape in ([1, 4096, 4096], [16, 4096, 4096])
    ),
    *(
        {"what": "matmul", "shape": shape, "dtype": "bfloat16"}
        for shape in ([4096, 4096, 4096], [4093, 4095, 4097])
    ),
    *(
        {"what": "matmul", "shape": shape, "dtype": "float32"}
        for shape in ([16, 4096, 4096], [4096, 4096, 4096])
    ),
    {"what": "conv", "shape": [32, 64, 56, 64], "dtype": "bfloat16"},
    {"what": "conv", "shape": [32, 256, 14, 256], "dtype": "bfloat16"},
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
        for each, options in zip(rows[1:], CONTENDERS.values(), strict=True):
            if each["status"] == "ok":
                each["facts"] = {
                    **each.get("facts", {}),
                    "kernel": picked(function, options, (a, b)),
                }
    return rows


def picked(function, options, arguments):
    """Names of the first kernels that a settled call starts."""
    torch._dynamo.reset()
    compiled = torch.compile(function, **options)
    for _ in range(3):
        compiled(*arguments)
    return kernel_names(lambda: compiled(*arguments))[:4]
