"""Options and fixtures of the whole suite. `pytest --device cuda` runs the same tests on a GPU."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator

import pytest
import torch


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--device", default="cpu", help="where tensors are made: cpu (default) or cuda")


def pytest_configure() -> None:
    # A script that starts pytest in the background has it ignore Ctrl-C, and so would the programs that tests start.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _awake(request: pytest.FixtureRequest) -> None:
    """The first backward pass on a GPU warns that its thread had no context yet; here that is nobody's fault."""
    if request.config.getoption("--device") == "cuda" and torch.cuda.is_available():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (torch.ones(2, 2, device="cuda", requires_grad=True) @ torch.ones(2, 2, device="cuda")).sum().backward()


@pytest.fixture(autouse=True)
def _on_device(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test makes its tensors on the chosen device and starts from the same seed."""
    device = request.config.getoption("--device")
    if device == "cuda" and not torch.cuda.is_available():
        pytest.fail("--device cuda was asked for, but this machine has no CUDA device")
    torch.manual_seed(0)
    torch.set_num_threads(1)  # the suite runs in several processes; threads in each would only wait for one another
    if device != "cpu":  # a default device, the CPU too, has every function of PyTorch called through Python
        torch.set_default_device(device)
    yield
    torch.set_default_device(None)
