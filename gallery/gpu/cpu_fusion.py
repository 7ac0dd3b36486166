"""
14. Fusion on a CPU, counted
============================

**Question.** How many kernels does Inductor generate for ``(x.sin() * 2).sum()`` and for
``gelu(x @ W + b) * mask``?

**Prediction.** One for the first. One for the pointwise chain of the second, beside one
call of the library's matrix product.

**Recorded** where there is a C++ compiler, on two releases; a reader's build has none, so
this page replays. ``python -m compile_in_practice.record --experiment cpu_fusion`` takes
a minute on a CPU.
"""

# %%
# The functions, and what counts: generated kernels, and calls of a library.

import torch
import torch.nn.functional as F
from torch._inductor import list_mode_options, metrics
from torch._inductor.utils import fresh_cache, run_and_get_code

from compile_in_practice.contest import attempt, difference

CASES = [{"what": "reduction"}, {"what": "pointwise"}, {"what": "whole"}, {"what": "modes"}]
TRY_CASES = CASES
ROWS, WIDTH_IN, WIDTH_OUT = 64, 128, 256


def reduction(x):
    """Three eager operations: sin, multiply, sum."""
    return (x.sin() * 2).sum()


def pointwise(h, b, mask):
    """Three eager operations: add, gelu, multiply."""
    return F.gelu(h + b) * mask


def whole(x, w, b, mask):
    """The chain with its matrix product."""
    return F.gelu(x @ w + b) * mask


def inputs(what):
    """Seeded random inputs of one function."""
    torch.manual_seed(0)
    h, b = torch.randn(ROWS, WIDTH_OUT), torch.randn(WIDTH_OUT)
    mask = (torch.rand(ROWS, WIDTH_OUT) > 0.5).float()
    if what == "reduction":
        return (torch.randn(8),)
    if what == "pointwise":
        return h, b, mask
    return torch.randn(ROWS, WIDTH_IN), torch.randn(WIDTH_IN, WIDTH_OUT), b, mask


# %%
# The experiment compiles each with Inductor's defaults and compares with eager. Its last
# row is what each ``mode`` stands for.


def experiment(*, what):
    """Kernels of one function, or the options behind each mode."""
    if what == "modes":
        return [attempt("modes", modes)]
    return [attempt(what, lambda: count(what))]


def count(what):
    """Generated kernels and library calls in the code of one function."""
    function, arguments = (
        {"reduction": reduction, "pointwise": pointwise, "whole": whole}[what],
        inputs(what),
    )
    torch._dynamo.reset()
    metrics.reset()
    with fresh_cache():
        out, code = run_and_get_code(torch.compile(function), *arguments)
    n_library = sum("extern_kernels." in line for line in code[0].splitlines() if "(" in line)
    facts = {"n_generated": metrics.generated_kernel_count, "n_library": n_library}
    return {"facts": facts, "correct": difference(out, function(*arguments))}


def modes():
    """Names of the modes, and the options of each as text."""
    options = list_mode_options()
    return {
        "facts": {
            "names": sorted(options),
            **{key.replace("-", "_"): str(options[key]) for key in options},
        }
    }


# %%
# Each chain is one kernel. The matrix product stays a call of the library, and takes the
# bias with it.

from compile_in_practice.replay import flat, replay_records, table

records = replay_records(experiment)
for record in records:
    print()
    counted = [row for row in flat(record) if "n_generated" in row]
    columns = {"function": "name", "generated": "n_generated", "library": "n_library"}
    table(counted, {**columns, "relative difference": "relative:.1e"})

# %%
# ``reduce-overhead`` is CUDA graphs; ``max-autotune`` adds templates and tuning to them;
# ``max-autotune-no-cudagraphs`` drops the graphs. A newer release may know more names.

for record in records:
    print(f"\ntorch {record.torch}")
    for name, value in record.values["modes"].items():
        if name not in {"status", "what", "names"}:
            print(f"  {name:28} {value}")

# %%
# **What this does not show.** Speed, and what a GPU does with the same chain: the second
# experiment of this gallery has bytes and bandwidth.
