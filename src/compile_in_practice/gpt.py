"""A GPT-2-sized model with random weights, for the experiments on a GPU."""

from __future__ import annotations

import torch.nn.functional as F  # noqa: N812  torch's own short name
from torch import Tensor, nn


class Attention(nn.Module):
    """Causal self-attention. Shapes: B batch, T tokens, C width, H heads, D = C // H."""

    def __init__(self, width: int, n_head: int) -> None:
        super().__init__()
        self.n_head = n_head
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def split(self, x: Tensor) -> list[Tensor]:
        """Queries, keys and values of `x`: (B, T, C), each as (B, H, T, D)."""
        B, T, C = x.shape  # noqa: N806
        parts = self.qkv(x).split(C, dim=2)
        return [part.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for part in parts]

    def join(self, heads: Tensor) -> Tensor:
        """(B, T, C) from heads of shape (B, H, T, D)."""
        B, H, T, D = heads.shape  # noqa: N806
        joined: Tensor = self.out(heads.transpose(1, 2).reshape(B, T, H * D))
        return joined

    def forward(self, x: Tensor) -> Tensor:
        """Attention of `x`: (B, T, C) to itself."""
        q, k, v = self.split(x)
        return self.join(F.scaled_dot_product_attention(q, k, v, is_causal=True))


class Block(nn.Module):
    """One Transformer block, pre-norm."""

    def __init__(self, width: int, n_head: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, n_head)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def mlp(self, x: Tensor) -> Tensor:
        """Feed-forward part of `x`: (B, T, C)."""
        y: Tensor = self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))
        return y

    def forward(self, x: Tensor) -> Tensor:
        """The block's output for `x`: (B, T, C)."""
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(x)


class GPT(nn.Module):
    """Token logits. The defaults are GPT-2's: 124 million parameters."""

    def __init__(
        self,
        *,
        n_layer: int = 12,
        n_head: int = 12,
        width: int = 768,
        n_vocabulary: int = 50304,
        n_positions: int = 1024,
    ) -> None:
        super().__init__()
        self.tokens = nn.Embedding(n_vocabulary, width)
        self.positions = nn.Embedding(n_positions, width)
        self.blocks = nn.ModuleList(Block(width, n_head) for _ in range(n_layer))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, n_vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        self.apply(_small_weights)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits (B, T, V) of `tokens`: (B, T), int64."""
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.head(self.norm(x))
        return logits

    def weight_gb(self) -> float:
        """Gigabytes of the parameters, shared ones once."""
        return sum(p.numel() * p.element_size() for p in self.parameters()) / 1e9


def _small_weights(module: nn.Module) -> None:
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
