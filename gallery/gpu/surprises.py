"""
13. Surprises: a skipped cache, other digits, more memory, the price of guards
==============================================================================

**Question.** When does a decode step's cache stop CUDA graphs? Why does a compiled bf16 result
differ from eager? When does compiled code need more memory? What do guards cost for each call?

**Prediction.** A cache handed in is a mutated input and is skipped; marked static it is not. The
compiled result is nearer to float64. Recordings for each shape hold memory. Guards cost
microseconds, more with more modules.

**Answer.** A cache that is not marked static
:verdict:`stops them <records.surprises.cache_argument.n_skips == 1>`. The compiled digits are
:verdict:`nearer to float64 <records.surprises.digits_default.relative_to_float64 < records.surprises.digits_eager.relative_to_float64>`
than eager's. Recorded lengths hold
:verdict:`more memory in narrow layers <records.surprises.memory1024_reduce_overhead.reserved_gb > records.surprises.memory1024_eager.reserved_gb>` and
:verdict:`less in wide ones <records.surprises.memory4096_reduce_overhead.reserved_gb < records.surprises.memory4096_eager.reserved_gb>`,
which was not predicted. What guards cost stays open: with a hundred parameters the medians differ by
:value:`records.surprises.guards100_compiled.median_us - records.surprises.guards100_unguarded.median_us:.0f` µs a
call, the fastest samples by
:value:`min(records.surprises.guards100_compiled.samples_us) - min(records.surprises.guards100_unguarded.samples_us):.0f`.

**Record it** in a clone on a CUDA machine, with torch alone:

.. code-block:: console

   $ PYTHONPATH=src python -m compile_in_practice.record --experiment surprises

Elsewhere this page replays what was recorded.
"""

# %%
# Four small experiments, each against eager.

import time

import torch
import torch.nn.functional as F
from torch import nn
from torch._dynamo.utils import counters
from torch._inductor.utils import fresh_cache

from compile_in_practice.contest import attempt, difference, wake_compiler
from compile_in_practice.timing import device, sample, synchronize

C = 768  # width of the cached layers
CASES = [
    {"what": "cache", "size": 12},  # layers
    {"what": "digits", "size": 4096},
    *({"what": "memory", "size": size} for size in (1024, 4096)),
    *({"what": "guards", "size": n_modules} for n_modules in (1, 10, 100)),
]
TRY_CASES = [{"what": what, "size": 2} for what in ("cache", "digits", "memory", "guards")]


def experiment(*, what, size):
    """Rows of one surprise."""
    kinds = {"cache": cache, "digits": digits, "memory": memory, "guards": guards}
    with torch.no_grad():
        return kinds[what](size)


class CachedLayer(nn.Module):
    """One layer that writes what it computed to a cache, as a decode step does."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(
            nn.LayerNorm(C), nn.Linear(C, 4 * C), nn.GELU(), nn.Linear(4 * C, C)
        )

    def forward(self, x, position, kept):
        x = x + self.inner(x)
        kept.index_copy_(0, position, x)
        return x + kept.mean(0, keepdim=True)


class CachedStack(nn.Module):
    """Layers with one cache tensor each, (T, C), handed in by the caller."""

    def __init__(self, n_layers):
        super().__init__()
        self.layers = nn.ModuleList(CachedLayer() for _ in range(n_layers))

    def forward(self, x, position, caches):
        for layer, kept in zip(self.layers, caches, strict=True):
            x = layer(x, position, kept)
        return x


def cache(n_layers):
    """A step that writes to caches: a mutated input, unless its address is marked static."""
    torch.manual_seed(0)
    with torch.device(device()):
        model = CachedStack(n_layers).to(torch.bfloat16)
        x = torch.randn(1, C, dtype=torch.bfloat16)
        position = torch.tensor([3])

    def measure(way):
        caches = [
            torch.zeros(128, C, dtype=torch.bfloat16, device=device()) for _ in range(n_layers)
        ]
        expected = model(x, position, [kept.clone() for kept in caches])
        if way == "static_address":
            for kept in caches:
                torch._dynamo.mark_static_address(kept)
        function = model if way == "eager" else torch.compile(model, mode="reduce-overhead")
        counters.clear()
        with fresh_cache():
            for _ in range(3):
                out = function(x, position, caches)
            fields = {"correct": difference(out, expected)}
            fields["timing"] = sample(lambda: function(x, position, caches))
        fields["facts"] = {"n_skips": counters["inductor"]["cudagraph_skips"]}
        return fields

    return [
        attempt(f"cache_{way}", lambda way=way: measure(way))
        for way in ("eager", "argument", "static_address")
    ]


def chain(x, w, b):
    """Five operations: eager rounds to bf16 after each, a fused kernel at the end."""
    return F.gelu(x * w + b) * x + w


def digits(size):
    """bf16 results against float64: eager, compiled, and compiled with eager's roundings."""
    torch.manual_seed(0)
    inputs = [torch.randn(size, size, device=device(), dtype=torch.bfloat16) for _ in range(3)]
    exact = chain(*[value.double() for value in inputs])
    eager = chain(*inputs)
    ways = {"default": {}, "emulated": {"emulate_precision_casts": True}}

    def compare(way):
        with fresh_cache():
            out = torch.compile(chain, options=ways[way])(*inputs)
        to_exact, to_eager = difference(out, exact), difference(out, eager)
        return {
            "correct": to_eager,
            "facts": {"relative_to_float64": to_exact["relative"]},
        }

    rows = [
        attempt(
            "digits_eager",
            lambda: {"facts": {"relative_to_float64": difference(eager, exact)["relative"]}},
        )
    ]
    return rows + [attempt(f"digits_{way}", lambda way=way: compare(way)) for way in ways]


def memory(size):
    """Peak and held memory of a small network, eager and with CUDA graphs."""
    layers = [nn.Linear(size, size) for _ in range(8)]
    model = nn.Sequential(*layers).to(device(), torch.bfloat16)
    inputs = [
        torch.randn(size * k // 8, size, device=device(), dtype=torch.bfloat16) for k in range(1, 9)
    ]
    ways = {
        "eager": None,
        "default": {},
        "reduce_overhead": {"mode": "reduce-overhead"},
    }

    def measure(options):
        function = model if options is None else torch.compile(model, dynamic=True, **options)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        with fresh_cache():
            for _ in range(3):
                for x in inputs:
                    function(x)
            synchronize()
        if not torch.cuda.is_available():
            return {"facts": {"peak_gb": 0.0, "reserved_gb": 0.0}}
        facts = {
            "peak_gb": torch.cuda.max_memory_allocated() / 1e9,
            "reserved_gb": torch.cuda.memory_reserved() / 1e9,
        }
        return {"facts": facts}

    return [
        attempt(f"memory{size}_{way}", lambda o=options: measure(o))
        for way, options in ways.items()
    ]


class Adders(nn.Module):
    """Small modules, each of which adds its own parameter: each is guarded."""

    def __init__(self, n_modules):
        super().__init__()
        self.scales = nn.ParameterList(
            nn.Parameter(torch.randn(8, device=device())) for _ in range(n_modules)
        )

    def forward(self, x):
        for scale in self.scales:
            x = x + scale
        return x


def guards(n_modules):
    """CPU microseconds of a call: eager, compiled, and compiled without checking guards."""
    model = Adders(n_modules)
    x = torch.randn(8, device=device())
    wake_compiler()

    def measure(way):
        function = model if way == "eager" else torch.compile(model)
        for _ in range(5):
            function(x)
        if way == "unguarded":
            with torch.compiler.set_stance(skip_guard_eval_unsafe=True):
                return {"facts": call_us(function, x)}
        return {"facts": call_us(function, x)}

    return [
        attempt(f"guards{n_modules}_{way}", lambda way=way: measure(way))
        for way in ("eager", "compiled", "unguarded")
    ]


def call_us(function, x):
    """Median CPU microseconds of a call that does not wait for the GPU; ten samples of 200."""
    samples = []
    for _ in range(10):
        synchronize()
        begin = time.perf_counter()
        for _ in range(200):
            function(x)
        samples.append((time.perf_counter() - begin) / 200 * 1e6)
    synchronize()
    return {"samples_us": samples, "median_us": sorted(samples)[5]}


# %%
# A step that writes to a cache which the caller hands in.

from compile_in_practice.figures import bars, lines
from compile_in_practice.replay import flat, measured_again, replay_records, table

records = replay_records(experiment)
for record in records:
    rows = [row for row in flat(record) if row["what"] == "cache"]
    columns = {"cache": "name", "ms": "median_ms:.3f", "p10": "low_ms:.3f", "p90": "high_ms:.3f"}
    table(rows, {**columns, "skips": "n_skips", "to eager": "relative:.0e"})

# %%
# Handed in as an argument, the cache is a mutated input, and CUDA graphs are
# :verdict:`skipped <records.surprises.cache_argument.n_skips == 1>`. After
# ``torch._dynamo.mark_static_address(cache)`` they are
# :verdict:`not <records.surprises.cache_static_address.n_skips == 0>`, and the step takes
# :value:`records.surprises.cache_static_address.median_ms:.2f` ms instead of
# :value:`records.surprises.cache_argument.median_ms:.2f`. Mark each cache tensor once, before the first
# call, and keep writing to that same tensor. An empty launch takes
# :value:`records.surprises.empty_launch_us:.1f` µs here.

for record in records:
    bars([record], unit="ms a step", only="cache_", shorten="cache_", part=None)

# %%
# The digits of five operations in bf16, against float64.

for record in records:
    rows = [row for row in flat(record) if row["what"] == "digits"]
    columns = {"result": "name", "to float64": "relative_to_float64:.1e"}
    table(rows, {**columns, "to eager": "relative:.0e"})

# %%
# The compiled result differs from eager's and is
# :verdict:`nearer to float64 <records.surprises.digits_default.relative_to_float64 < records.surprises.digits_eager.relative_to_float64>`:
# eager rounds to bf16 after each operator, the fused kernel once at the end. With
# ``options={"emulate_precision_casts": True}`` the kernel rounds where eager does, and the
# difference from eager falls to :value:`records.surprises.digits_emulated.relative:.0e`. So compare a
# bf16 model with float64, not with eager.

for record in records:
    field = ("relative_to_float64", "error")
    name = "relative error to float64"
    bars(
        [record],
        unit=name,
        only="digits_",
        shorten="digits_",
        whole=field,
        part=None,
        form="{:.4f}",
    )

# %%
# Memory of eight lengths through eight linear layers.

for record in records:
    rows = [row for row in flat(record) if row["what"] == "memory"]
    table(rows, {"network": "name", "peak GB": "peak_gb:.3f", "reserved GB": "reserved_gb:.3f"})

# %%
# With narrow layers ``reduce-overhead`` holds
# :value:`records.surprises.memory1024_reduce_overhead.reserved_gb / records.surprises.memory1024_eager.reserved_gb:.1f`
# times what eager reserves. With wide ones it holds
# :verdict:`less <records.surprises.memory4096_reduce_overhead.reserved_gb < records.surprises.memory4096_eager.reserved_gb>`.
# The peak does not tell: the allocator counts no tensor inside a graph. Read
# ``torch.cuda.memory_reserved()``.

for record in records:
    field = ("reserved_gb", "reserved")
    bars(
        [record],
        unit="GB reserved",
        only="memory1024",
        shorten="memory1024_",
        whole=field,
        part=None,
        form="{:.3f}",
    )

# %%
# What guards cost for each call, on the CPU.

for record in records:
    rows = [row for row in flat(record) if row["what"] == "guards"]
    table(rows, {"parameters": "name", "µs a call": "median_us:.0f"})

# %%
# ``set_stance(skip_guard_eval_unsafe=True)`` leaves out most checks. With ten guarded parameters the call
# falls from :value:`records.surprises.guards10_compiled.median_us:.0f` to
# :value:`records.surprises.guards10_unguarded.median_us:.0f` µs without them, and with one it
# :verdict:`does not fall <records.surprises.guards1_unguarded.median_us >= records.surprises.guards1_compiled.median_us>`.
# With a hundred the samples of a compiled call are of two kinds, from
# :value:`min(records.surprises.guards100_compiled.samples_us):.0f` to
# :value:`max(records.surprises.guards100_compiled.samples_us):.0f` µs, and the fastest are
# :verdict:`as fast as without checks <min(records.surprises.guards100_compiled.samples_us) < max(records.surprises.guards100_unguarded.samples_us)>`.
# So the medians do not give a price of a guard: on this host the CPU itself moves by tens of microseconds.
#
# With one parameter compiled
# :verdict:`loses to eager <min(records.surprises.guards1_compiled.samples_us) > max(records.surprises.guards1_eager.samples_us)>`,
# :value:`records.surprises.guards1_compiled.median_us:.0f` µs against
# :value:`records.surprises.guards1_eager.median_us:.0f`: there is one kernel either way, and the compiled call has
# more to do on the CPU before it. With a hundred it
# :verdict:`wins <max(records.surprises.guards100_compiled.samples_us) < min(records.surprises.guards100_eager.samples_us)>`.
# Do not compile a single small operator on its own.

for record in records:
    curves = {}
    for way in ("eager", "compiled", "unguarded"):
        rows = [r for r in flat(record) if r["what"] == "guards" and r["name"].endswith(f"_{way}")]
        curves[way] = ([r["size"] for r in rows], [r["median_us"] for r in rows])
    lines(curves, x="parameters", y="µs a call on the CPU", log_x=True, log_y=True)

for record in records:
    measured_again(record)

# %%
# **What this does not show.** Your model: each row is a small case that you can change and run.
# Only the step with a cache was measured again; digits, memory and guards stand once.
