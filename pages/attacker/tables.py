"""Tables of the Attacker page; lexicon words in them are plain cells."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from dpcore.attack.budget import Budget
from dpcore.attack.game import Judgement
from dpcore.attack.language.pufferfish import SentenceLoss
from dpcore.attack.output.prior import of_hundred
from dpcore.attack.output.success import ExposedWord, Exposure
from dpcore.audit.composition import allowed_powers
from dpcore.audit.document import document_losses
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.density import VocabularyDensity
from dpcore.outwards import at_most
from dpcore.plots.attack import budget as attack_budget
from dpcore.plots.attack import exposed as attack_exposed
from dpcore.plots.attack import icons as attack_icons
from dpcore.plots.attack import odds
from dpcore.plots.attack.exposed import BEST, WORST
from dpcore.plots.attack.icons import AFTER, BEFORE, MARKS
from dpcore.plots.attack.words import chance_text
from dpcore.plots.style import number
from dpcore.plots.utility import roc
from dpcore.written import Filled
from pages.attacker.scene import AttackerScene
from pages.attacker.weighing import Look
from pages.shared.dial import group_of
from pages.shared.language import numeral, say

if TYPE_CHECKING:
    from pages.attacker.game_view import Answer, Dealt, Rules

LETTERS = 6
"""Number of words that get a letter among the hundred squares."""
_DRAWN = 1000  # words between the ends of the ranking


def candidate_table(table: Dealt, judgement: Judgement) -> pd.DataFrame:
    """Return the candidates of a round, most likely or nearest first."""
    weight = -judgement.distance if judgement.posterior is None else judgement.posterior
    rows = []
    # Stable: equally likely words keep the order in which they are on the buttons.
    for place in np.argsort(-weight, kind="stable").tolist():
        # The letter belongs to the word and not to its rank, as in the squares beside the table.
        row: dict[str, object] = {"mark": MARKS[place], "word": table.names[place]}
        if judgement.posterior is not None:
            row["chance now"] = numeral(chance_text(float(judgement.posterior[place])))
        row["mean distance"] = round(float(judgement.distance[place]), 3)
        row["secret"] = say("← this one") if place == table.dealt.secret else ""
        rows.append(row)
    return pd.DataFrame(rows)


def game_icons(table: Dealt, judgement: Judgement) -> pd.DataFrame:
    """Return the candidates before and after the outputs, out of a hundred, for the icon array."""
    if judgement.posterior is None:
        return pd.DataFrame(columns=list(attack_icons.COLUMNS))
    count = len(table.names)
    marks = list(MARKS[:count])
    parts = []
    for when, share in ((BEFORE, np.full(count, 1 / count)), (AFTER, judgement.posterior)):
        counts = of_hundred(share)
        parts.append(
            pd.DataFrame({"when": when, "mark": marks, "word": table.names, "count": counts})
        )
    return pd.concat(parts, ignore_index=True)


def score_table(scores: dict[Rules, list[Answer]]) -> pd.DataFrame:
    """Return one row per set of rules that was played, the last one first."""
    rows = [
        {
            "mechanism": rules.mechanism,
            "ε": rules.epsilon,
            "list": rules.listed,
            "words": rules.words,
            "outputs": rules.releases,
            "seed": rules.seed,
            "rounds": len(played),
            "you": sum(answer.right for answer in played),
            "attacker": sum(answer.attacker_right for answer in played),
            "chance": round(len(played) / rules.words, 1),
        }
        for rules, played in scores.items()
    ]
    return pd.DataFrame(rows)


def belief_table(words: Lexicon, look: Look) -> pd.DataFrame:
    """Return the likeliest words with their probabilities: the numbers behind the icon array."""
    rows = [(words.words[c.word], c.prior, c.posterior) for c in look.top]
    return pd.DataFrame(rows, columns=list(odds.CAPTION_COLUMNS))


def listed_table(words: Lexicon, look: Look) -> pd.DataFrame:
    """Return the same in everyday words."""
    rows = [
        {
            "mark": MARKS[place] if place < LETTERS else "",
            "word": words.words[candidate.word],
            "now": numeral(chance_text(candidate.posterior, certain=candidate.prior >= 1)),
            "before": numeral(chance_text(candidate.prior, certain=True)),
            "change": numeral(odds.change_text(candidate.prior, candidate.posterior)),
            "probability": candidate.posterior,
        }
        for place, candidate in enumerate(look.top)
    ]
    return pd.DataFrame(rows)


def odds_table(scene: AttackerScene, look: Look) -> pd.DataFrame:
    """Return the likelihood ratio of the two words beside the guarantee, for the odds figure."""
    ratio = look.odds
    names, mechanism = scene.words.words, scene.mechanism
    rows = []
    if ratio is not None:
        rows.append(
            (
                mechanism.key,
                mechanism.title,
                names[ratio.first],
                names[ratio.second],
                names[ratio.output],
                # An exact law: value and both ends of the interval are the same.
                ratio.log_ratio,
                ratio.log_ratio,
                ratio.log_ratio,
                ratio.claimed,
                True,
                str(look.promise.status),
                math.nan,
                math.nan,
            )
        )
    return pd.DataFrame(rows, columns=list(odds.COLUMNS))


ALLOWED = "the guarantee allows"
"""Curve of the powers that the guarantee of two words allows."""
RATES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""False-positive rates to choose from."""
_DRAWN_RATES = np.unique(np.concatenate((np.geomspace(1e-3, 1.0, 31), RATES)))


def tests_table(scene: AttackerScene, pair: tuple[int, int]) -> tuple[pd.DataFrame, float]:
    """Return the powers of the best tests for the first word against the second.

    Returns:
        A table as `roc.COLUMNS`, with what the guarantee allows, and the area under the curve.

    Raises:
        ParameterError: no bound on the error of the law is known.
    """
    mechanism, epsilon = scene.mechanism, scene.epsilon
    best = document_losses(mechanism, epsilon, [pair[0]], [pair[1]]).best_tests()
    promise = mechanism.guarantee(epsilon)
    apart = mechanism.promised_distances(np.array(pair), epsilon)
    loss = promise.loss(1.0 if apart is None else float(apart[0, 1]))
    # In English, as in a file: figures are translated where they are drawn.
    reading = group_of(mechanism.meaning).reading(epsilon)
    parts = [
        (f"{mechanism.short}, {reading}", mechanism.key, best.power(_DRAWN_RATES)),
        (ALLOWED, "", allowed_powers(promise, loss, _DRAWN_RATES)),
    ]
    rows = [
        (curve, key, epsilon, rate, power, math.nan, math.nan)
        for curve, key, powers in parts
        for rate, power in zip(_DRAWN_RATES.tolist(), powers.tolist(), strict=True)
    ]
    return pd.DataFrame(rows, columns=list(roc.COLUMNS)), best.auc


def neighbours_table(loss: SentenceLoss) -> pd.DataFrame:
    """Return what outputs tell about each word of a text; bounds are rounded up.

    What is infinite is empty: an output that excludes the other word, or no bound.
    """
    rows = [
        {
            "word": row["written"],
            "other": row["other"],
            "own": row["own"],
            "others": row["left"] + row["right"],
            "bound": None
            if row["own_bound"] is None
            else float(at_most(row["own_bound"], places=2)),
            "bound_others": float(at_most(row["left_bound"] + row["right_bound"], places=2)),
        }
        for row in loss.rows()
    ]
    return pd.DataFrame(rows).astype({"own": float, "bound": float})


def neighbours_finding(loss: SentenceLoss) -> str:
    """Name the word that the other outputs tell most from its nearest one."""
    most = int(np.argmax(np.abs(loss.neighbours)))
    words, nats = loss.lexicon.words, float(loss.neighbours[most])
    likely, unlikely = words[int(loss.words[most])], words[int(loss.others[most])]
    if nats < 0:
        likely, unlikely = unlikely, likely
    return Filled(
        "If texts follow bigrams, the other outputs tell most about “{word}”: they make “{likely}” "
        "{factor} times as likely against “{unlikely}”.",
        word=words[int(loss.words[most])],
        likely=likely,
        unlikely=unlikely,
        factor=number(math.exp(abs(nats))),
    )


def budget_table(words: Lexicon, budget: Budget) -> pd.DataFrame:
    """Return the guarantee for each distinct word of a text, in order of the text."""
    rows = [
        (
            words.words[spent.word],
            spent.places,
            spent.releases,
            words.words[spent.nearest],
            spent.nearest_loss,
        )
        for spent in budget.words
    ]
    return pd.DataFrame(rows, columns=list(attack_budget.COLUMNS))


def exposed_words(words: Lexicon, exposure: Exposure, density: VocabularyDensity) -> pd.DataFrame:
    """Return both ends of the ranking, and some of the words between them, for the figure."""
    names = words.words
    rows = [
        (names[word.word], group, word.nearest, word.stays)
        for group, ends in ((WORST, exposure.worst), (BEST, exposure.best))
        for word in ends
    ]
    ends = {word.word for word in (*exposure.worst, *exposure.best)}
    # Every n-th word by rank: the figure shows the whole ranking at any vocabulary size.
    step = max(1, exposure.words.size // _DRAWN)
    rows += [
        (names[word], attack_exposed.OTHER, float(density.nearest[word]), float(stays))
        for word, stays in zip(
            exposure.words[::step].tolist(), exposure.stays[::step].tolist(), strict=True
        )
        if word not in ends
    ]
    return pd.DataFrame(rows, columns=list(attack_exposed.COLUMNS))


def exposed_table(words: Lexicon, ends: tuple[ExposedWord, ...]) -> pd.DataFrame:
    """Return one end of the ranking in everyday words."""
    return pd.DataFrame(
        {
            "word": [words.words[word.word] for word in ends],
            "stays": [_in_hundred(word.stays) for word in ends],
            "believed then": [_in_hundred(word.believed, word.prior) for word in ends],
            "before": [numeral(chance_text(word.prior, certain=True)) for word in ends],
            "nearest word": [round(word.nearest, 3) for word in ends],
            "lonelier than": [f"{word.lonelier:.0%}" for word in ends],
        }
    )


def _in_hundred(probability: float, before: float = 0.0) -> str:
    """Format a probability as a count; 100 after rounding is not certain unless it was before."""
    share = f"{100 * probability:.3g}"
    if share == "100" and before < 1:
        return say("almost certain")
    return say("{share} in 100", share=numeral(share))
