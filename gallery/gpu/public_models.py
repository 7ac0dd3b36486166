"""
10. Public models as others measure them
========================================

**Question.** What do densenet121 and resnet50 gain at the batch sizes that others publish?

**Prediction.** CUDA graphs win at small batches, where launches dominate.

**Record it** on a CUDA machine with torch alone: ``python -m compile_in_practice.record --experiment public_models``.
Elsewhere this page replays what was recorded.
"""

# %%
# Inference with random weights in fp32, PyTorch's own defaults.

import torch

from compile_in_practice.contest import DEFAULT, REDUCE_OVERHEAD, contest
from compile_in_practice.timing import device

MODES = {"default": DEFAULT, "reduce_overhead": REDUCE_OVERHEAD}
CASES = [
    {"model": "resnet50", "batch": 4, "modes": ["default", "reduce_overhead"]},
    {"model": "resnet50", "batch": 64, "modes": ["default", "reduce_overhead"]},
    {"model": "densenet121", "batch": 16, "modes": ["reduce_overhead"]},
]
TRY_CASES = [{"model": "tiny", "batch": 2, "modes": ["default"]}]
SIDE = 224  # pixels


def experiment(*, model, batch, modes):
    """Inference with own random weights, fp32 and PyTorch's own defaults."""
    torch.manual_seed(0)
    network = build(model).to(device()).eval()

    def make(seed):
        generator = torch.Generator(device()).manual_seed(seed)
        return (torch.randn(batch, 3, SIDE, SIDE, generator=generator, device=device()),)

    contenders = {mode: MODES[mode] for mode in modes}
    with torch.no_grad():
        return contest(
            network,
            make,
            contenders,
            label=f"{model}_b{batch}_",
            warm=False,
            n_samples=15,
        )


def build(name):
    """A torchvision model without downloaded weights."""
    if name == "tiny":
        pool = torch.nn.AdaptiveAvgPool2d(1)
        return torch.nn.Sequential(
            torch.nn.Conv2d(3, 4, 3, stride=8), torch.nn.BatchNorm2d(4), pool
        )
    from torchvision import models  # noqa: PLC0415  only this experiment needs it

    return getattr(models, name)(weights=None)


# %%
# No record exists yet, and this page says so.

from compile_in_practice.replay import flat, replay_records, table

records = replay_records(experiment)
for record in records:
    columns = {
        "model": "name",
        "ms": "median_ms:.2f",
        "busy": "share:.2f",
        "speedup": "speedup:.2f",
    }
    table(flat(record), {**columns, "cold s": "cold_s:.1f", "difference": "relative:.0e"})

# %%
# `Others publish <https://huggingface.co/docs/transformers/perf_torch_compile>`__, on an A100
# with a nightly of 2.1, 7.26 to 2.19 ms for a ResNet at batch four under ``reduce-overhead``.
# That is another machine and another release.
#
# **What this does not show.** Training, and weights that were trained.
