"""Data of the rewrite grid as plain values for the component."""

from __future__ import annotations

import math
from typing import Any

from dpcore.audit.composition import Composition, composition
from dpcore.errors import EpsilonError
from dpcore.mechanisms.law import Law
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.plots.style import style_of
from dpcore.rewrite.rewritten import Rewrite
from dpcore.rewrite.sentence import Sentence, SentenceDraw
from dpcore.rewrite.vocabulary import Role
from pages.rewrite.scene import at_same_leakage, without_epsilon
from pages.shared.dial import Group, group_of
from pages.shared.language import numeral, retold, say
from pages.shared.messages import SIGNS
from pages.shared.promised import promised_epsilon
from pages.shared.session import Bench

TOP = 5


def source_row(sentence: Sentence) -> list[dict[str, str]]:
    """Return the tokens of the typed text; unknown words are marked."""
    unknown = set(sentence.encoding.unknown)
    return [
        {"gap": token.before, "text": token.text, "role": "unknown" if i in unknown else "known"}
        for i, token in enumerate(sentence.tokens)
    ]


def mechanism_row(
    bench: Bench, mechanism: Mechanism, drawn: SentenceDraw, epsilon: float, place: int
) -> dict[str, Any]:
    """Return one row: the rewritten words, the guarantee, and the ε-strip of the chosen place."""
    style = style_of(mechanism.key)
    row: dict[str, Any] = {
        "key": mechanism.key,
        "title": say(mechanism.title),
        "glyph": style.glyph,
        "colour": style.colour,
        "count": "",
    }
    try:
        # One dial serves mechanisms with different domains: at its ε some may not be defined.
        mechanism.check_epsilon(epsilon)
    except EpsilonError as error:
        none = math.isnan(epsilon)
        label = say("no ε at this leakage") if none else say("not defined here")
        status = {"kind": "none", "icon": "–", "label": label, "line": ""}
        about = [[say("How it works"), _how(mechanism)], [say("Source"), retold(mechanism.source)]]
        problem = without_epsilon(mechanism) if none else str(error)
        return row | {"problem": problem, "status": status, "promise": about}
    rewrite = drawn.at(epsilon)
    protected = bench.sentence.protected
    row["count"] = say(
        "{left} of {words} words stay as they are", left=rewrite.stayed, words=protected
    )
    if at_same_leakage():
        row["count"] = f"{promised_epsilon(mechanism, epsilon)} · {row['count']}"
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
    """Return the law of a word, and its likeliest outputs: word, probability, distance."""
    # The engine may estimate a law for a whole grid of ε; `row` is the position of this one.
    law, row = bench.law(mechanism, word, epsilon)
    top = law.top(count, row)
    far = bench.distance(word, bench.lexicon.indices([output for output, _ in top]).tolist())
    return law, [(*output, distance) for output, distance in zip(top, far, strict=True)]


def likely(bench: Bench, mechanism: Mechanism, place: int, epsilon: float) -> dict[str, Any]:
    """Return the most likely outputs of one place, for its card."""
    entry: dict[str, Any] = {"id": f"{mechanism.key}/{place}", "outputs": []}
    word = bench.word(place)
    if word < 0:
        note = say(
            "Not in the vocabulary: replaced by a random word first, a new one in each draw."
        )
        return entry | {"note": note}
    law, top = likeliest(bench, mechanism, word, epsilon, TOP)
    entry["outputs"] = [list(output) for output in top]
    exact = say("exact ({method})", method=retold(law.method))
    estimate = say(
        "estimated: {method}, standard error up to {error:.2g}",
        method=retold(law.method),
        error=law.error,
    )
    return entry | {"note": exact if law.exact else estimate}


def _tokens(rewrite: Rewrite) -> list[dict[str, Any]]:
    tokens: list[dict[str, Any]] = []
    for token in rewrite.tokens:
        # A dropped token: unknown words have no output under that option.
        if not token.output:
            continue
        entry: dict[str, Any] = {"text": token.output}
        # Left out where empty: the whole grid is sent each time that a dial rests.
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
    # Where the promise is not kept, the reason stands in the row itself and not behind a click.
    line = say("guarantee") if kept else retold(promise.reason)
    whole = retold(promise.for_tokens(composed.words))
    if composed.helps:
        whole += f" {retold(composed.statement)}"
    return {
        "status": {
            "kind": status.split()[0],
            "icon": SIGNS[status],
            "label": say(status),
            "line": line,
        },
        "promise": [
            [say("Guarantee for each word"), retold(promise.statement)],
            [say("For this text"), whole],
            [say("Status"), f"{say(status)}: {retold(promise.reason)}"],
            [say("Source"), retold(promise.source)],
            *([[say("Rounding"), retold(promise.rounding.reason)]] if promise.rounding else []),
            [say("How it works"), _how(mechanism)],
        ],
    }


def _how(mechanism: Mechanism) -> str:
    """Describe a mechanism, with any caveat about its use here."""
    return f"{say(mechanism.summary)}. {say(mechanism.caution)}".removesuffix(". ")


def _strip(
    bench: Bench, drawn: SentenceDraw, group: Group, epsilon: float, place: int
) -> dict[str, Any]:
    """Return the pieces of one place with their ends on the slider's range, from 0 to 1 in ln ε."""
    # On a logarithmic scale, since the steps of the slider are: the strip lies along it.
    ends = group.grid[0], group.grid[-1]
    low, high = (math.log(end) for end in ends)

    def where(point: float) -> float:
        if point <= 0:
            return 0.0
        return min(1.0, max(0.0, (math.log(point) - low) / (high - low)))

    words, word = bench.lexicon.words, bench.word(place)
    pieces, texts = [], []
    for piece in drawn.pieces(place):
        # The last piece has no end, and the logarithm would be infinite.
        start, stop = where(piece.from_epsilon), where(min(piece.to_epsilon, 1e300))
        if not stop > start:
            continue  # outside the range of the slider
        output = words[piece.output]
        # The end of a piece past the slider cannot be reached on this page.
        text = _piece_text(output, piece.from_epsilon, piece.to_epsilon if stop < 1 else None)
        # A ten-thousandth of the strip is less than a pixel.
        pieces.append([round(start, 4), round(stop, 4), output, piece.output == word, text])
        texts.append(text)
    unit = "ln ε" if group.logarithm else "ε"
    return {
        "pieces": pieces,
        "now": round(where(epsilon), 4),
        "low": f"{unit} = {numeral(group.label(ends[0]))}",
        "high": f"{unit} = {numeral(group.label(ends[1]))}",
        "alt": say("ε-strip. {pieces}", pieces="; ".join(texts)),
    }


def _piece_text(output: str, low: float, high: float | None) -> str:
    if high is None:
        return say("{output}: from ε = {low:.3g} on", output=output, low=low)
    return say("{output}: from ε = {low:.3g} to {high:.3g}", output=output, low=low, high=high)
