"""
4. A stack compiled whole and by block
======================================

**Question.** A model repeats one block. How much is compiled when the whole model is
compiled, and how much when each block is?

**Prediction.** Whole: one graph that holds every block. By block: one small graph, used
again for each block, unless a guard differs between blocks.

**Run it** in a clone, with torch alone: ``PYTHONPATH=src python gallery/lab/whole_or_blocks.py --backend eager``
(or ``aot_eager``, or ``inductor`` where there is a C++ compiler). Seconds, on a CPU.
"""

# %%
# A residual block of five operations, and a stack of them.

import torch
from torch import nn
from torch._dynamo.testing import CompileCounterWithBackend

from compile_in_practice.replay import pyplot, replay, table

N_BLOCKS = 6
B, C = 4, 16  # rows of the input, and its width


class Block(nn.Module):
    """norm, up, gelu, down, add."""

    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(C)
        self.up, self.down = nn.Linear(C, 2 * C), nn.Linear(2 * C, C)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


class Stack(nn.Module):
    """The blocks in turn. A class of its own: in place, 2.8.0 compiles no ``nn.Sequential``."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(N_BLOCKS))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def count(way, backend, *, requires_grad=False):
    """Frames and operations that one forward compiles, and its keys."""
    torch._dynamo.reset()
    torch.manual_seed(0)
    stack = Stack()
    x = torch.randn(B, C, requires_grad=requires_grad)  # (B, C)
    expected, keys = stack(x), list(stack.state_dict())
    counter = CompileCounterWithBackend(backend)
    if way == "whole":
        stack.compile(backend=counter)
    else:
        for block in stack.blocks:
            block.compile(backend=counter)
    torch.testing.assert_close(stack(x), expected)
    n_ops = [
        sum(node.op.startswith("call_") for node in graph.graph.nodes) for graph in counter.graphs
    ]
    torch._dynamo.reset()
    return {
        "n_frames": counter.frame_count,
        "n_ops": counter.op_count,
        "n_ops_each": n_ops,
        "same_keys": list(stack.state_dict()) == keys,
    }


# %%
# The experiment compiles both ways, and once more with an input that requires grad.


def experiment(backend="aot_eager"):
    """Frames and operations by way."""
    data = {
        "whole": count("whole", backend),
        "blocks": count("blocks", backend),
        "blocks_grad": count("blocks", backend, requires_grad=True),
    }
    assert data["whole"]["n_frames"] == 1, data
    assert data["blocks"]["n_frames"] == 2, data
    assert data["blocks"]["same_keys"], data
    return data


# %%
# The second frame is a guard at work: the first block's input does not require grad,
# the later ones' inputs do. With an input that requires grad, one frame serves all.

data = replay(experiment)
labels = {"whole": "whole model", "blocks": "by block", "blocks_grad": "by block, x.requires_grad"}
rows = [{"name": label, **data[way]} for way, label in labels.items()]
table(rows, {"compiled": "name", "frames": "n_frames", "operations": "n_ops"})

# %%
# Compile the block that repeats: what is compiled no longer grows with depth.

plt = pyplot()
figure, axes = plt.subplots(figsize=(6, 2))
bars = axes.barh(
    [row["name"] for row in rows], [row["n_ops"] for row in rows], color="0.75", edgecolor="0.2"
)
axes.bar_label(
    bars, labels=[f"{row['n_ops']} in {row['n_frames']} graphs" for row in rows], padding=3
)
axes.set_xlabel("operations compiled")
axes.margins(x=0.25)
axes.invert_yaxis()
figure.tight_layout()

# %%
# **What this does not show.** Seconds: the compile-time experiment of the GPU gallery
# has them. Fusion across a block's end is lost by block; the same experiment has its price.
