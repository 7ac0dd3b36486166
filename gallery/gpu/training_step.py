"""
8. A training step
==================

**Question.** What does each way to compile a GPT-2-sized training step save, and after how
many steps is its compile time paid back?

**Prediction.** Compiling forward and loss saves kernel time; CUDA graphs save the launches
that are left.

**Record it** in a clone on a CUDA machine, with torch alone: ``PYTHONPATH=src python -m compile_in_practice.record --experiment training_step``.
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
# The step in each way, and the steps until it has paid for its compile.

from compile_in_practice.figures import bars
from compile_in_practice.replay import flat, replay_records, table

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
        "tokens/s": "tokens_per_s:.0f",
    }
    columns |= {"cold s": "cold_s:.1f", "paid after": "paid", "peak GB": "peak_gb:.1f"}
    table(rows, {**columns, "losses differ": "relative:.0e"})

# %%
# Eager takes :value:`records.training_step.eager.median_ms:.1f` ms. The default mode takes
# :value:`records.training_step.default.median_ms:.1f` ms, because it cuts the kernels' time from
# :value:`records.training_step.eager.kernel_ms:.1f` ms to
# :value:`records.training_step.default.kernel_ms:.1f` ms. ``reduce-overhead`` removes most of what is
# left beside the kernels: :value:`records.training_step.reduce_overhead.median_ms:.1f` ms, where an empty launch
# takes :value:`records.training_step.empty_launch_us:.1f` us.

for record in records:
    bars([record], unit="ms a step", whole=("median_ms", "step"), form="{:.1f}")

# %%
# Compiling the whole step
# :verdict:`loses to forward and loss alone <records.training_step.whole_step.median_ms > records.training_step.default.median_ms>`,
# and takes longest to compile. So does compiled autograd
# :verdict:`lose <records.training_step.compiled_autograd.low_ms > records.training_step.default.high_ms>` to it:
# :value:`records.training_step.compiled_autograd.median_ms:.1f` ms, with the same kernels and more work on the CPU.
# ``max-autotune`` has no row: it was still searching when the recording's
# :value:`records.training_step.seconds:.0f` s were over.
#
# Compile forward and loss. At
# :value:`records.training_step.default.cold_s:.0f` s of compiling and
# :value:`records.training_step.eager.median_ms - records.training_step.default.median_ms:.1f` ms saved a step, the default is paid back after
# :value:`records.training_step.default.cold_s * 1e3 / (records.training_step.eager.median_ms - records.training_step.default.median_ms):.0f`
# steps. Then look at the busy share, and add CUDA graphs when it is low.
#
# **What this does not show.** What the graphs' pool holds: the peak is the allocator's, and
# memory inside a recorded graph is not in it. A machine that launches faster gains less from
# CUDA graphs. One lease: an earlier version of the script, on a host shared with other work, found eager
# and the default nearly equal, both waiting for the CPU.
