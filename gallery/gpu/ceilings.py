"""
1. Ceilings: what this card can do
==================================

**Question.** How fast does this card copy memory, and how fast does it multiply matrices?
The other experiments measure themselves against these two rates.

**Prediction.** Both rise with size and then stay level.

**Answer.** A copy moves :value:`records.ceilings.copy_4096.gb_s:.0f` GB/s. A bf16 product runs at
:value:`records.ceilings.matmul_bf16_2048.tflop_s:.0f` TFLOP/s at the smallest size and
:value:`records.ceilings.matmul_bf16_16384.tflop_s:.0f` at the largest. The prediction holds for the
copy; the products
:verdict:`fall <records.ceilings.matmul_bf16_2048.tflop_s > records.ceilings.matmul_bf16_4096.tflop_s > records.ceilings.matmul_bf16_8192.tflop_s > records.ceilings.matmul_bf16_16384.tflop_s>`
a little with size.

**Record it** in a clone on a CUDA machine, with torch alone:

.. code-block:: console

   $ PYTHONPATH=src python -m compile_in_practice.record --experiment ceilings

Elsewhere this page replays what was recorded.
"""

# %%
# Large buffers of random data, so that no cache holds them. A copy counts the bytes that
# it reads and those that it writes.

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


# %%
# The rates by size, and for a product its error against float64.

from compile_in_practice.figures import lines
from compile_in_practice.replay import flat, measured_again, replay_records, table

records = replay_records(experiment)
for record in records:
    columns = {"what": "name", "ms": "median_ms:.4f", "GB/s": "gb_s:.0f", "TFLOP/s": "tflop_s:.0f"}
    table(flat(record), {**columns, "error": "error_to_float64:.1e"})

# %%
# The largest copy moves :value:`records.ceilings.copy_4096.gb_s:.0f` GB/s, and the
# largest bf16 product runs at :value:`records.ceilings.matmul_bf16_16384.tflop_s:.0f`
# TFLOP/s. Plain fp32 reaches :value:`records.ceilings.matmul_fp32_8192.tflop_s:.0f` TFLOP/s,
# and TF32 :value:`records.ceilings.matmul_tf32_8192.tflop_s:.0f` at
# :verdict:`a larger error <records.ceilings.matmul_tf32_8192.error_to_float64 > records.ceilings.matmul_fp32_8192.error_to_float64>`.
#
# Divide your kernel's bytes by the first rate, its operations by the second. A kernel near the
# larger time has little left to gain. It is a yardstick, no hard floor: a kernel that reads
# more than it writes moved bytes at
# :value:`records.fusion.no_gelu_65536_default.least_gb_s / records.ceilings.copy_4096.gb_s:.2f` of the
# copy's rate in the second experiment.

for record in records:
    rows = [row for row in flat(record) if "gb_s" in row]
    curve = ([row["size"] for row in rows], [row["gb_s"] for row in rows])
    lines({"copy": curve}, x="MiB of one buffer", y="GB/s, read and written", log_x=True)

# %%
# Over two leases and a second process the medians of a row differ by
# :value:`records.ceilings.moved:.0%` at most. Within one run the largest product varies more: its
# slowest tenth takes
# :value:`records.ceilings.matmul_bf16_16384.high_ms / records.ceilings.matmul_bf16_16384.median_ms - 1:.0%`
# longer than the median, or more.

for record in records:
    measured_again(record)

# %%
# **What this does not show.** What a kernel with another mix of reads and writes reaches,
# and what the card does hot: each rate comes from short runs. The datasheet: no figure of it is
# compared here.
