"""Checks of `regard doctor`: machine, packages, and fast implementations against the reference implementation."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import torch

import regard
from regard import Mask, __version__, ops
from regard.ops.attended import Attended

_PACKAGE = Path(regard.__file__).parent
_CONSTRAINTS = (_PACKAGE / "constraints.txt", _PACKAGE.parents[1] / "constraints.txt")
"""Locations in an installed package and in a checkout."""
_PINNED = "pip install -c constraints.txt has the tested one"


class CheckResult(NamedTuple):
    """Result of one check."""

    verdict: Literal["ok", "note", "missing"]
    what: str
    fact: str


def examine(*, run: bool = True) -> list[CheckResult]:
    """Return the results of all checks; with `run`, including fast implementations on each device."""
    findings = [
        CheckResult("ok", "regard", __version__),
        CheckResult("ok", "Python", f"{platform.python_version()} on {platform.system()} {platform.machine()}"),
        _torch(),
        CheckResult("ok", "CPU", f"{os.cpu_count()} cores, {torch.get_num_threads()} used by PyTorch{_memory()}"),
        *_accelerators(),
        _triton(),
        *_packages(),
    ]
    if run:
        for device in _devices():
            findings.extend(_self_checks(device))
    return findings


def _torch() -> CheckResult:
    tested = pinned_versions().get("torch")
    if tested is not None and newer(torch.__version__, tested):
        return CheckResult("note", "PyTorch", f"{torch.__version__}, newer than the tested {tested}; {_PINNED}")
    return CheckResult("ok", "PyTorch", torch.__version__ + (f" (tested: {tested})" if tested else ""))


def _memory() -> str:
    try:
        size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not available on all systems
        return ""
    return f", {size / 2**30:.0f} GiB of memory"


def _accelerators() -> Iterator[CheckResult]:
    for index in range(torch.cuda.device_count()):
        card = torch.cuda.get_device_properties(index)
        half = "bfloat16" if torch.cuda.is_bf16_supported() else "float16 only"
        fact = f"{card.name}, {card.total_memory / 2**30:.0f} GiB, compute capability {card.major}.{card.minor}, {half}"
        yield CheckResult("ok", f"GPU {index}", fact)
    if torch.backends.mps.is_available():
        yield CheckResult("ok", "GPU", "Apple GPU through Metal")
    elif not torch.cuda.is_available():
        yield CheckResult("note", "GPU", "none that PyTorch can use; everything runs on the CPU")


def _triton() -> CheckResult:
    if importlib.util.find_spec("triton") is None:
        return CheckResult("note", "Triton", "not installed; nothing here needs it")
    return CheckResult("ok", "Triton", importlib.metadata.version("triton"))


def _packages() -> Iterator[CheckResult]:
    """Yield missing dependencies, those newer than the tested version, and the extras."""
    tested = pinned_versions()
    extras: dict[str, list[str]] = {}
    for requirement in importlib.metadata.requires("regard") or []:
        name = re.split(r"[^\w.-]", requirement, maxsplit=1)[0]
        extra = re.search(r"extra\s*==\s*['\"](\w+)['\"]", requirement)
        if extra:
            extras.setdefault(extra[1], []).append(name)
        elif (version := _version(name)) is None:
            yield CheckResult("missing", name, f"not installed: pip install {name}")
        elif name != "torch" and name in tested and newer(version, tested[name]):
            yield CheckResult("note", name, f"{version}, newer than the tested {tested[name]}; {_PINNED}")
    for extra_name, names in extras.items():
        absent = [name for name in names if _version(name) is None]
        if absent:
            yield CheckResult(
                "note", f"[{extra_name}]", f"without {', '.join(absent)}: pip install -e '.[{extra_name}]'"
            )
        else:
            yield CheckResult("ok", f"[{extra_name}]", ", ".join(names))


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _devices() -> list[torch.device]:
    found = [torch.device("cpu")]
    if torch.cuda.is_available():
        found.append(torch.device("cuda"))
    if torch.backends.mps.is_available():
        found.append(torch.device("mps"))
    return found


_Run = Callable[[torch.Tensor, Mask, str], Attended]
_RUNS: dict[str, tuple[_Run, tuple[str, ...]]] = {
    "additive": (lambda x, mask, impl: ops.additive_attention(x, x, x, x[0, :, 0], mask, impl=impl), ("blocked",)),
    "scaled_dot": (lambda x, mask, impl: ops.scaled_dot_attention(x, x, x, mask, impl=impl), ("sdpa",)),
}


def _self_checks(device: torch.device) -> Iterator[CheckResult]:
    """Compare fast implementations with the float64 reference, on a batch with a fully masked sequence."""
    generator = torch.Generator().manual_seed(0)
    wide = torch.randn(3, 2, 65, 32, generator=generator, dtype=torch.float64)
    narrow = wide.float().to(device)
    mask = Mask.padding([65, 17, 0]) & Mask.causal()
    for mechanism, (run, implementations) in _RUNS.items():
        truth = run(wide, mask, "reference").context
        for impl in implementations:
            begin = time.perf_counter()
            error = float((run(narrow, mask, impl).context.double().cpu() - truth).abs().max())
            took = 1e3 * (time.perf_counter() - begin)
            fact = f"{impl} on {device}: largest error {error:.1e} in float32, {took:.0f} ms"
            yield CheckResult("ok" if error < 1e-4 else "missing", mechanism, fact)


def pinned_versions() -> dict[str, str]:
    """Return the tested version of each package, by its name in lower case; empty if the file is missing."""
    found = next((path for path in _CONSTRAINTS if path.exists()), None)
    text = "" if found is None else found.read_text(encoding="utf-8")
    return {name.lower(): version for name, version in re.findall(r"^([\w.-]+)==(\S+)$", text, re.MULTILINE)}


def newer(installed: str, tested: str) -> bool:
    """Return True if the minor version is later than the tested one.

    >>> newer("2.15.0+cpu", "2.13.0"), newer("2.13.1", "2.13.0"), newer("3", "2.13.0"), newer("2.9.1", "2.13.0")
    (True, False, True, False)
    """
    return _release(installed) > _release(tested)


def _release(version: str) -> tuple[int, ...]:
    numbers = re.match(r"\d+(\.\d+)?", version)
    return tuple(map(int, numbers[0].split("."))) if numbers else ()
