"""
6. Compile time: whole, by block, nested; cold and warm
=======================================================
"""

# %%

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
