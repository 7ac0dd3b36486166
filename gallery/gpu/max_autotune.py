"""
5. max-autotune: when a template beats the library
==================================================

**Question.** For which products does ``max-autotune`` find something faster than cuBLAS,
and what does the search cost?

**Prediction.** Square bf16 products: nothing, the library is near its peak. Odd sizes and
decode shapes: something.

**Answer.** Of these products, for the decode shape in fp32, where the template's kernel
:verdict:`is faster <records.max_autotune.matmul_16_4096_4096_f32_no_cudagraphs.kernel_ms < records.max_autotune.matmul_16_4096_4096_f32_eager.kernel_ms>`
on the one lease that measured it. In bf16 that shape loses, and odd sizes gain as much by default, so
the prediction holds for the square product alone. There ``max-autotune``
:verdict:`loses <max(records.max_autotune.matmul_4096_4096_4096_bf16_eager.medians_ms) < min(records.max_autotune.matmul_4096_4096_4096_bf16_max_autotune.medians_ms)>`,
and a search takes up to :value:`records.max_autotune.matmul_4096_4096_4096_f32_no_cudagraphs.cold_s:.0f` s.

**Record it** in a clone on a CUDA machine, with torch alone:

.. code-block:: console

   $ PYTHONPATH=src python -m compile_in_practice.record --experiment max_autotune

Elsewhere this page replays what was recorded.
"""

# %%
# The same product in eager and in each mode. The kernels' own time stands beside the
# call's, since a single small product is mostly launch.

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


# %%
# Calls, kernels, and the seconds of the search, ``cold`` and ``warm``.

import textwrap

from compile_in_practice.figures import bars
from compile_in_practice.replay import flat, measured_again, replay_records, table

records = replay_records(experiment)
for record in records:
    columns = {"product": "name", "ms": "median_ms:.4f", "speedup": "speedup:.2f"}
    table(
        flat(record),
        {
            **columns,
            "GPU ms": "kernel_ms:.4f",
            "cold": "cold_s:.1f",
            "warm": "warm_s:.1f",
            "differs": "relative:.0e",
        },
    )
    print()
    for row in flat(record):
        if "kernel" in row:
            kernels = ", ".join(name[:44] for name in row["kernel"])
            print(textwrap.fill(f"{row['name']}: {kernels}", 80, subsequent_indent="  "))

# %%
# On the square bf16 product ``max-autotune`` :verdict:`loses <max(records.max_autotune.matmul_4096_4096_4096_bf16_eager.medians_ms) < min(records.max_autotune.matmul_4096_4096_4096_bf16_max_autotune.medians_ms)>`:
# the library's own kernel wins the search, and CUDA graphs add copies of the inputs. In fp32 it is
# :verdict:`no faster either <records.max_autotune.matmul_4096_4096_4096_f32_max_autotune.lost and records.max_autotune.matmul_4096_4096_4096_f32_no_cudagraphs.low_ms < records.max_autotune.matmul_4096_4096_4096_f32_eager.median_ms < records.max_autotune.matmul_4096_4096_4096_f32_no_cudagraphs.high_ms>`, after
# :value:`records.max_autotune.matmul_4096_4096_4096_f32_no_cudagraphs.cold_s:.0f` s of search without CUDA graphs.
#
# It wins one product of these: the decode shape in fp32. There the template's kernel takes
# :value:`records.max_autotune.matmul_16_4096_4096_f32_no_cudagraphs.kernel_ms:.3f` ms against the library's
# :value:`records.max_autotune.matmul_16_4096_4096_f32_eager.kernel_ms:.3f`. The call gains
# :value:`records.max_autotune.matmul_16_4096_4096_f32_no_cudagraphs.speedup:.2f` times without CUDA graphs and
# :verdict:`loses with them <records.max_autotune.matmul_16_4096_4096_f32_max_autotune.low_ms > records.max_autotune.matmul_16_4096_4096_f32_eager.high_ms>`. In bf16 the same shape has a template
# too, and it is :verdict:`slower than the library's kernels <records.max_autotune.matmul_16_4096_4096_bf16_no_cudagraphs.kernel_ms > records.max_autotune.matmul_16_4096_4096_bf16_eager.kernel_ms>`.
# On odd sizes every mode is about as good as the default, which already is
# :value:`records.max_autotune.matmul_4093_4095_4097_bf16_default.speedup:.1f` times as fast as
# eager: Inductor pads the sizes, and the library takes a better kernel.
#
# For the convolution the compiled kernels take
# :value:`records.max_autotune.conv_32_256_14_256_bf16_no_cudagraphs.kernel_ms:.4f` ms against cuDNN's
# :value:`records.max_autotune.conv_32_256_14_256_bf16_eager.kernel_ms:.4f` in eager and
# :value:`records.max_autotune.conv_32_256_14_256_bf16_default.kernel_ms:.4f` by default, but the call
# :verdict:`loses in every mode <records.max_autotune.conv_32_256_14_256_bf16_default.lost and records.max_autotune.conv_32_256_14_256_bf16_max_autotune.lost and records.max_autotune.conv_32_256_14_256_bf16_no_cudagraphs.lost>`:
# alone it is too short to hide guards and a launch, which takes
# :value:`records.max_autotune.empty_launch_us:.1f` µs here.

for record in records:
    bars([record], unit="ms a call", form="{:.3f}", only=("matmul_16", "conv"))

# %%
# The short products: most of a compiled call is not in its kernels. The long ones follow.

for record in records:
    bars(
        [record],
        unit="ms a call",
        form="{:.3f}",
        only=("matmul_4093", "matmul_4096_4096_4096_bf16"),
    )

# %%
# Try the default first. Pay for the search where a profile shows a product with sizes that
# the library handles badly, and compare kernels, not calls. A second compile in the same process
# finds the search's result: cold and warm seconds stand in the table.
# The seconds of a search vary: for the square fp32 product the two modes took
# :value:`records.max_autotune.matmul_4096_4096_4096_f32_max_autotune.cold_s:.0f` and
# :value:`records.max_autotune.matmul_4096_4096_4096_f32_no_cudagraphs.cold_s:.0f` s.
#
# On another lease a median moved by up to :value:`records.max_autotune.moved:.0%`: the short calls
# wait for the CPU, which differed. That lease timed the bf16 products only: the fp32 products and the
# convolution rest on one lease, and so does every time of a kernel.

for record in records:
    measured_again(record)

# %%
# **What this does not show.** A product inside a model, whose epilogue a template could take
# along. More than one convolution, and odd sizes or convolutions in fp32: not recorded. CUTLASS
# templates: none is configured by default.
