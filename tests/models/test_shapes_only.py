"""Models on the meta device are constructed without values, memory, or what PyTorch needs to work them out."""

from __future__ import annotations

import subprocess
import sys

import torch

from regard.models import build
from regard.models.shapes_only import shapes_only

PROBE = """
import sys
from regard.recipes.yaml_document import RecipeDocument
from regard.recipes.library import shipped
from regard.recipes.load import check
for path in shipped().values():
    check(RecipeDocument.read(path))
heavy = ("torch._dynamo", "torch._inductor", "sympy", "torch.distributed.tensor", "torch.distributed.fsdp")
print([name for name in heavy if name in sys.modules], "torch" in sys.modules, len(shipped()))
"""


def test_no_recipe_needs_the_compiler_to_be_checked() -> None:
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    heavy, torch_too, count = done.stdout.rsplit(maxsplit=2)
    assert heavy == "[]"
    assert torch_too == "True"  # the models were built
    assert int(count) >= 38


def test_shapes_are_those_of_the_model() -> None:
    arguments = {"embedding_dim": 5, "hidden_dim": 7, "attention": "general"}
    with shapes_only():
        outline = build("luong", 11, 13, **arguments)
    model = build("luong", 11, 13, **arguments)
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    assert {name: tensor.shape for name, tensor in outline.state_dict().items()} == shapes
    assert all(tensor.is_meta for tensor in outline.state_dict().values())


def test_it_ends_with_the_context() -> None:
    with shapes_only():
        assert torch.randn(3).is_meta
    assert torch.randn(3).abs().sum() > 0
    assert torch.nn.init.normal_(torch.zeros(3)).abs().sum() > 0
