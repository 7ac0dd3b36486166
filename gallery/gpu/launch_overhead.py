"""
3. Launch overhead: a GPT-2-sized model from one token to sixteen thousand
==========================================================================

**Question.** At how many tokens does each mode stop paying?

**Prediction.** With few tokens the GPU waits for launches, so CUDA graphs win by a factor.
With many it is busy, and every mode comes close to eager.

**Answer.** Up to :value:`records.launch_overhead.t2048_eager.n_tokens` tokens ``reduce-overhead``
:verdict:`wins on both leases <max(records.launch_overhead.t1_reduce_overhead.medians_ms) < min(records.launch_overhead.t1_eager.medians_ms) and max(records.launch_overhead.t16_reduce_overhead.medians_ms) < min(records.launch_overhead.t16_eager.medians_ms) and max(records.launch_overhead.t256_reduce_overhead.medians_ms) < min(records.launch_overhead.t256_eager.medians_ms) and max(records.launch_overhead.t2048_reduce_overhead.medians_ms) < min(records.launch_overhead.t2048_eager.medians_ms)>`:
at one token it is :value:`records.launch_overhead.t1_reduce_overhead.speedup:.1f` times as fast as eager on one,
:value:`records.launch_overhead.t1_eager.medians_ms[1] / records.launch_overhead.t1_reduce_overhead.medians_ms[1]:.1f`
times on the other. At :value:`records.launch_overhead.t16384_eager.n_tokens` the GPU is busy anyway, and the default is
:verdict:`ahead of it <max(records.launch_overhead.t16384_default.medians_ms) < min(records.launch_overhead.t16384_reduce_overhead.medians_ms)>`.
The default is no safe gain up to there: on one lease it
:verdict:`lost to eager at both ends <records.launch_overhead.t1_default.medians_ms[1] > records.launch_overhead.t1_eager.medians_ms[1] and records.launch_overhead.t2048_default.medians_ms[1] > records.launch_overhead.t2048_eager.medians_ms[1]>`.
The prediction holds.

**Record it** in a clone on a CUDA machine, with torch alone:

.. code-block:: console

   $ PYTHONPATH=src python -m compile_in_practice.record --experiment launch_overhead

Elsewhere this page replays what was recorded.
"""

# %%
# One forward of a model with random weights in bf16. More tokens than positions become
# more rows of the batch.

import torch

from compile_in_practice.contest import DEFAULT, MAX_AUTOTUNE, REDUCE_OVERHEAD, contest
from compile_in_practice.gpt import GPT
from compile_in_practice.timing import device

LONGEST = 1024  # positions of the model: more tokens become more rows of the batch
CASES = [
    {"n_tokens": 1, "modes": ["default", "reduce_overhead", "max_autotune"]},
    {"n_tokens": 16, "modes": ["default", "reduce_overhead"]},
    {"n_tokens": 256, "modes": ["default", "reduce_overhead"]},
    {"n_tokens": 2048, "modes": ["default", "reduce_overhead"]},
    {"n_tokens": 16384, "modes": ["default", "reduce_overhead", "max_autotune"]},
]
TRY_CASES = [{"n_tokens": 4, "modes": ["default"], "n_layer": 1}]
OPTIONS = {
    "default": DEFAULT,
    "reduce_overhead": REDUCE_OVERHEAD,
    "max_autotune": MAX_AUTOTUNE,
}


def experiment(*, n_tokens, modes, n_layer=12):
    """Eager and each mode at one number of tokens; bf16 weights, no gradients."""
    torch.manual_seed(0)
    model = GPT(n_layer=n_layer).to(device(), torch.bfloat16).eval()
    shape = (max(1, n_tokens // LONGEST), min(n_tokens, LONGEST))  # (B, T)

    def make(seed):
        generator = torch.Generator().manual_seed(seed)
        return (torch.randint(50257, shape, generator=generator).to(device()),)

    contenders = {mode: OPTIONS[mode] for mode in modes}
    with torch.no_grad():
        rows = contest(model, make, contenders, label=f"t{n_tokens}_", warm=n_tokens == 1)
    for each in rows:
        each.setdefault("facts", {})["weight_gb"] = round(model.weight_gb(), 4)
    return rows


# %%
# Time of a call, the share of it in which a kernel ran, and compile seconds.

from compile_in_practice.figures import lines
from compile_in_practice.replay import flat, measured_again, replay_records, table

records = replay_records(experiment)
for record in records:
    columns = {
        "what": "name",
        "ms": "median_ms:.3f",
        "speedup": "speedup:.2f",
        "busy": "share:.2f",
        "p10": "low_ms:.3f",
        "p90": "high_ms:.3f",
    }
    table(
        flat(record),
        {**columns, "cold s": "cold_s:.1f", "warm s": "warm_s:.1f", "differs": "relative:.0e"},
    )

# %%
# With a single token the GPU works for
# :value:`records.launch_overhead.t1_eager.share:.0%` of eager's time, and
# ``reduce-overhead`` is :value:`records.launch_overhead.t1_reduce_overhead.speedup:.1f`
# times as fast. At the largest size it is
# :value:`records.launch_overhead.t16384_reduce_overhead.speedup:.2f` times: the GPU was
# busy for :value:`records.launch_overhead.t16384_eager.share:.0%` of the time already.
#
# ``max-autotune`` pays at neither size that was recorded. At one token its replay is
# :verdict:`slower than that of reduce-overhead <min(records.launch_overhead.t1_max_autotune.medians_ms) > max(records.launch_overhead.t1_reduce_overhead.medians_ms)>`
# and compiles for :value:`records.launch_overhead.t1_max_autotune.cold_s:.0f` s. At the largest size it
# compiles for :value:`records.launch_overhead.t16384_max_autotune.cold_s:.0f` s and
# :verdict:`is no faster than the default <min(records.launch_overhead.t16384_max_autotune.medians_ms) > max(records.launch_overhead.t16384_default.medians_ms)>`.
#
# Measure the busy share of your own step first. Near one, CUDA graphs have nothing to remove;
# near zero, take ``mode="reduce-overhead"``.
#
# A decode step must read every weight once:
# :value:`records.launch_overhead.t1_eager.weight_gb:.3f` GB at the copy bandwidth are
# :value:`records.launch_overhead.t1_eager.weight_gb / records.ceilings.copy_4096.gb_s * 1e3:.3f`
# ms. ``reduce-overhead`` takes :value:`records.launch_overhead.t1_reduce_overhead.median_ms:.3f` ms, and its
# :value:`records.launch_overhead.t1_reduce_overhead.n_kernels:.0f` kernels run for
# :value:`records.launch_overhead.t1_reduce_overhead.kernel_ms:.3f` of them: most of what is left to gain
# lies in the kernels, not in launches.
#
# An empty launch took :value:`records.launch_overhead.empty_launch_us:.1f` µs on this virtual
# machine. Where launches are cheaper, eager waits less and ``reduce-overhead`` gains less.

for record in records:
    curves = {}
    for way in ("eager", "default", "reduce_overhead", "max_autotune"):
        rows = [row for row in flat(record) if row["name"].partition("_")[2] == way]
        places = [row["n_tokens"] for row in rows]
        curves[way] = (places, [row["median_ms"] for row in rows])
    lines(curves, x="tokens in one forward", y="ms", log_x=True, log_y=True)

for record in records:
    measured_again(record)

# %%
# Eager and the default wait for the CPU, and moved by up to
# :value:`records.launch_overhead.moved:.0%` between leases; ``reduce-overhead`` at one token moved by
# :value:`abs(records.launch_overhead.t1_reduce_overhead.medians_ms[1] / records.launch_overhead.t1_reduce_overhead.medians_ms[0] - 1):.1%`.
# At :value:`records.launch_overhead.t256_eager.n_tokens` tokens eager's own samples run from
# :value:`records.launch_overhead.t256_eager.low_ms:.1f` to :value:`records.launch_overhead.t256_eager.high_ms:.1f` ms, in two groups.
# So a speedup here says as much about the CPU as about the mode. On the other lease the default was
# :value:`records.launch_overhead.t1_eager.medians_ms[1] / records.launch_overhead.t1_default.medians_ms[1]:.2f`
# times as fast as eager at one token.
#
# **What this does not show.** ``max-autotune`` between the two sizes, and a warm compile at more than one
# token: not recorded. A machine that launches faster. Warm is a second compile in the
# same process, after a Dynamo reset. For a mode with CUDA graphs the peak leaves out what the graphs' own pool holds.
