"""
6. Compile time: whole, by block and nested; cold and warm
==========================================================

**Question.** How does compile time grow with depth when a stack is compiled whole, by block,
or as nested regions? How much does a cache save in a new process?

**Prediction.** Whole grows with depth; by block it does not. A warm start still pays for
Dynamo.

**Answer.** At depth :value:`records.compile_time.whole_depth64.depth` whole takes
:value:`records.compile_time.whole_depth64.cold_s:.0f` s, nested regions
:value:`records.compile_time.nested_depth64.cold_s:.0f` s, by block
:value:`min(records.compile_time.regional_depth64.colds_s):.1f` to :value:`max(records.compile_time.regional_depth64.colds_s):.1f` s. The prediction holds but for one word: by block grows too, slowly. A local cache cuts a new process's first call from
:value:`records.compile_time.start_empty.first_call_s:.0f` to :value:`records.compile_time.start_local.first_call_s:.0f` s.

**Record it** in a clone on a CUDA machine, with torch alone:

.. code-block:: console

   $ PYTHONPATH=src python -m compile_in_practice.record --experiment compile_time

Elsewhere this page replays what was recorded.
"""

# %%
# A stack of Transformer blocks in bf16. Cold means an empty cache folder; warm a second
# compile in the same process.

import tempfile
import time

import torch
from torch import nn
from torch._inductor.utils import fresh_cache

from compile_in_practice.contest import attempt, difference, wake_compiler
from compile_in_practice.fresh import result, start
from compile_in_practice.gpt import Block
from compile_in_practice.timing import busy, device, sample, seconds

WIDTH, N_HEAD, B, T = 768, 12, 4, 512
CASES = [
    *({"way": way, "depth": 1} for way in ("whole", "regional", "nested")),
    *({"way": way, "depth": 4} for way in ("whole", "regional", "nested")),
    *({"way": way, "depth": 16} for way in ("whole", "regional", "nested")),
    {"way": "starts", "depth": 12},
    *({"way": way, "depth": 64} for way in ("regional", "nested", "whole")),
]
TRY_CASES = [
    *({"way": way, "depth": 2} for way in ("whole", "regional", "nested")),
    {"way": "starts", "depth": 1},
]


class Nested(nn.Module):
    """A block that the compiler traces once and calls again."""

    def __init__(self, block):
        super().__init__()
        self.block = block

    @torch.compiler.nested_compile_region
    def forward(self, x):
        return self.block(x)


def experiment(*, way, depth):
    """One way to compile a stack of blocks of one depth; or new processes, `starts`."""
    if way == "starts":
        return starts(depth)
    return [attempt(f"{way}_depth{depth}", lambda: compile_stack(way, depth))]


def stack(way, depth):
    """A stack of blocks in bf16, and its compiled form."""
    torch.manual_seed(0)
    with torch.device(device()):
        blocks = nn.Sequential(*(Block(WIDTH, N_HEAD) for _ in range(depth)))
    blocks = blocks.to(torch.bfloat16).eval()
    eager = nn.Sequential(*blocks)
    if way == "regional":
        for block in blocks:
            block.compile()
        return eager, nn.Sequential(*blocks)
    layers = [Nested(block) for block in blocks] if way == "nested" else list(blocks)
    return eager, torch.compile(nn.Sequential(*layers))


def compile_stack(way, depth):
    """Fields of a row: cold and warm seconds, steady ms, difference from eager."""
    wake_compiler()
    x, checked = (torch.randn(B, T, WIDTH, device=device(), dtype=torch.bfloat16) for _ in range(2))
    with torch.no_grad(), fresh_cache():
        eager = stack("whole", depth)[0]
        expected = eager(checked)
        eager_ms = sample(lambda: eager(x), n_samples=10)["median_ms"]
        compiled = stack(way, depth)[1]
        cold_s = seconds(lambda: compiled(x))
        torch._dynamo.reset()
        compiled = stack(way, depth)[1]
        warm_s = seconds(lambda: compiled(x))
        correct = difference(compiled(checked), expected)
        timing = sample(lambda: compiled(x))
        work = busy(lambda: compiled(x))
    fields = {"timing": timing, "correct": correct, "facts": {"eager_ms": eager_ms}}
    fields["compile"] = {"cold_s": round(cold_s, 3), "warm_s": round(warm_s, 3)}
    if work is not None:
        fields["busy"] = {
            **work,
            "share": min(1.0, work["kernel_ms"] / timing["median_ms"]),
        }
    return fields


def starts(depth):
    """New processes: an empty cache, the same folder again, and an artifact in an empty one."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, cache in (("empty", "a"), ("local", "a"), ("mega", "b")):
            variables = {
                "TORCHINDUCTOR_CACHE_DIR": f"{folder}/{cache}",
                "TRITON_CACHE_DIR": f"{folder}/{cache}/triton",
            }
            knobs = {"kind": kind, "depth": depth, "artifact": f"{folder}/artifact"}
            run = {"function": first_call, "knobs": knobs, "variables": variables}
            rows.append(attempt(f"start_{kind}", lambda run=run: {"facts": result(start(**run))}))
    return rows


def first_call(kind, depth, artifact):
    """Seconds of the first compiled call in this process, and of its parts."""
    from torch._dynamo.utils import calculate_time_spent, counters  # noqa: PLC0415  in the new process

    load_s = 0.0
    if kind == "mega":
        begin = time.perf_counter()
        with open(artifact, "rb") as file:  # noqa: PTH123
            torch.compiler.load_cache_artifacts(file.read())
        load_s = time.perf_counter() - begin
    x = torch.randn(B, T, WIDTH, device=device(), dtype=torch.bfloat16)
    compiled = stack("whole", depth)[1]
    with torch.no_grad():
        first_s = seconds(lambda: compiled(x))
    size_mb = 0.0
    if kind == "empty":
        saved = torch.compiler.save_cache_artifacts()
        with open(artifact, "wb") as file:  # noqa: PTH123
            size_mb = file.write(saved[0]) / 1e6
    spent = calculate_time_spent()
    frames_s, backend_s = (
        spent.get("entire_frame_compile", 0.0),
        spent.get("backend_compile", 0.0),
    )
    hits = (
        counters["inductor"]["fxgraph_cache_hit"] + counters["aot_autograd"]["autograd_cache_hit"]
    )
    return {
        "first_call_s": first_s,
        "compile_s": frames_s,
        "dynamo_s": max(0.0, frames_s - backend_s),
        "load_s": load_s,
        "artifact_mb": size_mb,
        "n_hits": hits,
    }


# %%
# Compile seconds and the steady state.

from compile_in_practice.figures import lines
from compile_in_practice.replay import flat, measured_again, replay_records, table

records = replay_records(experiment)
for record in records:
    stacks = [row for row in flat(record) if "cold_s" in row]
    columns = {
        "stack": "name",
        "cold s": "cold_s:.1f",
        "warm s": "warm_s:.2f",
        "ms": "median_ms:.2f",
    }
    table(
        stacks,
        {
            **columns,
            "eager ms": "eager_ms:.2f",
            "kernel ms": "kernel_ms:.2f",
            "difference": "relative:.0e",
        },
    )
    print()
    processes = [row for row in flat(record) if "first_call_s" in row]
    columns = {
        "new process": "name",
        "first call s": "first_call_s:.1f",
        "Dynamo s": "dynamo_s:.1f",
    }
    table(
        processes,
        {**columns, "load s": "load_s:.1f", "artifact MB": "artifact_mb:.1f", "hits": "n_hits"},
    )

# %%
# From depth :value:`records.compile_time.whole_depth4.depth` to
# :value:`records.compile_time.whole_depth64.depth`, whole grows from
# :value:`records.compile_time.whole_depth4.cold_s:.1f` s to
# :value:`records.compile_time.whole_depth64.cold_s:.1f` s. By block the first call takes
# :value:`min(records.compile_time.regional_depth16.colds_s):.1f` s at depth
# :value:`records.compile_time.regional_depth16.depth` and, over both leases,
# :value:`min(records.compile_time.regional_depth64.colds_s):.1f` to
# :value:`max(records.compile_time.regional_depth64.colds_s):.1f` s at the largest: it
# :verdict:`grows <min(records.compile_time.regional_depth64.colds_s) > max(records.compile_time.regional_depth16.colds_s)>`,
# though :verdict:`far less than whole <max(records.compile_time.regional_depth64.colds_s) < records.compile_time.whole_depth64.cold_s / 10>`.
# Nested regions lie
# between, at :value:`records.compile_time.nested_depth64.cold_s:.1f` s. Whole and nested were compiled at this
# depth on one lease only.

for record in records:
    curves = {}
    for way in ("whole", "nested", "regional"):
        rows = [r for r in flat(record) if r.get("way") == way and "cold_s" in r]
        curves[way] = ([r["depth"] for r in rows], [r["cold_s"] for r in rows])
    lines(curves, x="blocks", y="cold compile, s", log_x=True)

# %%
# The kernels' time is about the same for each, and with this batch the GPU is busy for
# :value:`records.compile_time.whole_depth64.share:.0%` of the deepest step. So every way waits for
# the CPU, and none is clearly ahead: eager takes
# :value:`records.compile_time.whole_depth64.eager_ms:.1f` ms, whole
# :value:`records.compile_time.whole_depth64.median_ms:.1f`, by block
# :value:`records.compile_time.regional_depth64.median_ms:.1f`, nested
# :value:`records.compile_time.nested_depth64.median_ms:.1f`. An empty launch took
# :value:`records.compile_time.empty_launch_us:.1f` µs. Compile the repeated block when start-up hurts.
#
# With a local cache a new process pays
# :value:`records.compile_time.start_local.first_call_s:.1f` s instead of
# :value:`records.compile_time.start_empty.first_call_s:.1f` s, of which Dynamo's own part is
# :value:`records.compile_time.start_local.dynamo_s:.1f` s. The mega-cache does as well in an
# empty folder: :value:`records.compile_time.start_mega.first_call_s:.1f` s, after
# :value:`records.compile_time.start_mega.load_s:.1f` s of loading. Each of the three processes was started once.
#
# The steady times below moved by up to a factor of
# :value:`records.compile_time.moved + 1:.1f` between leases. The earlier lease shared its host with
# other work, and these steps wait for the CPU: compare ways inside one recording only.

for record in records:
    measured_again(record)

# %%
# **What this does not show.** Training, which compiles a backward too. The first case pays for
# what a process loads once, so depth one looks dear. Eager was timed beside each way, and its
# own time moves with the CPU as well.
