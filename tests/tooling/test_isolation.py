import pytest
import torch
from torch._dynamo.testing import CompileCounter


def double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


COUNTER = CompileCounter()


@pytest.mark.parametrize("turn", [1, 2])
def test_dynamo_starts_each_test_anew(turn: int) -> None:
    torch.compile(double, backend=COUNTER)(torch.ones(3))
    assert COUNTER.frame_count == turn
