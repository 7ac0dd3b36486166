"""
12. A service: requests of random length
========================================

**Question.** A service sees a hundred prompts of random length. Which shape policy keeps its
slowest requests fast?

**Prediction.** ``dynamic=False`` compiles until the limit; ``mark_dynamic`` compiles once;
buckets with CUDA graphs are fastest when warm.

**Answer.** Buckets with CUDA graphs: :value:`records.service.buckets_cudagraphs.p50_ms:.2f` ms in the
median and :value:`records.service.buckets_cudagraphs.p99_ms:.2f` ms at p99, warm. At p99 of the first lease they are
:verdict:`the fastest <records.service.buckets_cudagraphs.p99_ms == min(records.service.eager.p99_ms, records.service.automatic.p99_ms, records.service.mark_dynamic.p99_ms, records.service.buckets.p99_ms, records.service.buckets_cudagraphs.p99_ms, records.service.mark_dynamic_cudagraphs.p99_ms, records.service.automatic_cudagraphs.p99_ms, records.service.static.p99_ms)>`;
by the median another policy with CUDA graphs is
:verdict:`ahead <min(records.service.automatic_cudagraphs.p50_ms, records.service.mark_dynamic_cudagraphs.p50_ms) < records.service.buckets_cudagraphs.p50_ms>`,
and on a second lease at p90 too. ``dynamic=False`` spends
:value:`records.service.static.first_total_s:.0f` s on its first pass.
The prediction holds but for the median.

**Record it** in a clone on a CUDA machine, with torch alone:

.. code-block:: console

   $ PYTHONPATH=src python -m compile_in_practice.record --experiment service

Elsewhere this page replays what was recorded.
"""

# %%
# A short GPT, one seeded trace, three passes over it: the first holds the compiles, the
# second the recordings, the third neither.

import random
import statistics

import torch
from torch._dynamo.utils import counters
from torch._inductor.utils import fresh_cache

from compile_in_practice.contest import attempt, difference, wake_compiler
from compile_in_practice.gpt import GPT
from compile_in_practice.timing import device, seconds

N_REQUESTS = 100
SHORTEST, LONGEST = 8, 512  # tokens of a request
BUCKETS = (64, 128, 256, 512)  # lengths that requests are padded to
N_LAYER = 4  # fewer than GPT-2, so that eight compiles fit into the recording
CASES = [
    {"policy": policy, "cudagraphs": cudagraphs}
    for policy, cudagraphs in (
        ("eager", False),
        ("automatic", False),
        ("mark_dynamic", False),
        ("buckets", False),
        ("buckets", True),
        ("mark_dynamic", True),
        ("automatic", True),
        ("static", False),
    )
]
TRY_CASES = [
    {"policy": policy, "cudagraphs": False, "n_requests": 4, "n_layer": 1}
    for policy in ("eager", "automatic", "mark_dynamic", "buckets", "static")
]


def experiment(*, policy, cudagraphs, n_requests=N_REQUESTS, n_layer=N_LAYER):
    """Latencies of one trace under one policy: with the compiles, then without."""
    suffix = "_cudagraphs" if cudagraphs else ""
    return [attempt(policy + suffix, lambda: serve(policy, cudagraphs, n_requests, n_layer))]


def serve(policy, cudagraphs, n_requests, n_layer):
    """Fields of a row: the first pass over the trace holds the compiles."""
    torch.manual_seed(0)
    model = GPT(n_layer=n_layer).to(device(), torch.bfloat16).eval()
    trace = requests(n_requests)
    function = answer(model, policy, cudagraphs)
    wake_compiler()
    counters.clear()
    with torch.no_grad(), fresh_cache():
        eager = [model(tokens)[:, -1].clone() for tokens in trace[:8]]
        first_ms = [seconds(lambda t=tokens: function(t)) * 1e3 for tokens in trace]
        n_graphs = counters["stats"]["unique_graphs"]
        second_ms = [seconds(lambda t=tokens: function(t)) * 1e3 for tokens in trace]
        third_ms = [seconds(lambda t=tokens: function(t)) * 1e3 for tokens in trace]
        correct = difference([function(tokens).clone() for tokens in trace[:8]], eager)
    tenths = statistics.quantiles(third_ms, n=10, method="inclusive")
    wanted = sum(tokens.shape[1] for tokens in trace)
    padded = sum(bucket(tokens.shape[1]) for tokens in trace) if policy == "buckets" else wanted
    facts = {
        "n_graphs": n_graphs,
        "first_p50_ms": percentile(first_ms, 50),
        "first_p99_ms": percentile(first_ms, 99),
        "first_total_s": sum(first_ms) / 1e3,
        "second_p50_ms": percentile(second_ms, 50),
        "second_p99_ms": percentile(second_ms, 99),
        "p50_ms": percentile(third_ms, 50),
        "p99_ms": percentile(third_ms, 99),
        "padding_share": 1 - wanted / padded,
    }
    if torch.cuda.is_available():
        facts["reserved_gb"] = torch.cuda.memory_reserved() / 1e9
    timing = {
        "n_warmup": 2 * n_requests,
        "n_calls": 1,
        "samples_ms": third_ms,
        "median_ms": statistics.median(third_ms),
        "spread_ms": [tenths[0], tenths[-1]],
    }
    return {"timing": timing, "facts": facts, "correct": correct}


def requests(n_requests):
    """Prompts (1, T) of random tokens, T spread evenly over the powers of two, seeded."""
    dice = random.Random(0)
    lengths = [round(SHORTEST * (LONGEST / SHORTEST) ** dice.random()) for _ in range(n_requests)]
    return [torch.randint(50257, (1, length), device=device()) for length in lengths]


def bucket(length):
    """The length that a request is padded to."""
    return next(size for size in BUCKETS if size >= length)


def answer(model, policy, cudagraphs):
    """The function that answers one request: last logits (1, V) of prompt (1, T)."""
    mode = "reduce-overhead" if cudagraphs else None
    dynamic = False if policy in {"static", "buckets"} else None
    run = model if policy == "eager" else torch.compile(model, dynamic=dynamic, mode=mode)

    def direct(tokens):
        if policy == "mark_dynamic":
            torch._dynamo.mark_dynamic(tokens, 1, min=2, max=1024)
        return run(tokens)[:, -1]

    def padded(tokens):
        length = tokens.shape[1]
        right = torch.nn.functional.pad(tokens, (0, bucket(length) - length))
        return run(right)[:, length - 1]  # causal: what follows changes nothing before it

    return padded if policy == "buckets" else direct


def percentile(values, percent):
    """The smallest value that `percent` of the values do not exceed."""
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]


# %%
# Latencies of the passes in milliseconds, and the first pass in seconds; ``p50`` and ``p99`` are of
# the third. ``padding`` is how many more tokens are computed than were asked for, ``differs`` the
# relative difference to eager.

from compile_in_practice.figures import bars
from compile_in_practice.replay import flat, measured_again, replay_records, table

records = replay_records(experiment)
for record in records:
    rows = flat(record)
    for row in rows:
        row["more"] = row["padding_share"] / (1 - row["padding_share"])  # tokens added for each
    columns = {"policy": "name", "graphs": "n_graphs", "1st s": "first_total_s:.1f"}
    columns |= {"1st p99": "first_p99_ms:.0f", "2nd p99": "second_p99_ms:.1f"}
    columns |= {"p50": "p50_ms:.2f", "p99": "p99_ms:.2f", "padding": "more:+.0%"}
    table(rows, {**columns, "differs": "relative:.0e"})

# %%
# ``dynamic=False`` compiled :value:`records.service.static.n_graphs` graphs, reached the
# recompile limit, and runs the other lengths in eager: its first pass took
# :value:`records.service.static.first_total_s:.0f` s. Its warm median is
# :verdict:`no better than eager's <records.service.static.p50_ms >= records.service.eager.p50_ms>`.
# ``mark_dynamic`` compiled :value:`records.service.mark_dynamic.n_graphs:word` and its first pass
# took :value:`records.service.mark_dynamic.first_total_s:.1f` s.
#
# Buckets with CUDA graphs answer in
# :value:`records.service.buckets_cudagraphs.p50_ms:.2f` ms, at
# :value:`records.service.buckets_cudagraphs.padding_share / (1 - records.service.buckets_cudagraphs.padding_share):.0%`
# more tokens, and their second pass is as fast as their third. Without buckets each length is recorded on its own: the second pass's p99 is still
# :value:`records.service.mark_dynamic_cudagraphs.second_p99_ms:.1f` ms.
# An empty launch took :value:`records.service.empty_launch_us:.1f` µs: such a machine flatters CUDA graphs.

for record in records:
    bars([record], unit="ms a request, warm", whole=("p99_ms", "p99"), part=("p50_ms", "p50"))

# %%
# Send a pair of requests for each bucket before you take traffic: the first is compiled and
# warms up, the second is recorded.
#
# On another lease each policy without CUDA graphs was
# :verdict:`slower <records.service.eager.medians_ms[1] > records.service.eager.medians_ms[0] and records.service.automatic.medians_ms[1] > records.service.automatic.medians_ms[0] and records.service.mark_dynamic.medians_ms[1] > records.service.mark_dynamic.medians_ms[0] and records.service.buckets.medians_ms[1] > records.service.buckets.medians_ms[0]>`,
# by up to :value:`records.service.moved:.0%`, since a request waits for the CPU: ``mark_dynamic`` and
# buckets then
# :verdict:`lost to eager <min(records.service.mark_dynamic.medians_ms[1], records.service.buckets.medians_ms[1]) > records.service.eager.medians_ms[1]>`.
# Buckets with CUDA graphs
# :verdict:`beat buckets without them on both leases <max(records.service.buckets_cudagraphs.medians_ms) < min(records.service.buckets.medians_ms)>`,
# and by the median lost on both to another policy with them:
# :verdict:`automatic shapes <records.service.automatic_cudagraphs.medians_ms[0] < records.service.buckets_cudagraphs.medians_ms[0]>` on the first
# (:verdict:`within the spread <records.service.automatic_cudagraphs.low_ms < records.service.buckets_cudagraphs.p50_ms < records.service.automatic_cudagraphs.high_ms>`),
# :verdict:`mark_dynamic <records.service.mark_dynamic_cudagraphs.medians_ms[1] < records.service.buckets_cudagraphs.medians_ms[1]>` on the second,
# which kept no p99, and where both others with CUDA graphs are ahead at p90.
# ``dynamic=False`` was not reached again: the time was over.

for record in records:
    measured_again(record)
    for again in record.again:
        p90 = {name: spread[1] for name, spread in again["spreads_ms"].items()}
        others = p90["automatic_cudagraphs"], p90["mark_dynamic_cudagraphs"]
        assert max(others) < p90["buckets_cudagraphs"]

# %%
# **What this does not show.** Symbolic against static kernels at one length: buckets pad, and
# ``dynamic=False`` runs most lengths in eager. Several requests at once. Eager ran first in the process and pays
# in its first pass for kernels that CUDA loads when they are first used. The p99 of a hundred
# requests leaves the slowest one out: the single compile of ``mark_dynamic`` is in the total.
