"""
4. CUDA-graph rules: what is overwritten, skipped and recorded again
====================================================================

**Question.** What does ``mode="reduce-overhead"`` do with an output that is held, with a
function that CUDA graphs cannot take, with each new shape, and with gradients added up?

**Prediction.** The documents say that a held output raises an error when it is read; that
skips are logged; that each shape is recorded once.

**Answer.** An output of the third call, held across the next,
:verdict:`silently becomes the next one <records.cudagraph_rules.held_plain_call3.outcome == "overwritten with the next output">`,
and gradients of several micro-batches come out
:verdict:`wrong without an error <records.cudagraph_rules.accumulate_plain_step1.outcome == "different">`.
Clone what you keep; give each parameter a gradient of its own. The prediction
holds for the first two calls and for shapes, and fails at the third call: nothing raises. Skips were
counted, not read from a log.

**Record it** in a clone on a CUDA machine, with torch alone:

.. code-block:: console

   $ PYTHONPATH=src python -m compile_in_practice.record --experiment cudagraph_rules

Elsewhere this page replays what was recorded.
"""

# %%
# Small models: these are rules, compared bit for bit, not speeds.

import torch
from torch import nn
from torch._dynamo.utils import counters

from compile_in_practice.contest import attempt, reason, row
from compile_in_practice.timing import device, seconds

C = 256  # width of the small models here
CALLS = (1, 2, 3)  # the call whose output is held
CASES = [
    *({"rule": "held", "way": way} for way in ("plain", "mark", "clone")),
    *({"rule": "held", "way": way} for way in ("train", "backward", "backward_mark")),
    *({"rule": "skip", "way": way} for way in ("cpu_op", "mutated_input", "unbacked", "none")),
    {"rule": "shapes", "way": "dynamic"},
    {"rule": "shapes", "way": "buckets"},
    *({"rule": "accumulate", "way": way} for way in ("plain", "mark", "kept_grads")),
]
TRY_CASES = CASES


def experiment(*, rule, way):
    """Rows of one rule."""
    return {"held": held, "skip": skip, "shapes": shapes, "accumulate": accumulate}[rule](way)


def held(way):
    """Hold one call's output across the next call: intact, overwritten, or an error."""
    return [attempt(f"held_{way}_call{n}", lambda n=n: hold(way, n)) for n in CALLS]


def hold(way, n_calls):
    """Outcome for the output of call `n_calls`, held across one more call."""
    torch.manual_seed(0)
    training = way in {"train", "backward", "backward_mark"}
    model = nn.Linear(C, C).to(device())
    compiled = torch.compile(model, mode="reduce-overhead")

    def call():
        if "mark" in way:
            torch.compiler.cudagraph_mark_step_begin()
        out = compiled(torch.randn(8, C, device=device()))
        return out.clone() if way == "clone" else out

    with torch.set_grad_enabled(training):
        for _ in range(n_calls):
            out = call()
            truth = out.detach().clone()
            if "backward" in way:
                out.sum().backward()
                model.zero_grad(set_to_none=True)
        following = call()
        following_truth = following.detach().clone()
    outcome, message = inspect_held(out, truth, following_truth)
    return {"facts": {"outcome": outcome, "message": message, "held_call": n_calls}}


def inspect_held(out, truth, following):
    """(outcome, message): reads the held output and compares it bit for bit."""
    try:
        now = out.detach().clone()
    except RuntimeError as error:
        return "raises", reason(error, 160)
    if torch.equal(now, truth):
        return "intact", ""
    return (
        "overwritten with the next output" if torch.equal(now, following) else "overwritten"
    ), ""


def cpu_op(x, y):
    """Part of the work is on the CPU."""
    return (x * 2).cpu().sin().to(x.device) + y


def mutated_input(x, y):
    """An input is written to."""
    x.add_(1)
    return x * y


def unbacked(x, y):
    """A size depends on the data."""
    return (x[x > 0] * 2).sum() + y


def none(x, y):
    """Nothing that CUDA graphs mind."""
    return (x * 2).sin() + y


def skip(way):
    """Replays and skips of one function, with graph partition on and off, and as an error."""
    function = {
        "cpu_op": cpu_op,
        "mutated_input": mutated_input,
        "unbacked": unbacked,
        "none": none,
    }[way]
    rows = []
    for partition in (True, False):
        name = f"skip_{way}_{'partition' if partition else 'whole'}"
        rows.append(attempt(name, lambda p=partition: count_replays(function, partition=p)))
    rows.append(attempt(f"skip_{way}_as_error", lambda: error_on_skip(function)))
    return rows


def count_replays(function, *, partition):
    """Graph launches of a settled call, and what Inductor counted as skipped."""
    counters.clear()
    patch = {"graph_partition": partition}
    capture = {"capture_dynamic_output_shape_ops": True, "capture_scalar_outputs": True}
    with (
        torch._inductor.config.patch(patch),
        torch._dynamo.config.patch(capture),
        torch.no_grad(),
    ):
        compiled = torch.compile(function, mode="reduce-overhead")
        for _ in range(4):
            x, y = (torch.randn(C, C, device=device()) for _ in range(2))
            expected = function(x.clone(), y)
            torch.testing.assert_close(compiled(x, y), expected)
        n_launches = graph_launches(lambda: compiled(x, y))
    return {
        "facts": {
            "n_graph_launches": n_launches,
            "n_skips": counters["inductor"]["cudagraph_skips"],
        }
    }


def error_on_skip(function):
    """What `cudagraph_or_error` says about this function."""
    capture = {"capture_dynamic_output_shape_ops": True, "capture_scalar_outputs": True}
    with (
        torch._inductor.config.patch({"triton.cudagraph_or_error": True}),
        torch._dynamo.config.patch(capture),
        torch.no_grad(),
    ):
        compiled = torch.compile(function, mode="reduce-overhead")
        try:
            for _ in range(3):
                x, y = (torch.randn(C, C, device=device()) for _ in range(2))
                compiled(x, y)
        except Exception as error:  # noqa: BLE001  its class and text are the result
            return {"facts": {"outcome": "raises", "message": reason(error, 240)}}
    return {"facts": {"outcome": "runs", "message": ""}}


def graph_launches(call):
    """How many CUDA graphs one call replays."""
    activities = [
        torch.profiler.ProfilerActivity.CPU,
        torch.profiler.ProfilerActivity.CUDA,
    ]
    with torch.profiler.profile(activities=activities, acc_events=True) as profile:
        call()
        torch.cuda.synchronize()
    return sum("cudaGraphLaunch" in event.name for event in profile.events())


def shapes(way):
    """Time and memory of a new shape: first, second, third and later calls."""
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(1024, 1024) for _ in range(8))).to(device())
    compiled = torch.compile(model, mode="reduce-overhead", dynamic=way == "dynamic")
    rows = []
    with torch.no_grad():
        compiled(torch.randn(64, 1024, device=device()))  # compile once, before any is timed
        for length in (100, 200, 300, 400, 500, 600, 700, 800):
            size = length if way == "dynamic" else 2 ** (length - 1).bit_length()
            before = reserved()
            x = torch.randn(size, 1024, device=device())
            ms = [round(seconds(lambda x=x: compiled(x)) * 1e3, 4) for _ in range(6)]
            grown_mb = max(0.0, (reserved() - before) / 1e6)
            eager_ms = round(min(seconds(lambda x=x: model(x)) for _ in range(6)) * 1e3, 4)
            facts = {
                "calls_ms": ms,
                "eager_ms": eager_ms,
                "size": size,
                "reserved_more_mb": grown_mb,
            }
            rows.append(row(f"shape_{way}_{length}", facts=facts))
    return rows


def reserved():
    """Bytes that torch holds of the GPU's memory."""
    return torch.cuda.memory_reserved() if torch.cuda.is_available() else 0


def accumulate(way):
    """Gradients of four micro-batches added up, against eager, once all is recorded."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(C, C), nn.GELU(), nn.Linear(C, C)).to(device())
    batches = [torch.randn(8, C, device=device()) for _ in range(4)]
    compiled = torch.compile(model, mode="reduce-overhead")

    def gradients(function, micro_batches):
        if way == "kept_grads":
            for p in model.parameters():  # memory of their own, which backward adds to
                p.grad = torch.zeros_like(p) if p.grad is None else p.grad.zero_()
        else:
            model.zero_grad(set_to_none=True)
        for x in micro_batches:
            if way == "mark":
                torch.compiler.cudagraph_mark_step_begin()
            function(x).square().mean().backward()
        return [p.grad.detach().clone() for p in model.parameters()]

    expected = gradients(model, batches)
    for _ in range(4):  # one batch a step: warm-up, recording, replays
        gradients(compiled, batches[:1])

    def measure():
        return {"facts": compare(gradients(compiled, batches), expected)}

    return [attempt_again(f"accumulate_{way}_step{n}", measure) for n in (1, 2, 3)]


def attempt_again(name, measure):
    """A row as `attempt` makes it, without forgetting what was compiled."""
    try:
        return row(name, **measure())
    except RuntimeError as error:
        facts = {"outcome": "raises", "message": reason(error, 200)}
        return row(name, facts=facts)


def compare(actual, expected):
    """Largest relative difference of a gradient."""
    worst = max(float((a - e).norm() / e.norm()) for a, e in zip(actual, expected, strict=True))
    return {"worst_relative": worst, "outcome": "same" if worst < 1e-3 else "different"}


# %%
# What became of an output that was held across the next call.

import textwrap

from compile_in_practice.figures import lines
from compile_in_practice.replay import flat, replay_records, table

records = replay_records(experiment)
for record in records:
    rows = [each for each in flat(record) if each.get("rule") == "held"]
    for each in rows:
        first, *others = each["outcomes"]
        each["again"] = ", ".join("the same" if first == other else other for other in others)
    table(
        rows,
        {"held": "way", "from call": "held_call", "what happened": "outcome", "again": "again"},
    )

# %%
# The first two calls warm up and record, and a held output of theirs
# :verdict:`raises <records.cudagraph_rules.held_plain_call1.outcome == "raises" and records.cudagraph_rules.held_plain_call2.outcome == "raises">`.
# The third call replays the graph, and the held output
# :verdict:`silently becomes the next one <records.cudagraph_rules.held_plain_call3.outcome == "overwritten with the next output">`:
# no error, other numbers. Another lease gave
# :verdict:`the same outcomes <records.cudagraph_rules.n_changed == 0>`.
# ``cudagraph_mark_step_begin``
# :verdict:`changes nothing <records.cudagraph_rules.held_mark_call3.outcome == records.cudagraph_rules.held_plain_call3.outcome and records.cudagraph_rules.held_mark_call1.outcome == records.cudagraph_rules.held_plain_call1.outcome>`
# about it. A clone stays :verdict:`intact <records.cudagraph_rules.held_clone_call1.outcome == "intact" and records.cudagraph_rules.held_clone_call2.outcome == "intact" and records.cudagraph_rules.held_clone_call3.outcome == "intact">`.
#
# In a training forward whose backward is still pending, the held output stays
# :verdict:`intact <records.cudagraph_rules.held_train_call1.outcome == "intact" and records.cudagraph_rules.held_train_call2.outcome == "intact" and records.cudagraph_rules.held_train_call3.outcome == "intact">`.
# With a backward between the calls, as in a real step, it fares
# :verdict:`as in inference <records.cudagraph_rules.held_backward_call1.outcome == records.cudagraph_rules.held_plain_call1.outcome and records.cudagraph_rules.held_backward_call2.outcome == records.cudagraph_rules.held_plain_call2.outcome and records.cudagraph_rules.held_backward_call3.outcome == records.cudagraph_rules.held_plain_call3.outcome>`,
# and the mark :verdict:`changes nothing there either <records.cudagraph_rules.held_backward_mark_call1.outcome == records.cudagraph_rules.held_backward_call1.outcome and records.cudagraph_rules.held_backward_mark_call3.outcome == records.cudagraph_rules.held_backward_call3.outcome>`.
#
# Clone what you keep. A test proves little: one that holds its first output sees the error,
# a job that holds the output of a replay does not.

for record in records:
    rows = [each for each in flat(record) if each.get("rule") == "skip"]
    columns = {"function": "name", "graph launches": "n_graph_launches", "skips": "n_skips"}
    table([each for each in rows if "n_skips" in each], columns)
    print()
    errors = [each for each in rows if "outcome" in each]
    table(errors, {"as an error": "name", "outcome": "outcome"})
    for each in errors:
        if each["message"]:
            print(textwrap.fill(f"{each['name']}: {each['message']}", 96))

# %%
# This release partitions a graph around a CPU operation or a size that depends on data:
# :value:`records.cudagraph_rules.skip_cpu_op_partition.n_graph_launches:.0f` graphs replay,
# where without partition nothing does. A mutated input is
# :verdict:`skipped either way <records.cudagraph_rules.skip_mutated_input_partition.n_skips == 1 and records.cudagraph_rules.skip_mutated_input_whole.n_skips == 1>`.
# ``torch._inductor.config.triton.cudagraph_or_error = True``
# makes that skip an error with the line at fault: set it in the test of a job that relies on
# CUDA graphs.

for record in records:
    rows = [each for each in flat(record) if each.get("rule") == "shapes"]
    cells = []
    for each in rows:
        calls = dict(
            zip(
                ("first", "second", "third", "last"),
                [*each["calls_ms"][:3], each["calls_ms"][-1]],
                strict=True,
            )
        )
        cells.append({**each, **calls})
    columns = {"shape": "name", "rows": "size", "first ms": "first:.1f", "second": "second:.1f"}
    table(cells, {**columns, "third": "third:.2f", "last": "last:.2f", "eager": "eager_ms:.2f"})

# %%
# With ``dynamic=True`` a new length costs a warm-up and a recording,
# :value:`records.cudagraph_rules.shape_dynamic_800.calls_ms[0] + records.cudagraph_rules.shape_dynamic_800.calls_ms[1]:.0f`
# ms here, and no compile. A bucket pays a compile once,
# :value:`records.cudagraph_rules.shape_buckets_600.calls_ms[0]:.0f` ms for the largest; a length that falls into a known
# bucket replays at once. The small stack here is
# :verdict:`slower replayed than eager <min(records.cudagraph_rules.shape_dynamic_100.calls_ms) > records.cudagraph_rules.shape_dynamic_100.eager_ms and min(records.cudagraph_rules.shape_dynamic_800.calls_ms) > records.cudagraph_rules.shape_dynamic_800.eager_ms and min(records.cudagraph_rules.shape_buckets_100.calls_ms) > records.cudagraph_rules.shape_buckets_100.eager_ms and min(records.cudagraph_rules.shape_buckets_800.calls_ms) > records.cudagraph_rules.shape_buckets_800.eager_ms>`
# when each call is waited for. These are the fastest of a few single calls, on one lease.

for record in records:
    rows = [each for each in flat(record) if each.get("rule") == "accumulate"]
    columns = {
        "gradients": "name",
        "outcome": "outcome",
        "largest difference": "worst_relative:.2g",
    }
    table(rows, columns)

# %%
# Four micro-batches whose gradients add up come out
# :verdict:`wrong, without an error <records.cudagraph_rules.accumulate_plain_step1.outcome == "different" and records.cudagraph_rules.accumulate_plain_step2.outcome == "different" and records.cudagraph_rules.accumulate_plain_step3.outcome == "different">`:
# after ``zero_grad(set_to_none=True)`` the first backward's own output becomes ``p.grad``, and
# the next replay writes to the same memory. Marking each micro-batch as a step
# :verdict:`changes nothing <records.cudagraph_rules.accumulate_mark_step1.outcome == "different" and records.cudagraph_rules.accumulate_mark_step2.outcome == "different" and records.cudagraph_rules.accumulate_mark_step3.outcome == "different">`. Give each parameter a gradient of its own
# before the first backward, and zero it in place:
# :verdict:`the same as eager <records.cudagraph_rules.accumulate_kept_grads_step1.outcome == "same" and records.cudagraph_rules.accumulate_kept_grads_step2.outcome == "same" and records.cudagraph_rules.accumulate_kept_grads_step3.outcome == "same">`.
#
# .. code-block:: python
#
#    for p in model.parameters():
#        p.grad = torch.zeros_like(p)
#    ...
#    optimizer.zero_grad(set_to_none=False)

for record in records:
    curves = {}
    for way in ("dynamic", "buckets"):
        rows = [r for r in flat(record) if r.get("rule") == "shapes" and r["way"] == way]
        lengths = [int(each["name"].rpartition("_")[2]) for each in rows]
        curves[way] = (lengths, [each["calls_ms"][0] for each in rows])
    lines(curves, x="length, in the order of arrival", y="ms of its first call", log_y=True)

# %%
# **What this does not show.** An output of a later call than the third. The memory of a recording:
# torch reserved :verdict:`no more <max(records.cudagraph_rules.shape_dynamic_100.reserved_more_mb, records.cudagraph_rules.shape_dynamic_800.reserved_more_mb, records.cudagraph_rules.shape_buckets_100.reserved_more_mb, records.cudagraph_rules.shape_buckets_600.reserved_more_mb) == 0>`
# for a new shape of this small stack, and what the driver keeps for a graph is not counted. Launches,
# skips and times of shapes were recorded on one lease only. Other releases: run the script on yours before you rely on a
# row. A tensor on a second GPU is skipped too: the ninth experiment has that row.
