"""What is offered on these texts: every chosen mechanism at every step of the dial."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from dpcore.errors import StudyError
from dpcore.papers.ours.equal_leakage_comparison import task_curves, without_privacy
from dpcore.papers.ours.offers import accuracy_offer, guess_offer, run_curves, solved_for
from dpcore.papers.ours.tradeoff import recorded_curve
from dpcore.rewrite.documents import encode_all
from dpcore.rewrite.policy import DEFAULT_TREATMENT
from dpcore.study.reading import Figures
from dpcore.study.utility_summary import baseline
from pages.release.board import Row
from pages.release.goal import GOALS
from pages.shared.memo import latest, session_memo
from pages.shared.once import once
from pages.shared.recorded import recorded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dpcore.attack.trade.curve import TradeCurve
    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.mechanisms.mechanism import Mechanism
    from dpcore.papers.ours.offers import Offer
    from dpcore.study.utility_solve import Solved
    from pages.release.goal import Goal
    from pages.release.running import Run
    from pages.release.uploading import Source

RECORD, LEARNER = "equal-leakage", "tf-idf"
"""What was recorded of the teaching corpus, and the classifier whose accuracy it is."""
_READ = 20_000  # words, at most, of which the share in the vocabulary is told
_KEPT = 400  # rows, of all mechanisms, goals and labellings


def offered(
    source: Source | None, run: Run | None, members: Sequence[Mechanism], goal: Goal
) -> tuple[list[Row], float | None]:
    """The rows of the table, and the accuracy on texts as they are, where that is known.

    What a run on a file has measured counts for that file; the teaching corpus was recorded.

    Args:
        source: the texts; None where a table was refused.
        run: of these texts, if there is one.
        members: the chosen mechanisms.
        goal: that they shall meet.

    Raises:
        DpcoreError: what was recorded cannot be read.
    """
    if source is not None and not source.own:
        labelling = source.corpus
        curves, solved, without = _recorded(labelling)

        def kept(kind: Mechanism, make: Callable[[], tuple[Offer, ...]]) -> tuple[Offer, ...]:
            return once("offers", (kind, goal.key, labelling), make, _KEPT)

        rows = [_row(kind, goal, curves, solved, "", kept) for kind in members]
        return rows, without
    measured, answers, clean = _measured(run)

    def mine(kind: Mechanism, make: Callable[[], tuple[Offer, ...]]) -> tuple[Offer, ...]:
        done = (id(run), run.seen) if run is not None else None
        return session_memo("offers_here", (kind, goal.key, done), make, 60)

    return [_row(kind, goal, measured, answers, kind.short, mine) for kind in members], clean


def _row(
    kind: Mechanism,
    goal: Goal,
    taught: Mapping[str, TradeCurve],
    solved: Sequence[Mapping[str, Solved]],
    label: str,
    kept: Callable[[Mechanism, Callable[[], tuple[Offer, ...]]], tuple[Offer, ...]],
) -> Row:
    curve = recorded_curve(kind)
    # A record names its curves by mechanism and setting, a run by the mechanism alone.
    learned = label or ("" if curve is None else curve.label)

    def make() -> tuple[Offer, ...]:
        texts = taught.get(learned)
        if goal.key == "guess":
            return tuple(guess_offer(kind, curve, texts, share / 100) for share in goal.steps)
        return tuple(accuracy_offer(kind, curve, texts, answers.get(learned)) for answers in solved)

    return Row(kind, kind.short if curve is None else curve.label, kept(kind, make))


@cache
def _recorded(
    labelling: str,
) -> tuple[dict[str, TradeCurve], list[dict[str, Solved]], float]:
    figures = Figures(recorded(RECORD))
    solved = solved_for(figures.recorded.table, GOALS["accuracy"].steps, LEARNER, labelling)
    clean, _ = without_privacy(figures, labelling)
    return task_curves(figures, labelling), solved, clean.mean


def _measured(
    run: Run | None,
) -> tuple[Mapping[str, TradeCurve], Sequence[Mapping[str, Solved]], float | None]:
    """What a run has measured by now; of one that has not begun, nothing."""
    nothing: list[dict[str, Solved]] = [{} for _ in GOALS["accuracy"].steps]
    if run is None or run.rows is None:
        return {}, nothing, None
    table, learner = run.rows.table, run.live.learner
    clean, solved = None, nothing
    with suppress(StudyError):  # of a run of one trial, or whose baseline is not done
        clean = baseline(table, "accuracy", learner=learner, tested_on="clean").mean
        solved = solved_for(table, GOALS["accuracy"].steps, learner)
    return run_curves(table, learner), solved, clean


def in_vocabulary(source: Source, words: Lexicon) -> tuple[int, int]:
    """How many words of the first texts are in the vocabulary, and of how many."""

    def count() -> tuple[int, int]:
        texts: list[str] = []
        left = _READ
        for text in source.texts:
            left -= len(text.split())
            if texts and left < 0:
                break
            texts.append(text)
        words_read = encode_all(texts, words, DEFAULT_TREATMENT, for_text=False).words
        return int((words_read >= 0).sum()), int(words_read.size)

    identity = (source.identity, source.text, words.fingerprint)
    if not source.own:  # texts of ours, the same for everybody
        return once("release vocabulary", identity, count, 4)
    return latest("release_vocabulary", identity, count)
