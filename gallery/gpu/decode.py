"""
11. Decode: a growing and a static cache
========================================

**Question.** How many tokens a second does a model decode with a cache that grows, and with
one of fixed length?

**Prediction.** Eager waits for launches. The static cache compiles once and lets CUDA graphs
replay; the growing one compiles twice and cannot use them.

**Answer.** In eager :value:`records.decode.small_growing.tokens_per_s:.0f` tokens a second with the
growing cache and :value:`records.decode.small_static.tokens_per_s:.0f` with the static one; compiled by default
:value:`records.decode.small_growing_default.tokens_per_s:.0f` and
:value:`records.decode.small_static_default.tokens_per_s:.0f`. With the static cache marked as static, CUDA
graphs decode :value:`records.decode.small_marked_reduce_overhead.tokens_per_s:.0f`, a token in
:value:`records.decode.small_marked_reduce_overhead.median_ms:.2f` ms:
:value:`records.decode.small_growing.medians_ms[0] / records.decode.small_marked_reduce_overhead.medians_ms[0]:.1f` times
as fast as growing eager on one lease,
:value:`records.decode.small_growing.medians_ms[1] / records.decode.small_marked_reduce_overhead.medians_ms[1]:.1f` on the other.

**Where the prediction failed.** A static cache is not enough: without the mark CUDA graphs are
:verdict:`skipped <records.decode.small_static_reduce_overhead.n_skips == 1>`, and it decodes
:value:`records.decode.small_static_reduce_overhead.tokens_per_s:.0f` tokens a second. In eager the static cache is
:verdict:`slower by the median on both leases <records.decode.small_static.medians_ms[0] > records.decode.small_growing.medians_ms[0] and records.decode.small_static.medians_ms[1] > records.decode.small_growing.medians_ms[1]>`,
though by :value:`records.decode.small_static.medians_ms[1] / records.decode.small_growing.medians_ms[1] - 1:.0%` only on the second:
it launches :value:`records.decode.small_static.n_kernels:.0f` kernels a token against
:value:`records.decode.small_growing.n_kernels:.0f`. Whether the growing cache can use CUDA graphs was not measured.

**Record it** in a clone on a CUDA machine, with torch alone:

.. code-block:: console

   $ PYTHONPATH=src python -m compile_in_practice.record --experiment decode

Elsewhere this page replays what was recorded.
"""

# %%
# A GPT-2-sized model and one ten times as large, batch one. Each way decodes the same
# tokens, and the last logits are compared with growing eager.

import functools

import torch
import torch.nn.functional as F
from torch import nn
from torch._dynamo.utils import counters
from torch._inductor.utils import fresh_cache

from compile_in_practice.contest import attempt, difference, wake_compiler
from compile_in_practice.gpt import GPT
from compile_in_practice.timing import busy, device, sample, seconds

SIZES = {
    "small": {"n_layer": 12, "n_head": 12, "width": 768},  # GPT-2: 124 M parameters
    "large": {"n_layer": 24, "n_head": 16, "width": 2048},  # 1.3 G parameters
    "tiny": {"n_layer": 1, "n_head": 2, "width": 32},
}
N_PROMPT, N_NEW = 128, 64  # tokens in the cache before, and tokens decoded
PROMPTS = (33, 100, 180, 300, 450)  # lengths of the prompts that the prefill takes
BUCKETS = (64, 128, 256, 512)  # lengths that a prompt is padded to
CASES = [
    {
        "size": "small",
        "ways": [
            "growing",
            "static",
            "growing_default",
            "static_default",
            "static_reduce_overhead",
            "marked_reduce_overhead",
        ],
    },
    {
        "size": "large",
        "ways": [
            "growing",
            "static",
            "static_default",
            "static_reduce_overhead",
            "marked_reduce_overhead",
        ],
    },
    {"size": "small", "ways": ["prefill", "prefill_exact", "prefill_auto", "prefill_buckets"]},
]
TRY_CASES = [
    {
        "size": "tiny",
        "ways": ["growing", "static", "growing_default", "static_default", "marked_default"],
    },
    {"size": "tiny", "ways": ["prefill", "prefill_exact", "prefill_auto", "prefill_buckets"]},
]
OPTIONS = {
    "default": {},
    "reduce_overhead": {"mode": "reduce-overhead"},
    "exact": {"dynamic": False},
    "auto": {},
    "buckets": {"dynamic": False},
}


class Decoder(nn.Module):
    """One step of a GPT with a cache of keys and values, (L, B, H, T, D) each."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def growing(self, token, position, keys, values):
        """Logits, and caches that are one token longer."""
        x = self.embed(token, position)
        new_keys, new_values = [], []
        for block, old_k, old_v in zip(self.model.blocks, keys, values, strict=True):
            q, k, v = block.attention.split(block.norm1(x))
            k, v = torch.cat([old_k, k], dim=2), torch.cat([old_v, v], dim=2)
            x = x + block.attention.join(F.scaled_dot_product_attention(q, k, v))
            x = x + block.mlp(x)
            new_keys.append(k)
            new_values.append(v)
        return self.logits(x), new_keys, new_values

    def static(self, token, position, keys, values):
        """Logits; writes to caches of fixed length at `position`, a tensor."""
        x = self.embed(token, position)
        seen = torch.arange(keys[0].shape[2], device=token.device) <= position
        for block, k_cache, v_cache in zip(self.model.blocks, keys, values, strict=True):
            q, k, v = block.attention.split(block.norm1(x))
            k_cache.index_copy_(2, position, k)
            v_cache.index_copy_(2, position, v)
            attended = F.scaled_dot_product_attention(q, k_cache, v_cache, attn_mask=seen[None])
            x = x + block.attention.join(attended)
            x = x + block.mlp(x)
        return self.logits(x)

    def embed(self, token, position):
        return self.model.tokens(token) + self.model.positions(position)

    def logits(self, x):
        return self.model.head(self.model.norm(x))


def experiment(*, size, ways):
    """Milliseconds a token for each way; logits of the last token against growing eager."""
    torch.manual_seed(0)
    shape = SIZES[size]
    decoder = Decoder(GPT(**shape)).to(device(), torch.bfloat16).eval()
    head_shape = (1, shape["n_head"], N_PROMPT, shape["width"] // shape["n_head"])
    prompt = [
        [
            torch.randn(head_shape, device=device(), dtype=torch.bfloat16)
            for _ in decoder.model.blocks
        ]
        for _ in "kv"
    ]
    tokens = torch.randint(50257, (N_NEW, 1, 1), device=device())
    positions = torch.arange(N_PROMPT, N_PROMPT + N_NEW, device=device())[:, None]
    rows, expected = [], None
    for way in ways:

        def run(way=way, expected=expected):
            cache, _, mode = way.partition("_")
            if cache == "prefill":
                return prefill(decoder.model, mode, expected)
            return decode(decoder, cache, mode, prompt, tokens, positions, expected)

        with torch.no_grad():
            rows.append(attempt(f"{size}_{way}", run))
        rows[-1].setdefault("facts", {})["weight_gb"] = round(decoder.model.weight_gb(), 4)
        last = rows[-1].pop("last_logits", None)
        expected = last if expected is None else expected
    for each in rows[1:]:
        if each["status"] == "ok":
            each["speedup"] = rows[0]["timing"]["median_ms"] / each["timing"]["median_ms"]
    return rows


def decode(decoder, cache, mode, prompt, tokens, positions, expected):
    """Fields of a row: timing of a whole pass over N_NEW tokens, for each token."""
    step = decoder.growing if cache == "growing" else decoder.static
    one_pass = growing_pass
    if cache != "growing":
        one_pass = functools.partial(static_pass, room(prompt, marked=cache == "marked"))
    return measure(one_pass, step, mode, (prompt, tokens, positions), N_NEW, expected)


def prefill(model, mode, expected):
    """Fields of a row: timing of a pass over prompts of several lengths, for each token."""
    torch.manual_seed(0)  # each way answers the same prompts
    prompts = [torch.randint(50257, (1, length), device=device()) for length in PROMPTS]
    one_pass = functools.partial(prefill_pass, padded=mode == "buckets")
    return measure(one_pass, model, mode, (prompts,), sum(PROMPTS), expected)


def measure(one_pass, step, mode, arguments, n_tokens, expected):
    """Timing of a token, graphs, skips, memory, and the last logits against `expected`."""

    def start():
        torch._dynamo.reset()
        run = torch.compile(step, **OPTIONS[mode]) if mode else step
        return functools.partial(one_pass, run, *arguments)

    if mode:
        wake_compiler()
    counters.clear()
    with fresh_cache():
        call = start()
        times = {"cold_s": round(seconds(call), 3)}
        n_graphs = counters["stats"]["unique_graphs"]
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        logits = call()
        whole = sample(call, n_samples=8, limit_s=6)
        n_skips = counters["inductor"]["cudagraph_skips"]
        peak_gb = torch.cuda.max_memory_allocated() / 1e9 if torch.cuda.is_available() else 0.0
        work = busy(call, n_calls=1)
        if mode:
            times["warm_s"] = round(seconds(start()), 3)
    timing = {**whole, "samples_ms": [ms / n_tokens for ms in whole["samples_ms"]]}
    timing["median_ms"] /= n_tokens
    timing["spread_ms"] = [ms / n_tokens for ms in timing["spread_ms"]]
    facts = {"tokens_per_s": 1e3 / timing["median_ms"], "n_graphs": n_graphs, "n_skips": n_skips}
    facts["peak_gb"] = peak_gb
    fields = {"timing": timing, "facts": facts, "last_logits": logits}
    if mode:
        fields["compile"] = times
    if expected is not None:
        fields["correct"] = difference(logits, expected)
    if work is not None:
        kernel_ms = work["kernel_ms"] / n_tokens
        share = min(1.0, kernel_ms / timing["median_ms"])
        n_kernels = work["n_kernels"] / n_tokens
        fields["busy"] = {"kernel_ms": kernel_ms, "n_kernels": n_kernels, "share": share}
    return fields


def growing_pass(step, prompt, tokens, positions):
    """Logits of the last token; the cache is a new, longer tensor at each step."""
    keys, values = prompt
    for token, position in zip(tokens, positions, strict=True):
        logits, keys, values = step(token, position, keys, values)
    return logits.clone()


def room(prompt, *, marked):
    """Caches with room for all tokens. Marked, a CUDA graph may write to their address."""
    caches = [[F.pad(part, (0, 0, 0, N_NEW)) for part in parts] for parts in prompt]
    if marked:
        for part in (part for parts in caches for part in parts):
            torch._dynamo.mark_static_address(part)
    return caches


def static_pass(caches, step, prompt, tokens, positions):
    """Logits of the last token; each pass starts from the prompt, in the same caches."""
    for parts, firsts in zip(caches, prompt, strict=True):
        for part, first in zip(parts, firsts, strict=True):
            part[:, :, :N_PROMPT] = first
    for token, position in zip(tokens, positions, strict=True):
        torch.compiler.cudagraph_mark_step_begin()
        logits = step(token, position, *caches)
    return logits.clone()


def prefill_pass(model, prompts, *, padded):
    """Logits after the last token of each prompt, (N, V); padding follows the prompt."""
    last = []
    for tokens in prompts:
        n_tokens = tokens.shape[1]
        n_padding = next(n for n in BUCKETS if n >= n_tokens) - n_tokens if padded else 0
        last.append(model(F.pad(tokens, (0, n_padding)))[0, n_tokens - 1].clone())
    return torch.stack(last)


# %%
# Milliseconds a token and the floor that reading the weights sets, graphs, the cold compile in
# seconds, the peak in GB, and the relative difference to growing eager.

from compile_in_practice.figures import bars
from compile_in_practice.replay import flat, measured_again, replay_records, table

records = replay_records(experiment)
for record in records:
    rows = flat(record)
    rate = record.data["yardstick"]["copy_gb_s"]
    for row in rows:
        if "prefill" not in row["name"]:  # which reads the weights once a prompt, not a token
            row["floor"] = row["weight_gb"] / rate * 1e3
    columns = {
        "way": "name",
        "ms": "median_ms:.3f",
        "tokens/s": "tokens_per_s:.0f",
        "floor": "floor:.2f",
    }
    columns |= {
        "busy": "share:.2f",
        "graphs": "n_graphs",
        "cold": "cold_s:.1f",
        "GB": "peak_gb:.2f",
    }
    table(rows, {**columns, "differs": "relative:.0e"})

# %%
# Handed to the compiled step as it is, the static cache is an input that the step writes to, and
# CUDA graphs are :verdict:`skipped <records.decode.small_static_reduce_overhead.n_skips == 1 and records.decode.large_static_reduce_overhead.n_skips == 1>`:
# a kernel runs for :value:`records.decode.small_static_reduce_overhead.share:.0%` of a token's
# :value:`records.decode.small_static_reduce_overhead.median_ms:.1f` ms. Marked with
# ``torch._dynamo.mark_static_address``, the same caches
# :verdict:`skip none <records.decode.small_marked_reduce_overhead.n_skips == 0 and records.decode.large_marked_reduce_overhead.n_skips == 0>`,
# and a token takes :value:`records.decode.small_marked_reduce_overhead.median_ms:.2f` ms. The large
# model goes from :value:`records.decode.large_static_reduce_overhead.median_ms:.1f` to
# :value:`records.decode.large_marked_reduce_overhead.median_ms:.1f` ms, where reading its weights once
# takes :value:`records.decode.large_growing.weight_gb / records.ceilings.copy_4096.gb_s * 1e3:.2f` ms.
# An empty launch took :value:`records.decode.empty_launch_us:.1f` µs.
#
# Mark each cache tensor once, before the first call, and write to the same tensors from then on:
#
# .. code-block:: python
#
#    for cache in (*keys, *values):
#        torch._dynamo.mark_static_address(cache)
#
# Set ``torch._inductor.config.triton.cudagraph_or_error = True``; a skip then raises.
# The growing cache compiles :value:`records.decode.small_growing_default.n_graphs:word` graphs,
# and takes :value:`records.decode.small_growing_default.median_ms:.2f` ms a token against
# :value:`records.decode.small_growing.median_ms:.2f` eager: it
# :verdict:`loses on one lease and wins on the other <records.decode.small_growing_default.medians_ms[0] > records.decode.small_growing.medians_ms[0] and records.decode.small_growing_default.medians_ms[1] < records.decode.small_growing.medians_ms[1]>`.

for record in records:
    small = ("small_growing", "small_static", "small_marked")
    bars([record], unit="ms a token", only=small, shorten="small_")

# %%
# The larger model.

for record in records:
    bars([record], unit="ms a token", only="large_", shorten="large_")

# %%
# The prefill answers prompts of different lengths, one after the other. ``dynamic=False`` makes
# a graph for each length: :value:`records.decode.small_prefill_exact.n_graphs:word` of them in
# :value:`records.decode.small_prefill_exact.cold_s:.0f` s. Padded to buckets there are
# :value:`records.decode.small_prefill_buckets.n_graphs:word`, in
# :value:`records.decode.small_prefill_buckets.cold_s:.0f` s, and no prompt within them adds one.
# Automatic dynamic shapes need :value:`records.decode.small_prefill_auto.n_graphs:word`, in
# :value:`records.decode.small_prefill_auto.cold_s:.0f` s. Warm, buckets answer
# :value:`records.decode.small_prefill_buckets.tokens_per_s:.0f` tokens a second, padding not counted,
# automatic shapes :value:`records.decode.small_prefill_auto.tokens_per_s:.0f`, eager
# :value:`records.decode.small_prefill.tokens_per_s:.0f`. Buckets and automatic shapes lie
# :verdict:`within each other's spread <records.decode.small_prefill_auto.low_ms < records.decode.small_prefill_buckets.median_ms>`. All of them wait for launches:
# a kernel runs for :value:`max(records.decode.small_prefill.share, records.decode.small_prefill_exact.share, records.decode.small_prefill_auto.share, records.decode.small_prefill_buckets.share):.0%` of the time at most.

for record in records:
    measured_again(record)

# %%
# Between leases the ways that wait for the CPU moved by up to
# :value:`records.decode.moved:.0%`,
# :verdict:`growing eager the most <abs(records.decode.small_growing.medians_ms[1] / records.decode.small_growing.medians_ms[0] - 1 - records.decode.moved) < 0.001>`, and the replayed ones by
# :value:`max(abs(records.decode.small_marked_reduce_overhead.medians_ms[1] / records.decode.small_marked_reduce_overhead.medians_ms[0] - 1), abs(records.decode.large_marked_reduce_overhead.medians_ms[1] / records.decode.large_marked_reduce_overhead.medians_ms[0] - 1)):.0%`.
#
# **What this does not show.** Sampling, batches, long contexts. The prefill under CUDA graphs,
# and the large model's growing cache compiled: not recorded. The prefill was not measured a second time: the time was over.
