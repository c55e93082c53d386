"""The data of the rewrite grid: what the component shows, as plain values."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpcore.audit.composition import composition
from dpcore.errors import EpsilonError
from dpcore.plots.style import style_of
from dpcore.rewrite.vocabulary import Role
from pages.shared.groups import group_of
from pages.shared.signs import SIGNS

if TYPE_CHECKING:
    from dpcore.audit.composition import Composition
    from dpcore.mechanisms.law import Law
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.rewrite.rewritten import Rewrite
    from dpcore.rewrite.sentence import Sentence, SentenceDraw
    from pages.shared.bench import Bench
    from pages.shared.groups import Group

TOP = 5


def source_row(sentence: Sentence) -> list[dict[str, str]]:
    """The tokens of the text as it was typed; unknown words are marked."""
    unknown = set(sentence.encoding.unknown)
    return [
        {"gap": token.before, "text": token.text, "role": "unknown" if i in unknown else "known"}
        for i, token in enumerate(sentence.tokens)
    ]


def mechanism_row(
    bench: Bench, mechanism: Mechanism, drawn: SentenceDraw, epsilon: float, place: int
) -> dict[str, Any]:
    """One row: the rewritten words, the promise, and the ε-strip of the chosen place."""
    style = style_of(mechanism.key)
    row: dict[str, Any] = {
        "key": mechanism.key,
        "title": mechanism.title,
        "glyph": style.glyph,
        "colour": style.colour,
        "count": "",
    }
    try:
        mechanism.check_epsilon(epsilon)
    except EpsilonError as error:
        status = {"kind": "none", "icon": "–", "label": "not defined here", "line": ""}
        about = [["How it works", _how(mechanism)], ["Source", mechanism.source]]
        return row | {"problem": str(error), "status": status, "promise": about}
    rewrite = drawn.at(epsilon)
    protected = bench.sentence.protected
    row["count"] = f"{rewrite.changed} of {protected} changed"
    row["tokens"] = _tokens(rewrite)
    if place < protected:
        row["strip"] = _strip(bench, drawn, group_of(mechanism.meaning), epsilon, place)
    promise = bench.promise(mechanism, epsilon)
    if promise is None:
        return row
    return row | _card(mechanism, composition(mechanism, epsilon, protected, guarantee=promise))


def likeliest(
    bench: Bench, mechanism: Mechanism, word: int, epsilon: float, count: int
) -> tuple[Law, list[tuple[str, float, float]]]:
    """The law of a word, and its likeliest outputs: word, probability, distance."""
    law, row = bench.law(mechanism, word, epsilon)
    top = law.top(count, row)
    far = bench.distance(word, bench.lexicon.indices([output for output, _ in top]).tolist())
    return law, [(*output, distance) for output, distance in zip(top, far, strict=True)]


def likely(bench: Bench, mechanism: Mechanism, place: int, epsilon: float) -> dict[str, Any]:
    """The most likely outputs of one place, for its card."""
    entry: dict[str, Any] = {"id": f"{mechanism.key}/{place}", "outputs": []}
    word = bench.word(place)
    if word < 0:
        note = "Not in the vocabulary: a word drawn at random stands in for it, anew in each draw."
        return entry | {"note": note}
    law, top = likeliest(bench, mechanism, word, epsilon, TOP)
    entry["outputs"] = [list(output) for output in top]
    exact = f"exact ({law.method})"
    estimate = f"estimated: {law.method}, standard error up to {law.error:.2g}"
    return entry | {"note": exact if law.exact else estimate}


def _tokens(rewrite: Rewrite) -> list[dict[str, Any]]:
    tokens: list[dict[str, Any]] = []
    for token in rewrite.tokens:
        if not token.output:
            continue
        entry: dict[str, Any] = {"text": token.output}
        if token.before:
            entry["gap"] = token.before
        if token.slot >= 0:
            entry |= {"place": token.slot, "changed": token.changed}
        else:
            entry["role"] = "unknown" if token.role is Role.UNKNOWN else "released"
        tokens.append(entry)
    return tokens


def _card(mechanism: Mechanism, composed: Composition) -> dict[str, Any]:
    promise = composed.guarantee
    status = str(promise.status)
    kept = status in {"proved", "certified on this lexicon"}
    line = "what it promises" if kept else promise.reason
    whole = promise.for_tokens(composed.words)
    if composed.helps:
        whole += f" {composed.statement}"
    return {
        "status": {
            "kind": status.split()[0],
            "icon": SIGNS[status],
            "label": status,
            "line": line,
        },
        "promise": [
            ["Promise for each word", promise.statement],
            ["For this text", whole],
            ["Status", f"{status}: {promise.reason}"],
            ["Source", promise.source],
            *([["Rounding", promise.rounding.reason]] if promise.rounding else []),
            ["How it works", _how(mechanism)],
        ],
    }


def _how(mechanism: Mechanism) -> str:
    """What it does, and what to know before it is taken here."""
    return f"{mechanism.summary}. {mechanism.caution}".removesuffix(". ")


def _strip(
    bench: Bench, drawn: SentenceDraw, group: Group, epsilon: float, place: int
) -> dict[str, Any]:
    """Where the pieces of one place lie on the slider's range, from 0 to 1 in ln ε."""
    ends = group.grid[0], group.grid[-1]
    low, high = (math.log(end) for end in ends)

    def where(point: float) -> float:
        if point <= 0:
            return 0.0
        return min(1.0, max(0.0, (math.log(point) - low) / (high - low)))

    words, word = bench.lexicon.words, bench.word(place)
    pieces, texts = [], []
    for piece in drawn.pieces(place):
        # The last piece has no end, whose logarithm would be infinite.
        start, stop = where(piece.from_epsilon), where(min(piece.to_epsilon, 1e300))
        if not stop > start:
            continue  # it lies outside the range of the slider
        output = words[piece.output]
        end = f"to {piece.to_epsilon:.3g}" if stop < 1 else "on"
        text = f"{output}: from ε = {piece.from_epsilon:.3g} {end}"
        pieces.append([round(start, 4), round(stop, 4), output, piece.output == word, text])
        texts.append(text)
    unit = "ln ε" if group.logarithm else "ε"
    return {
        "pieces": pieces,
        "now": round(where(epsilon), 4),
        "low": f"{unit} = {group.label(ends[0])}",
        "high": f"{unit} = {group.label(ends[1])}",
        "alt": "ε-strip. " + "; ".join(texts),
    }
