"""ONNX graphs of a Transformer: its encoder, and one step of its decoder."""

from __future__ import annotations

import math
from typing import Any

import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor

from regard.engines.layout import TransformerLayout

OPSET, FORMAT = 18, 8  # versions of ONNX 1.13, which older onnxruntime releases support as well

Shape = list[str | int]
"""Shape of a value; letters are dynamic dimensions."""


class Graph:
    """Builder of an ONNX graph: operations are added in topological order, values are names.

    >>> graph = Graph()
    >>> graph.output("y", graph.add("Relu", graph.input("x", ["n", 3])), ["n", 3])
    >>> [node.op_type for node in graph.model().graph.node]
    ['Relu', 'Identity']
    """

    def __init__(self) -> None:
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def input(self, name: str, shape: Shape, kind: int = TensorProto.FLOAT) -> str:
        """Declare an input."""
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, value: str, shape: Shape) -> None:
        """Declare a value as an output."""
        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def add(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output and return its name."""
        return self.several(operation, *inputs, count=1, **attributes)[0]

    def several(self, operation: str, *inputs: str, count: int, **attributes: Any) -> list[str]:
        """Add a node with several outputs and return their names."""
        names = [f"v{len(self._nodes)}_{number}" for number in range(count)]
        self._nodes.append(helper.make_node(operation, list(inputs), names, **attributes))
        return names

    def weight(self, name: str, value: Tensor) -> str:
        """Add an initialiser; weights with the same name are shared."""
        if name not in self._constants:
            self._constants[name] = numpy_helper.from_array(value.contiguous().numpy(), name)
        return name

    def number(self, value: float) -> str:
        """Add a scalar constant."""
        return self.weight(f"number {value}", torch.tensor(value, device="cpu", dtype=torch.float32))

    def integers(self, *values: int) -> str:
        """Add an integer vector constant, such as a shape."""
        return self.weight(f"integers {values}", torch.tensor(values, device="cpu", dtype=torch.int64))

    def model(self) -> Any:
        """Return the ONNX model."""
        graph = helper.make_graph(self._nodes, "regard", self._inputs, self._outputs, list(self._constants.values()))
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=FORMAT)


class Parts:
    """Building blocks of a Transformer as graph nodes; weight names are those of `TransformerLayout`.

    Attributes:
        channels: model width C.
        width: head width D.
    """

    def __init__(self, layout: TransformerLayout, side: str) -> None:
        self.graph, self.layout, self.side = Graph(), layout, side
        self.channels = layout.weights["decoder/projection/weight"].shape[1]
        self.width = self.channels // layout.num_heads

    def embedded(self, ids: str, name: str) -> str:
        """Embeddings times sqrt(C), plus additive positions: [n] -> [n, C], [b, s] -> [b, s, C]."""
        words = self.graph.add("Gather", self._weight(f"{name}/weight"), ids)
        words = self.graph.add("Mul", words, self.graph.number(math.sqrt(self.channels)))
        if self.layout.rotary_base is not None:
            return words
        return self.graph.add("Add", words, self.graph.input("places", ["t", self.channels]))

    def linear(self, x: str, name: str) -> str:
        """x Wᵀ + b: [n, in] -> [n, out]."""
        return self.graph.add("Gemm", x, self._weight(f"{name}/weight"), self._weight(f"{name}/bias"), transB=1)

    def norm(self, x: str, name: str) -> str:
        """LayerNorm of [n, C]."""
        scale, shift = self._weight(f"{name}/gamma"), self._weight(f"{name}/beta")
        return self.graph.add("LayerNormalization", x, scale, shift, axis=-1, epsilon=self.layout.epsilon)

    def last_norm(self, x: str) -> str:
        """Final norm after the last layer, if there is one."""
        return self.norm(x, f"{self.side}/layer_norm") if self.layout.pre_norm else x

    def read(self, x: str, part: str) -> str:
        """First linear map of a sublayer, after its norm in a pre-norm model."""
        normed = self.norm(x, f"{part}/layer_norm") if self.layout.pre_norm else x
        return self.linear(normed, f"{part}/linear_0")

    def wrote(self, x: str, written: str, part: str, last: int) -> str:
        """Last linear map of a sublayer plus the residual, followed by the norm in a post-norm model."""
        total = self.graph.add("Add", x, self.linear(written, f"{part}/linear_{last}"))
        return total if self.layout.pre_norm else self.norm(total, f"{part}/layer_norm")

    def feed_forward(self, x: str, part: str) -> str:
        """Feed-forward sublayer W_2 act(W_1 x + b_1) + b_2 with residual."""
        hidden = self.read(x, part)
        return self.wrote(x, self.graph.add("Relu", hidden) if self._relu else self._gelu(hidden), part, 1)

    def thirds(self, x: str, count: int) -> list[str]:
        """Split [n, count * C] into parts of C channels."""
        return self.graph.several("Split", x, self.graph.integers(*[self.channels] * count), count=count, axis=1)

    def scaled(self, query: str) -> str:
        """Queries divided by √D."""
        return self.graph.add("Mul", query, self.graph.number(self.width**-0.5))

    def heads(self, x: str, shape: str) -> str:
        """Split rows into heads: reshape to `shape` [b, t, H, D], then transpose to [b, H, t, D]."""
        return self.graph.add("Transpose", self.graph.add("Reshape", x, shape), perm=[0, 2, 1, 3])

    def joined(self, context: str) -> str:
        """Join heads: [b, H, t, D] -> [b * t, C]."""
        rows = self.graph.add("Transpose", context, perm=[0, 2, 1, 3])
        return self.graph.add("Reshape", rows, self.graph.integers(-1, self.channels))

    def shape_of(self, value: str, *rest: int, axes: int) -> str:
        """Shape vector of the first `axes` sizes of a value, followed by `rest`."""
        return self.graph.add("Concat", self.graph.add("Shape", value, end=axes), self.graph.integers(*rest), axis=0)

    def attended(self, query: str, key: str, value: str, bias: str) -> tuple[str, str]:
        """Contexts and weights of queries [b, H, t, D] over keys [b, H, D, s]; zero in fully masked rows."""
        energy = self.graph.add("Add", self.graph.add("MatMul", query, key), bias)
        weights = self.graph.add("Softmax", energy, axis=-1)
        # exp(bias) is 1 or 0: zeroes the uniform weights of rows in which every key is masked.
        weights = self.graph.add("Mul", weights, self.graph.add("Exp", bias))
        return self.graph.add("MatMul", weights, value), weights

    def turned(self, x: str) -> str:
        """Rotary position embedding of queries or keys [..., D]; unchanged in models without it."""
        if self.layout.rotary_base is None:
            return x
        neighbours = self.graph.weight("neighbours", _neighbours(self.width))
        # A product with a signed permutation matrix swaps each pair of dimensions without slices.
        straight = self.graph.add("Mul", x, "cosines")
        return self.graph.add("Add", straight, self.graph.add("Mul", self.graph.add("MatMul", x, neighbours), "sines"))

    def declare_turns(self) -> None:
        """Declare the rotary angle inputs of `turned`."""
        if self.layout.rotary_base is not None:
            self.graph.input("cosines", ["t", self.width])
            self.graph.input("sines", ["t", self.width])

    @property
    def _relu(self) -> bool:
        return self.layout.activation == "relu"

    def _weight(self, name: str) -> str:
        return self.graph.weight(name, self.layout.weights[name])

    def _gelu(self, x: str) -> str:
        error = self.graph.add("Erf", self.graph.add("Mul", x, self.graph.number(math.sqrt(0.5))))
        share = self.graph.add("Add", error, self.graph.number(1.0))
        return self.graph.add("Mul", self.graph.add("Mul", x, self.graph.number(0.5)), share)


def encoder(layout: TransformerLayout) -> Any:
    """Return the encoder graph, including the cross-attention keys and values of each decoder layer.

    Inputs: source [b, s] ids, bias [b, 1, 1, s], positions. Outputs: source_key_0 [b, H, D, s], source_value_0
    [b, H, s, D], ...
    """
    parts = Parts(layout, "encoder")
    graph, heads, width = parts.graph, layout.num_heads, parts.width
    source, bias = graph.input("source", ["b", "s"], TensorProto.INT64), graph.input("bias", ["b", 1, 1, "s"])
    parts.declare_turns()
    shape = parts.shape_of(source, heads, width, axes=2)
    x = parts.embedded(source, "encoder/embeddings_0")
    x = graph.add("Reshape", x, graph.integers(-1, parts.channels))
    for number in range(layout.num_layers):
        part = f"encoder/layer_{number}/self_attention"
        query, key, value = (parts.heads(one, shape) for one in parts.thirds(parts.read(x, part), 3))
        key = graph.add("Transpose", parts.turned(key), perm=[0, 1, 3, 2])
        context, _ = parts.attended(parts.turned(parts.scaled(query)), key, value, bias)
        x = parts.wrote(x, parts.joined(context), part, 1)
        x = parts.feed_forward(x, f"encoder/layer_{number}/ffn")
    x = parts.last_norm(x)
    for number in range(layout.num_layers):
        both = parts.thirds(parts.linear(x, f"decoder/layer_{number}/attention/linear_1"), 2)
        key, value = (parts.heads(one, shape) for one in both)
        graph.output(f"source_key_{number}", graph.add("Transpose", key, perm=[0, 1, 3, 2]), ["b", heads, width, "s"])
        graph.output(f"source_value_{number}", value, ["b", heads, "s", width])
    return graph.model()


def step(layout: TransformerLayout) -> Any:
    """Return the graph of a decoder step for n sequences; n / r adjacent sequences share each of r sources.

    Inputs: token [n], source_bias [r, 1, 1, s], outputs of the encoder, positions, and caches past_key_0 and
    past_value_0 [n, H, c, D], ... with past_bias [c], which masks unused entries. Outputs:
    log_probs [n, V], weights [r, n / r, s] of the last layer over the source, averaged over heads, and the new entries
    of the caches, key_0 and value_0 [n, H, 1, D], ...
    """
    parts = Parts(layout, "decoder")
    graph, heads, width = parts.graph, layout.num_heads, parts.width
    x = parts.embedded(graph.input("token", ["n"], TensorProto.INT64), "decoder/embeddings")
    parts.declare_turns()
    past_bias, source_bias = graph.input("past_bias", ["c"]), graph.input("source_bias", ["r", 1, 1, "s"])
    shape = parts.shape_of(source_bias, -1, heads, width, axes=1)
    weights = ""
    for number in range(layout.num_layers):
        part = f"decoder/layer_{number}/self_attention"
        context = _past(parts, parts.read(x, part), number, past_bias)
        x = parts.wrote(x, context, part, 1)
        part = f"decoder/layer_{number}/attention"
        key = graph.input(f"source_key_{number}", ["r", heads, width, "s"])
        value = graph.input(f"source_value_{number}", ["r", heads, "s", width])
        query = parts.heads(parts.scaled(parts.read(x, part)), shape)
        context, weights = parts.attended(query, key, value, source_bias)
        x = parts.wrote(x, parts.joined(context), part, 2)
        x = parts.feed_forward(x, f"decoder/layer_{number}/ffn")
    logits = parts.linear(parts.last_norm(x), "decoder/projection")
    graph.output("log_probs", graph.add("LogSoftmax", logits, axis=-1), ["n", layout.sizes[1]])
    mean = graph.add("ReduceMean", weights, graph.integers(1), keepdims=0)  # [r, H, k, s] -> [r, k, s]
    graph.output("weights", mean, ["r", "k", "s"])
    return graph.model()


def _past(parts: Parts, read: str, number: int, bias: str) -> str:
    """Self-attention contexts [n, C] over the cache and the current token, which is not in the cache yet."""
    graph, heads, width = parts.graph, parts.layout.num_heads, parts.width
    past_key, past_value = (graph.input(f"past_{one}_{number}", ["n", heads, "c", width]) for one in ("key", "value"))
    one = graph.integers(-1, heads, 1, width)  # [n, H, 1, D]
    query, key, value = (graph.add("Reshape", each, one) for each in parts.thirds(read, 3))
    query, key = parts.turned(parts.scaled(query)), parts.turned(key)
    graph.output(f"key_{number}", key, ["n", heads, 1, width])
    graph.output(f"value_{number}", value, ["n", heads, 1, width])
    # Multiply keys [n, H, c, D] by a column vector: the cache is contiguous in this layout and needs no transpose.
    column = graph.add("Reshape", query, graph.integers(-1, heads, width, 1))
    before = graph.add("Reshape", graph.add("MatMul", past_key, column), graph.integers(0, heads, 1, -1))
    now = graph.add("ReduceSum", graph.add("Mul", query, key), graph.integers(-1))  # [n, H, 1, 1]
    energy = graph.add("Concat", graph.add("Add", before, bias), now, axis=-1)  # [n, H, 1, c + 1]
    weights = graph.add("Softmax", energy, axis=-1)
    old = graph.add("Slice", weights, graph.integers(0), graph.integers(-1), graph.integers(-1))
    new = graph.add("Slice", weights, graph.integers(-1), graph.integers(2**62), graph.integers(-1))
    # Two products instead of a concatenation of the values, which would copy the cache.
    context = graph.add("Add", graph.add("MatMul", old, past_value), graph.add("Mul", new, value))
    return graph.add("Reshape", context, graph.integers(-1, parts.channels))


def _neighbours(width: int) -> Tensor:
    """[D, D]: x times it is -x_1, x_0, -x_3, x_2, ..."""
    swap = torch.zeros(width, width, device="cpu")
    even = torch.arange(0, width, 2, device="cpu")
    swap[even + 1, even], swap[even, even + 1] = -1.0, 1.0
    return swap
