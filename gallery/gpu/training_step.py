"""
8. A training step
==================

**Question.** What does each way to compile a GPT-2-sized training step save, and after how
many steps is its compile time paid back?

**Prediction.** Compiling forward and loss saves kernel time; CUDA graphs save the launches
that are left.

**Answer.** The prediction holds. ``reduce-overhead`` cuts :value:`records.training_step.eager.median_ms:.0f` ms to
:value:`records.training_step.reduce_overhead.median_ms:.0f` and is paid back after
:value:`min(paid_back(records.training_step.reduce_overhead, records.training_step.eager)):.0f`
to :value:`max(paid_back(records.training_step.reduce_overhead, records.training_step.eager)):.0f` steps. ``max-autotune`` compiles for :value:`records.training_step.max_autotune.cold_s:.0f` s and is
:verdict:`slower still than reduce-overhead <records.training_step.max_autotune.low_ms > max(records.training_step.reduce_overhead.medians_ms)>`.

**Record it** in a clone on a CUDA machine, with torch alone:

.. code-block:: console

   $ PYTHONPATH=src python -m compile_in_practice.record --experiment training_step

Elsewhere this page replays what was recorded.
"""

# %%
# Forward and loss in bf16 autocast, backward, fused AdamW with a tensor learning rate. The
# losses of the first steps are compared with eager's.

import torch
import torch.nn.functional as F
from torch._inductor.utils import fresh_cache

from compile_in_practice.contest import attempt, wake_compiler
from compile_in_practice.gpt import GPT
from compile_in_practice.timing import busy, device, sample, seconds

B, T = 8, 1024  # sequences in a batch, tokens in a sequence
N_CHECKED = 4  # steps whose losses are compared with eager's
VARIANTS = (
    "eager",
    "default",
    "reduce_overhead",
    "whole_step",
    "compiled_autograd",
    "max_autotune",
)
CASES = [{"variant": variant} for variant in VARIANTS]
TRY_CASES = [{"variant": variant, "batch": 1, "length": 8, "n_layer": 1} for variant in VARIANTS]


def experiment(*, variant, batch=B, length=T, n_layer=12):
    """One way to compile the step: ms, memory, tokens a second, losses against eager."""
    return [attempt(variant, lambda: train(variant, batch, length, n_layer))]


def build(n_layer):
    """A seeded model with its optimizer; the learning rate is a tensor."""
    torch.manual_seed(0)
    with torch.device(device()):
        model = GPT(n_layer=n_layer)
    optimizer = torch.optim.AdamW(model.parameters(), lr=torch.tensor(3e-4), fused=True)
    return model, optimizer


def loss_of(model, x, y):
    """Mean cross entropy of logits (B, T, V), in bf16 autocast."""
    with torch.autocast(device(), dtype=torch.bfloat16):
        return F.cross_entropy(model(x).flatten(0, 1).float(), y.flatten())


def stepper(variant, model, optimizer):
    """The function that does one step and returns its loss."""
    forward, update = loss_of, optimizer.step
    if variant in {"default", "compiled_autograd"}:
        forward = torch.compile(loss_of)
    elif variant in {"reduce_overhead", "max_autotune"}:
        forward = torch.compile(loss_of, mode=variant.replace("_", "-"))

    def step(x, y):
        torch.compiler.cudagraph_mark_step_begin()
        loss = forward(model, x, y)
        loss.backward()
        update()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    return torch.compile(step) if variant == "whole_step" else step


def train(variant, batch, length, n_layer):
    """Fields of a row."""
    pairs = [
        tuple(torch.randint(50257, (2, batch, length), device=device())) for _ in range(N_CHECKED)
    ]
    expected = losses(stepper("eager", *build(n_layer)), pairs)
    wake_compiler()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    with (
        fresh_cache(),
        torch._dynamo.config.patch(compiled_autograd=variant == "compiled_autograd"),
    ):
        step = stepper(variant, *build(n_layer))
        found, first_s = [], []
        for x, y in pairs:
            first_s.append(seconds(lambda: found.append(float(step(x, y)))))
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        timing = sample(lambda: step(*pairs[0]), n_samples=15, limit_s=3)
        peak = torch.cuda.max_memory_allocated() / 1e9 if torch.cuda.is_available() else 0.0
        reserved = torch.cuda.memory_reserved() / 1e9 if torch.cuda.is_available() else 0.0
        work = busy(lambda: step(*pairs[0]), n_calls=2)
        warm_s = 0.0
        if variant != "eager":
            torch._dynamo.reset()
            step = stepper(variant, *build(n_layer))
            warm_s = sum(seconds(lambda xy=xy: step(*xy)) for xy in pairs[:2])
    gaps = [abs(a - e) / abs(e) for a, e in zip(found, expected, strict=True)]
    facts = {
        "tokens_per_s": batch * length / timing["median_ms"] * 1e3,
        "peak_gb": peak,
        "reserved_gb": reserved,
        "losses": found,
        "eager_losses": expected,
        "first_steps_s": first_s,
    }
    fields = {"timing": timing, "facts": facts}
    fields["correct"] = {
        "relative": max(gaps),
        "largest": max(gaps),
        "equal": found == expected,
    }
    if variant != "eager":
        fields["compile"] = {"cold_s": round(sum(first_s[:2]), 3), "warm_s": round(warm_s, 3)}
    if work is not None:
        fields["busy"] = {
            **work,
            "share": min(1.0, work["kernel_ms"] / timing["median_ms"]),
        }
    return fields


def losses(step, pairs):
    """Loss of each step."""
    return [float(step(x, y)) for x, y in pairs]


# %%
# The step in each way: ``cold`` and ``warm`` are compiles in seconds, ``paid`` the steps until the
# cold one is paid back, ``peak`` and ``reserved`` GB, ``losses`` their relative difference to eager.

from compile_in_practice.figures import bars
from compile_in_practice.replay import flat, measured_again, replay_records, table

records = replay_records(experiment)
for record in records:
    rows = flat(record)
    eager_ms = rows[0]["median_ms"]
    for row in rows[1:]:
        saved_ms = eager_ms - row["median_ms"]
        row["paid"] = f"{row['cold_s'] * 1e3 / saved_ms:.0f}" if saved_ms > 0 else "never"
    columns = {
        "step": "name",
        "ms": "median_ms:.1f",
        "p10": "low_ms:.1f",
        "p90": "high_ms:.1f",
        "busy": "share:.2f",
    }
    columns |= {"cold": "cold_s:.1f", "warm": "warm_s:.1f", "paid": "paid"}
    columns |= {"peak": "peak_gb:.1f", "reserved": "reserved_gb:.1f"}
    table(rows, {**columns, "losses": "relative:.0e"})

# %%
# Eager takes :value:`records.training_step.eager.median_ms:.1f` ms. Compiled, the kernels' time falls
# from :value:`records.training_step.eager.kernel_ms:.1f` ms to
# :value:`records.training_step.default.kernel_ms:.1f` ms, and the default mode then waits for the
# CPU: :value:`records.training_step.default.median_ms:.1f` ms. ``reduce-overhead`` removes that wait:
# :value:`records.training_step.reduce_overhead.median_ms:.1f` ms, or
# :value:`records.training_step.reduce_overhead.tokens_per_s:.0f` tokens a second against eager's
# :value:`records.training_step.eager.tokens_per_s:.0f`, where an empty launch takes
# :value:`records.training_step.empty_launch_us:.1f` µs.

for record in records:
    bars([record], unit="ms a step", whole=("median_ms", "step"), form="{:.1f}")

# %%
# ``max-autotune`` compiled for :value:`records.training_step.max_autotune.cold_s:.0f` s, and its kernels take
# :value:`records.training_step.max_autotune.kernel_ms:.1f` ms,
# :verdict:`no less <records.training_step.max_autotune.kernel_ms >= records.training_step.reduce_overhead.kernel_ms>`
# than the :value:`records.training_step.reduce_overhead.kernel_ms:.1f` of ``reduce-overhead``: what won the
# search one by one is no faster in the step. Its second compile took
# :value:`records.training_step.max_autotune.warm_s:.0f` s, those of the others
# :value:`records.training_step.default.warm_s:.1f` to :value:`records.training_step.whole_step.warm_s:.1f` s.
#
# Compiling the whole step takes longest of the others, :value:`records.training_step.whole_step.cold_s:.0f` s,
# and starts :verdict:`as many kernels as the default <records.training_step.whole_step.n_kernels == records.training_step.default.n_kernels>`,
# as does :verdict:`compiled autograd <records.training_step.compiled_autograd.n_kernels == records.training_step.default.n_kernels>`.
# The three wait for the CPU, and compiled autograd was
# :verdict:`ahead of the default on one lease and behind on the other <records.training_step.compiled_autograd.medians_ms[0] < records.training_step.default.medians_ms[0] and records.training_step.compiled_autograd.medians_ms[1] > records.training_step.default.medians_ms[1]>`; ``reduce-overhead`` was
# :verdict:`ahead on both <max(records.training_step.reduce_overhead.medians_ms) < min(records.training_step.default.medians_ms[0], records.training_step.default.medians_ms[1], records.training_step.whole_step.medians_ms[0], records.training_step.whole_step.medians_ms[1])>`.
#
# Compile forward and loss, and look at the busy share: at
# :value:`records.training_step.default.share:.0%` CUDA graphs pay. With
# :value:`records.training_step.reduce_overhead.cold_s:.0f` s of compiling and
# :value:`records.training_step.eager.median_ms - records.training_step.reduce_overhead.median_ms:.1f` ms saved a step
# they are paid back after
# :value:`paid_back(records.training_step.reduce_overhead, records.training_step.eager)[0]:.0f` steps,
# on the second lease after :value:`paid_back(records.training_step.reduce_overhead, records.training_step.eager)[1]:.0f`.
#
# After the steps torch has reserved :value:`records.training_step.eager.reserved_gb:.1f` GB in eager,
# :value:`records.training_step.default.reserved_gb:.1f` in the default mode,
# :value:`records.training_step.reduce_overhead.reserved_gb:.1f` with CUDA graphs. The peak in the table
# leaves out what lies in the graphs' pool; the reserve does not.

for record in records:
    measured_again(record)

# %%
# **What this does not show.** ``max-autotune`` on a second lease: not recorded. A machine that launches faster, where CUDA graphs gain less. Other sizes
# of batch and model.
