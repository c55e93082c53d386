"""The lesson's answers, each computed a second way."""

import math
import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpcore.attack.output.channel import open_channel
from dpcore.attack.trade.ground import GUESSED
from dpcore.errors import ParameterError
from dpcore.learn.corpus import teaching_corpus
from dpcore.lexicon.catalogue import load
from dpcore.measure.deniability import measure
from dpcore.measure.words import select_words
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.papers import lesson
from dpcore.papers.lesson import EXERCISES, Exercise, exercise
from dpcore.study.recorded import read_recorded
from tests.chance import FALSE_ALARM


@cache
def task_of(key: str) -> Exercise:
    return exercise(key, load())


@pytest.mark.slow
def test_every_answer_can_be_guessed() -> None:
    for key in EXERCISES:
        task = task_of(key)
        assert task.key == key
        assert task.question.endswith("?")
        assert task.truth.endswith(".")
        assert task.right(task.answer)
        if task.options:
            assert len(set(task.options)) == len(task.options)
            assert task.answer in range(len(task.options))
            assert not task.right(task.answer + 1)
        else:
            assert task.low < task.answer < task.high
            assert task.right(task.answer + 0.99 * task.near)
            assert not task.right(task.answer + 1.01 * task.near)
            # A guess limited to the steps can still be right.
            assert task.step <= 2 * task.near


def test_names() -> None:
    """Two words drawn from a text at random: how often no other text holds both."""
    from dpcore.attack.linking import ordinary_words_of

    texts = ordinary_words_of(teaching_corpus(), load())
    rng = np.random.default_rng(1)
    alone = []
    for text in texts:
        pair = {*rng.choice(sorted(text), 2, replace=False).tolist()}
        alone.append(sum(pair <= other for other in texts) == 1)
    # Texts are alike in weight here too, so the mean is unbiased (Hoeffding, 1e-6).
    assert abs(np.mean(alone) - task_of("names").answer / 100) < math.sqrt(
        math.log(2e6) / (2 * len(texts))
    )


@pytest.mark.slow
def test_draw() -> None:
    """Independent draws agree with the answer, which is an estimate over directions itself."""
    lexicon, draws = load(), 4_000
    madlib = create("madlib", lexicon)
    words = np.full(draws, lexicon.index(lesson.DRAW_WORD))
    stays = float((madlib.sample(generator(3), words, lesson.DRAW_EPSILON) == words).mean())
    word = select_words(lexicon, [lesson.DRAW_WORD])
    much: dict[str, Any] = {"runs": lesson.RUNS, "repetitions": lesson.REPETITIONS, "seed": 0}
    measured = measure(madlib, word, [lesson.DRAW_EPSILON], **much)
    answer = task_of("draw").answer / 100
    error = math.hypot(
        float(measured.figures.nw_error[0, 0]), math.sqrt(answer * (1 - answer) / draws)
    )
    assert abs(stays - answer) < stats.norm.isf(FALSE_ALARM / 2) * error
    assert error < 0.015


def test_odds() -> None:
    lexicon = load()
    a, b = (lexicon.vectors[i].astype(float) for i in lexicon.indices(lesson.ODDS_WORDS))
    once = math.exp(lesson.ODDS_EPSILON * math.dist(a, b))
    task = task_of("odds")
    assert task.options[int(task.answer)].startswith(f"{once**2:.3g}-fold")
    assert f"a factor of {once:.3g}" in task.question
    # Of two words whose odds change by a factor of F at most: F·α, and 1 − (1 − α)/F, at α = 1 %.
    powers = [min(once**k / 100, 1 - 0.99 / once**k) for k in (1, 2, 4)]
    match = re.search(
        r"in at most (\S+) of 100 at ε = 1, in (\S+) at 2, in (\S+) at 4\.", task.truth
    )
    assert match is not None
    for said, most in zip(match.groups(), powers, strict=True):
        assert 0 <= float(said) - 100 * most < 0.11


@pytest.mark.slow
def test_crowd() -> None:
    lexicon, draws = load(), 2_000
    words = np.repeat(lexicon.indices(lesson.CROWD_WORDS), draws)
    out = create("madlib", lexicon).sample(generator(4), words, lesson.CROWD_EPSILON)
    stays = (out == words).reshape(2, draws).mean(axis=1)
    assert int(np.argmax(stays)) == task_of("crowd").answer
    assert abs(stays[0] - stays[1]) > 0.1  # beyond doubt: seven standard errors
    lonely, dense = (int(share) for share in re.findall(r"(\d+)%", task_of("crowd").truth))
    for share, stay in zip(stays, (dense, lonely), strict=True):
        assert abs(100 * share - stay) < 7  # five standard errors of the two estimates


def test_price() -> None:
    table = read_recorded("teaching-corpus").table
    rows = table[
        (table["quantity"] == "accuracy")
        & (table["data"] == "sentiment")
        & (table["learner"] == "tf-idf")
        & (table["tested_on"] == "clean")
        & (table["mechanism"] == lesson.PRICE_MECHANISM)
        & np.isclose(table["epsilon"], lesson.PRICE_EPSILON)
    ]
    assert rows["seed"].nunique() == len(rows) == 5
    assert task_of("price").answer == pytest.approx(100 * rows["value"].mean())


def test_together() -> None:
    """The smallest number of reviews that shows a word; the page Start tells of 10,000 alone."""
    from dpcore.crowd.bundled import crowd
    from dpcore.crowd.shown import DrawnComparison
    from dpcore.papers.ours.tradeoff import recorded_curves

    lexicon = load()
    comparison = DrawnComparison(create("k-ary", lexicon), crowd("imdb", lexicon), 0)
    epsilon = recorded_curves()["k-ary"].epsilon_at(GUESSED, 0.1)
    assert epsilon is not None
    counts = [comparison.at(epsilon, n, 2024, "0.1").words.size for n in (1_000, 3_000)]
    assert counts[0] == 0 < counts[1]
    task = task_of("together")
    assert task.options[int(task.answer)] == "3,000 are enough, 1,000 are not"
    assert f"find {counts[1]} such words" in task.truth


def test_claim() -> None:
    task = task_of("claim")
    assert float(task.options[int(task.answer)]) == math.sqrt(lesson.CLAIM_LATENT)
    assert "a factor of over a million" in task.truth


def test_proof() -> None:
    """The number that the page Robustness shows when it opens."""
    from dpcore.learn.pixeldp.digits import digits
    from pages.robustness.pictures_work import Noise, ScoreBound, certified, noisy_scores

    assert (Noise().scale, Noise().draws) == (lesson.PROOF_SCALE, lesson.PROOF_DRAWS)
    result, labels = certified(Noise(), ScoreBound()), digits().test_labels
    right = noisy_scores(Noise()).model.places(labels) == result.classes
    share = float((right & (result.sizes >= lesson.PROOF_SIZE)).mean())
    assert task_of("proof").answer == pytest.approx(100 * share)


@pytest.mark.slow
def test_choose() -> None:
    """Words drawn and exchanged at the ε that was found: one in ten stays, and so says the law."""
    lexicon = load()
    tem = create("tem", lexicon)
    words = np.random.default_rng(8).integers(0, len(lexicon), 1_000)
    out = tem.sample(generator(9), words, task_of("choose").answer)
    result = stats.binomtest(int((out == words).sum()), words.size, lesson.GOAL)
    assert result.pvalue >= FALSE_ALARM
    staying = open_channel(tem).staying(task_of("choose").answer)
    assert staying.mean() == pytest.approx(lesson.GOAL, abs=5e-4)


def test_an_unknown_exercise_is_refused() -> None:
    with pytest.raises(ParameterError, match="known are names, draw"):
        exercise("fun", load())
