"""
3. Launch overhead: a GPT-2-sized model from one token to sixteen thousand
==========================================================================
"""

# %%

import torch

from compile_in_practice.contest import DEFAULT, MAX_AUTOTUNE, REDUCE_OVERHEAD, contest
from compile_in_practice.gpt import GPT
from compile_in_practice.timing import device

LONGEST = 1024  # positions of the model: more tokens become more rows of the batch
CASES = [
    {"n_tokens": 1, "modes": ["default", "reduce_overhead", "max_autotune"]},
    {"n_tokens": 16, "modes": ["default", "reduce_overhead"]},
    {"n_tokens": 256, "modes": ["default", "reduce_overhead"]},
    {"n_tokens": 2048, "modes": ["default", "reduce_overhead"]},
    {"n_tokens": 16384, "modes": ["default", "reduce_overhead", "max_autotune"]},
]
TRY_CASES = [{"n_tokens": 4, "modes": ["default"], "n_layer": 1}]
OPTIONS = {
    "default": DEFAULT,
    "reduce_overhead": REDUCE_OVERHEAD,
    "max_autotune": MAX_AUTOTUNE,
}


def experiment(*, n_tokens, modes, n_layer=12):
    """Eager and each mode at one number of tokens; bf16 weights, no gradients."""
    torch.manual_seed(0)
    model = GPT(n_layer=n_layer).to(device(), torch.bfloat16).eval()
    shape = (max(1, n_tokens // LONGEST), min(n_tokens, LONGEST))  # (B, T)

    def make(seed):
        generator = torch.Generator().manual_seed(seed)
        return (torch.randint(50257, shape, generator=generator).to(device()),)

    contenders = {mode: OPTIONS[mode] for mode in modes}
    with torch.no_grad():
        rows = contest(model, make, contenders, label=f"t{n_tokens}_", warm=n_tokens == 1)
    for each in rows:
        each.setdefault("facts", {})["weight_gb"] = round(model.weight_gb(), 4)
    return rows
