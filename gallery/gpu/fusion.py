"""
2. Fusion: bytes that need not move
===================================

**Question.** ``gelu(h + b) * mask`` is three kernels in eager. How much time does one fused
kernel save, and how close does it come to the copy bandwidth?

**Prediction.** Eager moves each intermediate twice, so the fused kernel takes about a third
of the time, at nine tenths of the copy bandwidth. Small inputs gain nothing.

**Answer.** On the largest input the fused kernel is
:value:`records.fusion.pointwise_65536_default.speedup:.1f` times as fast, at
:value:`records.fusion.pointwise_65536_default.least_gb_s / records.ceilings.copy_4096.gb_s:.2f` of the copy
bandwidth. On the two smallest the compiled call
:verdict:`loses <min(records.fusion.pointwise_64_default.medians_ms) > max(records.fusion.pointwise_64_eager.medians_ms) and records.fusion.pointwise_1024_default.medians_ms[0] > records.fusion.pointwise_1024_eager.medians_ms[0] and records.fusion.pointwise_1024_default.medians_ms[1] > records.fusion.pointwise_1024_eager.medians_ms[1] and records.fusion.pointwise_1024_default.medians_ms[2] > records.fusion.pointwise_1024_eager.medians_ms[2]>`.
The prediction of a third holds, that of nine tenths
:verdict:`does not <records.fusion.pointwise_65536_default.least_gb_s < 0.9 * records.ceilings.copy_4096.gb_s>`.

**Record it** in a clone on a CUDA machine, with torch alone:

.. code-block:: console

   $ PYTHONPATH=src python -m compile_in_practice.record --experiment fusion

Elsewhere this page replays what was recorded.
"""

# %%
# The chain alone, and with its matrix product in front. ``least_gb`` counts each input
# read once and the output written once.

import torch
import torch.nn.functional as F

from compile_in_practice.contest import DEFAULT, contest
from compile_in_practice.timing import device, kernel_names

COLUMNS = 4096  # of h: (rows, COLUMNS), bf16
CASES = [
    *({"what": "pointwise", "rows": n} for n in (64, 1024, 16384, 65536)),
    *({"what": "whole", "rows": n} for n in (64, 1024, 16384)),
    *({"what": what, "rows": 65536} for what in ("no_gelu", "tanh_gelu")),  # why not 0.9
]
TRY_CASES = [{"what": what, "rows": 2} for what in ("pointwise", "whole", "no_gelu", "tanh_gelu")]


def pointwise(h, b, mask):
    """The chain after the product: three eager kernels."""
    return F.gelu(h + b) * mask


def whole(x, w, b, mask):
    """The chain with its matrix product."""
    return F.gelu(x @ w + b) * mask


def no_gelu(h, b, mask):
    """The same bytes with hardly any arithmetic."""
    return (h + b) * mask


def tanh_gelu(h, b, mask):
    """The chain with the approximation of gelu by tanh."""
    return F.gelu(h + b, approximate="tanh") * mask


def experiment(*, what, rows):
    """Eager and compiled: time, kernels, bytes that must move at least."""
    chains = {"pointwise": pointwise, "no_gelu": no_gelu, "tanh_gelu": tanh_gelu, "whole": whole}
    function = chains[what]

    def make(seed):
        generator = torch.Generator(device()).manual_seed(seed)

        def random(*shape):
            values = torch.randn(*shape, generator=generator, device=device())
            return values.to(torch.bfloat16)

        b, mask = random(COLUMNS), (random(rows, COLUMNS) > 0).to(torch.bfloat16)
        if what != "whole":
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


# %%
# Time of a call, and the kernels' own time against the least bytes.

from compile_in_practice.figures import bars, lines
from compile_in_practice.replay import flat, measured_again, replay_records, table

records = replay_records(experiment)
for record in records:
    columns = {"what": "name", "ms": "median_ms:.4f", "speedup": "speedup:.2f"}
    columns |= {"kernels": "n_kernels:.0f", "kernel ms": "kernel_ms:.4f", "GB/s": "least_gb_s:.0f"}
    table(flat(record), {**columns, "difference": "relative:.0e"})

# %%
# On the largest input, :value:`records.fusion.pointwise_65536_eager.n_kernels:.0f` kernels
# become :value:`records.fusion.pointwise_65536_default.n_kernels:.0f`, and the call is
# :value:`records.fusion.pointwise_65536_default.speedup:.2f` times as fast. On the smallest
# the compiled call takes :value:`records.fusion.pointwise_64_default.median_ms * 1e3:.0f` µs against
# :value:`records.fusion.pointwise_64_eager.median_ms * 1e3:.0f`, and its kernel runs for
# :value:`records.fusion.pointwise_64_default.share:.0%` of that: it waits for the CPU, not for memory. An
# empty launch took :value:`records.fusion.empty_launch_us:.1f` µs. With the product in front, the gain shrinks to
# :value:`records.fusion.whole_16384_default.speedup:.2f` times at the largest size: the product
# is the library's either way. At :value:`records.fusion.whole_1024_default.rows` rows it
# :verdict:`won on one lease and lost on the other <records.fusion.whole_1024_default.medians_ms[0] < records.fusion.whole_1024_eager.medians_ms[0] and records.fusion.whole_1024_default.medians_ms[1] > records.fusion.whole_1024_eager.medians_ms[1]>`.

for record in records:
    curves = {}
    for way in ("eager", "default"):
        rows = [r for r in flat(record) if r["what"] == "pointwise" and r["name"].endswith(way)]
        curves[way] = ([r["rows"] for r in rows], [r["median_ms"] for r in rows])
    lines(curves, x="rows of the input", y="ms a call", log_x=True, log_y=True)

# %%
# The fused kernel reaches
# :value:`records.fusion.pointwise_65536_default.least_gb_s / records.ceilings.copy_4096.gb_s:.2f`
# of the copy bandwidth, :verdict:`less than predicted <records.fusion.pointwise_65536_default.least_gb_s < 0.9 * records.ceilings.copy_4096.gb_s>`.
# The reason is arithmetic. The same bytes without ``gelu`` move at
# :value:`records.fusion.no_gelu_65536_default.least_gb_s / records.ceilings.copy_4096.gb_s:.2f` of
# it, and with the approximation by ``tanh`` at
# :value:`records.fusion.tanh_gelu_65536_default.least_gb_s / records.ceilings.copy_4096.gb_s:.2f`.

for record in records:
    large = tuple(f"{chain}_65536_default" for chain in ("pointwise", "tanh_gelu", "no_gelu"))
    bars([record], unit="GB/s", whole=("least_gb_s", "rate"), part=None, only=large, form="{:.0f}")

for record in records:
    measured_again(record)

# %%
# Fuse chains of pointwise operators over large tensors, and expect a loss on small ones.
# Where a fused kernel stays under the bandwidth, look at its arithmetic: ``approximate="tanh"``
# gives this one :value:`records.fusion.pointwise_65536_default.kernel_ms / records.fusion.tanh_gelu_65536_default.kernel_ms:.2f`
# times the speed, with other digits: it is another formula.
#
# **What this does not show.** Other chains: a reduction in the middle, or an input that a
# later kernel reads from cache, changes the bytes. Count yours.
