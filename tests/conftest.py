"""Options and fixtures of the whole suite. `pytest --device cuda` runs the same tests on a GPU."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", default="cpu", help="where tensors are made: cpu (default) or cuda")


@pytest.fixture(autouse=True)
def _on_device(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test makes its tensors on the chosen device and starts from the same seed."""
    device = request.config.getoption("--device")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.fail("--device cuda was asked for, but this machine has no CUDA device")
    torch.manual_seed(0)
    torch.set_default_device(device)
    yield
    torch.set_default_device("cpu")
