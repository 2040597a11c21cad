"""The encoder as a graph for ONNX Runtime: attention, normalisation and GELU are its fused operators."""

from typing import Final

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from querymill_embedded.embedding.weights import Weights, unpacked

#: Names of the inputs and of the output. Embedded tokens and hidden states are (texts, tokens, hidden); ``lengths`` has
#: the number of tokens of each text, the rest of its row is padding.
EMBEDDED, LENGTHS, STATES = "embedded", "lengths", "states"
_FUSED: Final = "com.microsoft"
_EPSILON: Final = 1e-12
_OPERATORS: Final = 18
_FORMAT: Final = 9


def encoder(weights: Weights) -> ModelProto:
    """Return the encoder without the table of tokens: from embedded tokens to hidden states."""
    return _Graph(weights).encoder()


class _Graph:
    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._sizes = weights.dimensions
        self._nodes: list[NodeProto] = []
        self._constants: list[TensorProto] = []

    def encoder(self) -> ModelProto:
        sizes = self._sizes
        states = self._node("LayerNormalization", [EMBEDDED, *self._scale("emb.ln")], domain="", axis=-1)
        for layer in range(sizes.layers):
            states = self._layer(f"l{layer}", states)
        self._nodes.append(helper.make_node("Identity", [states], [STATES]))
        shape: list[str | int | None] = ["texts", "tokens", sizes.hidden]
        graph = helper.make_graph(
            self._nodes,
            "encoder",
            [
                helper.make_tensor_value_info(EMBEDDED, TensorProto.FLOAT, shape),
                helper.make_tensor_value_info(LENGTHS, TensorProto.INT32, ["texts"]),
            ],
            [helper.make_tensor_value_info(STATES, TensorProto.FLOAT, shape)],
            self._constants,
        )
        operators = [helper.make_opsetid("", _OPERATORS), helper.make_opsetid(_FUSED, 1)]
        model = helper.make_model(graph, opset_imports=operators)
        model.ir_version = _FORMAT
        return model

    def _layer(self, layer: str, states: str) -> str:
        hidden, inner = self._sizes.hidden, self._sizes.inner
        compared = [self._linear(f"{layer}.{name}", states, hidden, hidden) for name in ("q", "k", "v")]
        seen = self._node("MultiHeadAttention", [*compared, "", LENGTHS], num_heads=self._sizes.heads, epsilon=None)
        states = self._added(f"{layer}.aln", self._linear(f"{layer}.ao", seen, hidden, hidden), states)
        wide = self._node("Gelu", [self._linear(f"{layer}.fi", states, inner, hidden)], epsilon=None)
        return self._added(f"{layer}.oln", self._linear(f"{layer}.fo", wide, hidden, inner), states)

    def _linear(self, name: str, given: str, rows: int, columns: int) -> str:
        matrix = unpacked(self._weights.packed(f"{name}.w", rows, columns)).T
        product = self._node("MatMul", [given, self._constant(f"{name}.w", matrix)], domain="", epsilon=None)
        bias = self._constant(f"{name}.b", self._weights.plain(f"{name}.b", rows))
        return self._node("Add", [product, bias], domain="", epsilon=None)

    def _added(self, name: str, one: str, other: str) -> str:
        return self._node("SkipLayerNormalization", [one, other, *self._scale(name)])

    def _scale(self, name: str) -> list[str]:
        parts = (f"{name}.w", f"{name}.b")
        return [self._constant(part, self._weights.plain(part, self._sizes.hidden)) for part in parts]

    def _node(
        self,
        operator: str,
        inputs: list[str],
        *,
        domain: str = _FUSED,
        epsilon: float | None = _EPSILON,
        **attributes: int,
    ) -> str:
        output = f"{operator}{len(self._nodes)}"
        given = attributes if epsilon is None else {**attributes, "epsilon": epsilon}
        self._nodes.append(helper.make_node(operator, inputs, [output], domain=domain, **given))
        return output

    def _constant(self, name: str, values: NDArray[np.float32]) -> str:
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name
