"""The trial on held-out text: eligible words, counted shares, recorded results."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dpcore.attack.language.recovered import (
    KINDS,
    SETTINGS,
    TRIED,
    TrialPlan,
    qualifying,
    read_recorded_trial,
    run,
    share_of,
    try_attackers,
)
from dpcore.attack.output.channel import open_channel
from dpcore.errors import ParameterError
from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import create
from tests.chance import FALSE_ALARM
from tests.fixtures import MakeRng

NAMES = ("the", "new", "city", "was", "in", "york", "a", "very", "old", "place")
SMALL = Lexicon(
    "small", NAMES, np.random.default_rng(8).standard_normal((10, 4)).astype(np.float32)
)
TEXTS = ["The city was very old.", "In York!", "the xyzzyq was very old", "The city was very old."]

COMMANDS = (Path(__file__).parents[3] / "docs/commands.md").read_text(encoding="utf-8")


def test_sentences_of_known_words_qualify_once() -> None:
    sentences = qualifying(SMALL, TEXTS)
    assert [s.words.tolist() for s in sentences] == [[0, 2, 3, 7, 8]]


def test_without_noise_everyone_is_right_and_with_much_no_one_is_sure() -> None:
    channel = open_channel(create("tem", SMALL))
    sentences = qualifying(SMALL, [TEXTS[0], "a new place was in the old city"])
    rows = try_attackers(channel, sentences, 1e4, 0)
    assert [(row["attacker"], row["words"]) for row in rows] == list(
        itertools.product(TRIED, KINDS[:2])  # nothing was changed
    )
    assert all(row["share"] == row["high"] == 1.0 for row in rows)
    assert {row["words"]: row["tokens"] for row in rows} == {"all": 13, "content": 6}
    assert all(row["low"] < 1.0 for row in rows)  # thirteen words prove no certainty
    again = try_attackers(channel, sentences, 1.0, 0)
    assert again == try_attackers(channel, sentences, 1.0, 0)


def test_an_interval_of_a_share_covers(rng: MakeRng) -> None:
    """Sentences of unequal length whose words go right together.

    Fails with probability below 1e-6 if the true coverage is 94 % (the 95 % are for long texts).
    """
    hits = 0
    for draw in range(400):
        noise = rng(draw)
        total = noise.integers(5, 25, 150).astype(float)
        right = noise.binomial(total.astype(int), noise.beta(2.0, 3.0, 150)).astype(float)
        share = share_of(right, total)
        hits += share["low"] <= 0.4 <= share["high"]
    assert hits >= stats.binom.ppf(FALSE_ALARM, 400, 0.94)
    nobody = share_of(np.zeros(10), np.full(10, 8.0))
    assert nobody["low"] == 0.0
    assert nobody["high"] == pytest.approx(1 - 0.025 ** (1 / 80))


def test_what_is_recorded_is_complete_and_shows_what_it_says() -> None:
    record = read_recorded_trial()
    lexicon = load()
    assert record["fingerprint"] == lexicon.fingerprint
    assert len(record["rows"]) == sum(len(e) for _, e in SETTINGS) * len(TRIED) * len(KINDS)
    share = {
        (row["epsilon"], row["attacker"], row["words"]): row["share"] for row in record["rows"]
    }
    for _, epsilons in SETTINGS:
        for epsilon in epsilons:
            # Under a uniform prior the best guess for TEM is the output itself.
            assert share[epsilon, "likeliest", "changed"] == 0.0
            assert share[epsilon, "context", "changed"] > share[epsilon, "frequency", "changed"]
    assert share[2.5, "context", "all"] > share[2.5, "likeliest", "all"]
    # Smoothing by bigrams takes more content words than it gives back: the table in the documents.
    for kind, better in (("all", True), ("content", False)):
        for _, epsilons in SETTINGS:
            for epsilon in epsilons:
                stays, smoothed = share[epsilon, "likeliest", kind], share[epsilon, "context", kind]
                assert (smoothed > stays) is better
                for each in (stays, smoothed):
                    assert f"| {100 * each:.1f} " in COMMANDS
    for row in record["rows"]:
        assert 0 <= row["low"] <= row["share"] <= row["high"] <= 1
        assert row["right"] == round(row["share"] * row["tokens"])


@pytest.mark.slow
def test_too_many_sentences_are_refused(data_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=r"those that qualify\), got 100000"):
        run(load(), data_dir, tmp_path, TrialPlan(sentences=100_000))
