"""The audit by replayed noise: each fault is found, its twin without the fault passes, and no
mechanism of the laboratory is refuted.

What is said to be proved is checked by brute force: where all choices of a function can be played
through, its exact laws show whether two texts are told apart for certain.
"""

import functools
import hmac
import json
import os
import secrets
import subprocess
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcore as dp
from dpcore.audit.blackbox.replay import replay_function
from dpcore.audit.blackbox.report import Finding, Grade, Kind, ReplayReport
from dpcore.audit.verdict import Outcome
from dpcore.errors import EpsilonError, ParameterError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import MECHANISMS, create
from dpcore.testing import assert_no_leak
from tests.mechanisms import lexicons
from tests.needs import ROOT

# Under another name: the rule against global random state is for the code, and this is its prey.
PYTHON: Any = import_module("random")
WORDS = (
    "our doctor treated a patient in london it was not for us but with them nurse winter because "
    "river under expensive table green seven music"
).split()
SMALL = {"our", "a", "in", "it", "was", "not", "for", "us", "but", "with", "them", "because"}
POINTS = np.random.default_rng(3).standard_normal((len(WORDS), 3))


def point(word: str) -> np.ndarray:
    return POINTS[WORDS.index(word)] if word in WORDS else np.zeros(3)


def weights(word: str, epsilon: float = 1.0) -> np.ndarray:
    scores = np.exp(-epsilon / 2 * np.abs(POINTS - point(word)).sum(axis=1))
    return np.asarray(scores / scores.sum())


def chosen(word: str, rng: np.random.Generator, epsilon: float = 1.0) -> str:
    return str(rng.choice(WORDS, p=weights(word, epsilon)))


def noisy(word: str, rng: np.random.Generator, scale: float) -> str:
    away = np.abs(POINTS - (point(word) + rng.laplace(0.0, scale, 3))).sum(axis=1)
    return WORDS[int(away.argmin())]


# -- rewriters: a fault, and its twin without it


def exponential(text: str) -> str:
    rng = np.random.default_rng()
    return " ".join(chosen(word, rng) for word in text.split())


def budget_from_text(text: str) -> str:
    """ε is split by the lengths of the private words."""
    rng, words = np.random.default_rng(), text.split()
    letters = sum(map(len, words))
    return " ".join(chosen(word, rng, 8 * len(word) / letters) for word in words)


def additive(text: str) -> str:
    rng = np.random.default_rng()
    return " ".join(noisy(word, rng, 1.5) for word in text.split())


def additive_budget_from_text(text: str) -> str:
    rng, words = np.random.default_rng(), text.split()
    return " ".join(noisy(word, rng, sum(map(len, words)) / 20) for word in words)


def own_scale(text: str) -> str:
    """The scale is a statistic of the private text."""
    rng, words = np.random.default_rng(), text.split()
    scale = float(np.std([point(word) for word in words]))
    return " ".join(noisy(word, rng, scale) for word in words)


def own_scale_afterwards(text: str) -> str:
    """The same, but the number is drawn at scale 1 and multiplied: no argument shows it."""
    rng, words = np.random.default_rng(), text.split()
    scale = float(np.std([point(word) for word in words]))
    out = []
    for word in words:
        away = np.abs(POINTS - (point(word) + scale * rng.laplace(0.0, 1.0, 3))).sum(axis=1)
        out.append(WORDS[int(away.argmin())])
    return " ".join(out)


def short_output(text: str) -> str:
    """Small words are left out."""
    return " ".join(PYTHON.choice(WORDS) for word in text.split() if word not in SMALL)


def any_word(text: str) -> str:
    return " ".join(PYTHON.choice(WORDS) for _ in text.split())


def private_vocabulary(text: str) -> str:
    """Each word by one of the text."""
    words = text.split()
    return " ".join(PYTHON.choice(words) for _ in words)


def returned(text: str) -> str:
    """A text of small words is not worth a rewrite."""
    return text if set(text.split()) <= SMALL else any_word(text)


def skips_small_words(text: str) -> str:
    return " ".join(w if w in SMALL else PYTHON.choice(WORDS) for w in text.split())


def draws_and_keeps_small_words(text: str) -> str:
    """The same fault, but numbers are drawn for all words: no draw is lacking."""
    drawn = [PYTHON.choice(WORDS) for _ in text.split()]
    return " ".join(w if w in SMALL else d for w, d in zip(text.split(), drawn, strict=True))


def other_order(text: str) -> str:
    out = []
    for word in text.split():
        if len(word) > 4:
            PYTHON.random()
            out.append(PYTHON.choice(WORDS))
        else:
            out.append(PYTHON.choice(WORDS))
            PYTHON.random()
    return " ".join(out)


def same_order(text: str) -> str:
    out = []
    for _ in text.split():
        PYTHON.random()
        out.append(PYTHON.choice(WORDS))
    return " ".join(out)


def unknown_words_pass(text: str) -> str:
    return " ".join(PYTHON.choice(WORDS) if w in WORDS else w for w in text.split())


def unknown_words_masked(text: str) -> str:
    return " ".join(PYTHON.choice(WORDS) if w in WORDS else "[MASK]" for w in text.split())


def identity(text: str) -> str:
    return text


def fixed_seed(text: str) -> str:
    rng = np.random.default_rng(0)
    return " ".join(chosen(word, rng) for word in text.split())


def seeded_by_the_text(text: str) -> str:
    rng = PYTHON.Random(text)
    return " ".join(rng.choice(WORDS) for _ in text.split())


def constant(text: str) -> str:
    return "some words"


def refuses(text: str) -> str:
    if not set(text.split()) <= set(WORDS):
        raise ValueError("unknown word")
    return any_word(text)


def letters(text: str) -> str:
    """Randomised response of letters: made-up words often come out, as they may."""
    every = "abcdefghijklmnopqrstuvwxyz0123456789"
    return " ".join(
        "".join(c if PYTHON.random() < 0.98 else PYTHON.choice(every) for c in word)
        for word in text.split()
    )


PROVED: dict[Callable[[str], str], Kind] = {
    short_output: Kind.LENGTH,
    private_vocabulary: Kind.VOCABULARY,
    returned: Kind.RETURNED,
    skips_small_words: Kind.KEPT,
    unknown_words_pass: Kind.COPIED,
    identity: Kind.DETERMINISTIC,
    fixed_seed: Kind.DETERMINISTIC,
    seeded_by_the_text: Kind.DETERMINISTIC,
}
LOOK: dict[Callable[[str], str], set[Kind]] = {
    budget_from_text: {Kind.SHARED, Kind.ELSEWHERE},
    additive_budget_from_text: {Kind.SCALE, Kind.SHARED, Kind.ELSEWHERE},
    own_scale: {Kind.SCALE, Kind.SHARED, Kind.ELSEWHERE},
    own_scale_afterwards: {Kind.ELSEWHERE},
    draws_and_keeps_small_words: {Kind.KEPT, Kind.RETURNED},
    other_order: {Kind.DRAWS, Kind.UNKNOWN},
    unknown_words_masked: {Kind.KEPT, Kind.UNKNOWN},
    refuses: {Kind.REFUSED},
    letters: {Kind.COPIED, Kind.DRAWS, Kind.UNKNOWN},
}
CLEAN = (exponential, additive, any_word, same_order, constant)


@pytest.mark.parametrize("function", PROVED, ids=lambda f: f.__name__)
def test_a_leak_is_proved(function: Callable[[str], str]) -> None:
    report = replay_function(function)
    assert report.outcome is Outcome.REFUTED, str(report)
    assert PROVED[function] in {finding.kind for finding in report.proved}, str(report)
    assert report.all_seen


@pytest.mark.parametrize("function", LOOK, ids=lambda f: f.__name__)
def test_a_dependence_is_named_and_not_called_a_proof(function: Callable[[str], str]) -> None:
    report = replay_function(function)
    assert report.outcome is Outcome.NOT_REFUTED, str(report)
    assert report.kinds == LOOK[function], str(report)
    assert all(finding.delta is None for finding in report.findings)


@pytest.mark.parametrize("function", CLEAN, ids=lambda f: f.__name__)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_twin_without_the_fault_passes(function: Callable[[str], str], seed: int) -> None:
    report = replay_function(function, seed=seed)
    assert not report.findings, str(report)
    assert report.label.startswith("not refuted (0 to look at; 84 pairs of texts")


@pytest.mark.parametrize("epsilon", [30.0, 300.0, 3000.0])
def test_a_large_epsilon_alone_proves_nothing(epsilon: float) -> None:
    """Every word stays, because the noise is small, or even beyond the range of floats."""

    def weighted(text: str) -> str:
        rng = np.random.default_rng()
        return " ".join(chosen(word, rng, epsilon) for word in text.split())

    def inverted(text: str) -> str:
        rng, out = np.random.default_rng(), []
        for word in text.split():
            place = np.searchsorted(np.cumsum(weights(word, epsilon)), rng.random())
            out.append(WORDS[min(int(place), len(WORDS) - 1)])
        return " ".join(out)

    for function in (weighted, inverted):
        assert not replay_function(function).proved


APART = np.abs(POINTS[:, None] - POINTS).sum(axis=2)


def place(word: str) -> int:
    return WORDS.index(word) if word in WORDS else 0


def near_or_any(text: str, epsilon: float) -> str:
    """TEM: near words by their distances, and all others as one candidate."""
    rng, out = np.random.default_rng(), []
    for word in text.split():
        away = APART[place(word)]
        near, rest = np.flatnonzero(away <= 2.5), np.flatnonzero(away > 2.5)
        scores = np.append(-epsilon / 2 * away[near], -epsilon / 2 * 2.5 + np.log(len(rest)))
        law = np.exp(scores - scores.max())
        chosen = rng.choice(len(law), p=law / law.sum())
        out.append(WORDS[near[chosen] if chosen < len(near) else rest[rng.integers(len(rest))]])
    return " ".join(out)


def permute_and_flip(text: str, epsilon: float) -> str:
    """As many draws as it takes, from the operating system."""
    rng, out = PYTHON.SystemRandom(), []
    for word in text.split():
        order = list(range(len(WORDS)))
        rng.shuffle(order)
        chances = np.exp(-epsilon / 2 * APART[place(word)])
        out.append(next(WORDS[i] for i in order if rng.random() < chances[i]))
    return " ".join(out)


def one_key(text: str, epsilon: float) -> str:
    """All noise of a text from one draw."""
    key, out = secrets.token_bytes(16), []
    for i, word in enumerate(text.split()):
        uniform = int.from_bytes(hmac.digest(key, str(i).encode(), "sha256")[:6], "big") / 2**48
        law = np.cumsum(weights(word if word in WORDS else WORDS[0], epsilon))
        out.append(WORDS[min(int(np.searchsorted(law, uniform)), len(WORDS) - 1)])
    return " ".join(out)


def deletion(text: str, epsilon: float) -> str:
    """A word is left out by a noisy score, and replaced by any other."""
    rng = np.random.default_rng()
    noisy = [rng.laplace(len(word) / 10, 10 / epsilon) > 0.35 for word in text.split()]
    return " ".join(WORDS[rng.integers(len(WORDS))] for long in noisy if long) or "nothing"


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 30.0, 700.0])
@pytest.mark.parametrize("function", [near_or_any, permute_and_flip, one_key, deletion])
def test_correct_mechanisms_of_other_makes_prove_nothing(
    function: Callable[..., str], epsilon: float
) -> None:
    """However many draws they take, and whatever these depend on."""
    for seed in (0, 1):
        report = replay_function(function, epsilon, seed=seed)
        assert report.all_seen
        assert not report.proved, str(report)


# -- brute force: all choices of a function, played through


def law(function: Callable[[str], str], text: str, monkeypatch: Any) -> dict[str, float]:
    """Return the exact law of a function that draws by `random.choice` alone."""
    outputs: dict[str, float] = defaultdict(float)
    waiting: list[tuple[int, ...]] = [()]
    while waiting:
        script = waiting.pop()
        made: list[int] = []
        likely = [1.0]

        def choice(among: Sequence[str], script: Any = script, made: Any = made,
                   likely: Any = likely) -> str:  # fmt: skip
            place = script[len(made)] if len(made) < len(script) else 0
            if len(made) >= len(script):
                waiting.extend((*made, other) for other in range(1, len(among)))
            made.append(place)
            likely[0] /= len(among)
            return among[place]

        with monkeypatch.context() as patch:
            patch.setattr(PYTHON, "choice", choice)
            outputs[function(text)] += likely[0]
    return dict(outputs)


@pytest.mark.parametrize(
    "function", [short_output, private_vocabulary, returned, skips_small_words, unknown_words_pass]
)
def test_what_is_proved_is_true_by_the_exact_laws(
    function: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An output with a chance under one text has none under the other, and δ is at most its mass.

    δ is above its bound with a probability of 1e-6.
    """
    monkeypatch.setattr(f"{__name__}.WORDS", WORDS[:5])
    report = replay_function(function, texts=["our doctor", "a patient"])
    assert report.proved
    for finding in report.proved:
        first, second = (law(function, t, monkeypatch) for t in (finding.text, finding.other))
        one = sum(mass for output, mass in first.items() if output not in second)
        two = sum(mass for output, mass in second.items() if output not in first)
        assert max(one, two) > 0
        assert finding.delta is not None
        assert finding.delta <= max(one, two)


def test_twins_have_one_support_for_all_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.WORDS", WORDS[:5])
    report = replay_function(any_word, texts=["our doctor", "a patient"])
    assert not report.findings
    laws = [law(any_word, text, monkeypatch) for text in ("our doctor", "a patient", "zzz a")]
    assert all(set(each) == set(laws[0]) for each in laws)


# -- the mechanisms of the laboratory

LEXICON = Lexicon("words", tuple(WORDS), POINTS.astype(np.float32))


@pytest.mark.slow
@pytest.mark.parametrize("key", list(MECHANISMS))
def test_no_mechanism_of_the_laboratory_is_refuted(key: str) -> None:
    """Claims of papers are refuted by other audits; no run of a mechanism tells two texts apart."""
    lexicon = dp.lexicon(limit=300) if key.startswith("hyperbolic") else LEXICON
    mechanism = create(key, lexicon)
    allowed = mechanism.admissible
    for wanted in (1.0, 20.0, 1000.0):
        epsilon = min(max(wanted, 1.01 * allowed.low), 0.99 * allowed.high)

        def rewritten(text: str, epsilon: float = epsilon) -> str:
            return dp.release(dp.read(text, lexicon), mechanism, epsilon)

        report = replay_function(rewritten, lexicon=lexicon)
        assert report.all_seen, str(report)
        assert not report.proved, str(report)
        # Random words stand in for unknown ones, and that takes draws of its own.
        unknown = {Kind.UNKNOWN, Kind.KEPT, Kind.RETURNED}
        assert report.kinds <= unknown, str(report)


# -- what is seen, and what is not


KEPT = np.random.default_rng(5)


def kept_generator(text: str) -> str:
    return " ".join(chosen(word, KEPT) for word in text.split())


class Rewriter:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(7)
        self.more = {"python": PYTHON.Random(7)}

    def __call__(self, text: str) -> str:
        return " ".join(chosen(word, self.rng) for word in text.split())

    def rewrite(self, text: str) -> str:
        return " ".join(self.more["python"].choice(WORDS) for _ in text.split())


def given_rng(text: str, rng: np.random.Generator) -> str:
    return " ".join(chosen(word, rng) for word in text.split())


def given_python(text: str, *, rng: "Random") -> str:  # type: ignore[name-defined]  # noqa: F821
    return " ".join(rng.choice(WORDS) for _ in text.split())


def given_state(text: str, random_state: Any = None) -> str:
    return " ".join(random_state.choice(WORDS, p=weights(word)) for word in text.split())


def given_seed(text: str, seed: int) -> str:
    return given_rng(text, np.random.default_rng(seed))


def test_generators_of_every_kind_are_seen() -> None:
    name, closed = PYTHON.choice, np.random.default_rng(1)

    def in_a_closure(text: str) -> str:
        return " ".join(chosen(word, closed) for word in text.split())

    def by_its_name(text: str) -> str:
        return " ".join(name(WORDS) for _ in text.split())

    rewriter = Rewriter()
    state = KEPT.bit_generator.state
    for function, kind in (
        (kept_generator, "Generator.choice"),
        (rewriter, "Generator.choice"),
        (rewriter.rewrite, "random.choice"),
        (functools.partial(rewriter.rewrite), "random.choice"),
        (in_a_closure, "Generator.choice"),
        (by_its_name, "random.choice"),
        (given_rng, "Generator.choice"),
        (given_python, "random.choice"),
        (given_state, "RandomState.choice"),
        (given_seed, "Generator.choice"),
        (functools.partial(given_rng, rng=np.random.default_rng(3)), "Generator.choice"),
    ):
        report = replay_function(function)
        assert report.all_seen, function
        assert kind in report.draws, function
        assert not report.findings, str(report)
    # Their own generators are back, and were not used.
    assert KEPT.bit_generator.state == state
    assert type(rewriter.rng) is type(KEPT) is type(np.random.default_rng())
    assert rewriter.rng.random() == np.random.default_rng(7).random()


class Hidden:
    """A generator at a place that is not looked at."""

    made = ([np.random.default_rng(9)],)


def hidden(text: str) -> str:
    rng = Hidden.made[0][0]
    return " ".join(chosen(word, rng) for word in text.split())


def test_randomness_that_is_not_seen_is_said_and_proves_nothing() -> None:
    report = replay_function(hidden)
    assert not report.all_seen
    assert report.noise.startswith("The randomness was not seen")
    assert "not all randomness was seen" in report.label
    assert not report.proved

    def both(text: str) -> str:
        rng, words = Hidden.made[0][0], any_word(text).split()
        return " ".join(word if word in SMALL else chosen(word, rng) for word in words)

    report = replay_function(both)
    assert report.noise.startswith("Some randomness was not seen")
    assert not report.proved
    assert any("multiplies a number" in sentence for sentence in report.not_seen)


def test_a_seed_with_a_default_is_said() -> None:
    def seeded(text: str, seed: int = 0) -> str:
        return given_rng(text, np.random.default_rng(seed))

    report = replay_function(seeded)
    assert report.kinds == {Kind.SEED}
    assert "seed = 0" in report.findings[0].sentence


# -- the call and the report


def test_forms_and_epsilon() -> None:
    def words(given: list[str]) -> list[str]:
        assert isinstance(given, list)
        return [PYTHON.choice(WORDS) for _ in given]

    def word(given: str, epsilon: float) -> str:
        assert " " not in given
        return chosen(given, np.random.default_rng(), epsilon)

    assert not replay_function(words, form="words").findings
    report = replay_function(word, 2.0, form="word")
    assert not report.findings
    assert report.texts == 21 + 3
    with pytest.raises(ParameterError, match="a text and ε"):
        replay_function(word, form="word")


def test_the_front_door_replays() -> None:
    report = dp.audit(skips_small_words, replay=True)
    assert isinstance(report, ReplayReport)
    again = dp.audit(skips_small_words, replay=True)
    assert report.findings == again.findings  # the seed decides
    assert {f.kind for f in report.proved} == {Kind.KEPT, Kind.RETURNED}
    best = report.proved[1]
    assert best.runs == 4 + 28 + 48
    assert 0.5 < (best.delta or 0) < 1
    fields = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert fields["outcome"] == "refuted"
    assert fields["findings"][0]["grade"] == "leak proved"
    assert fields["callable"].endswith("skips_small_words")
    assert repr(report).startswith("ReplayReport(")
    assert "word without noise" in repr(report)
    assert str(report).count("\n") == len(report.lines)
    assert "δ ≥ 0." in report._repr_html_()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"form": "line"}, "a form is one of text, word, words"),
        ({"texts": "one text"}, "texts is a list"),
        ({"texts": [""]}, "texts is a list"),
        ({"seed": -1}, "a seed is"),
        ({"replay": 1}, "replay must be True or False"),
    ],
)
def test_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"replay": True} | options
    with pytest.raises(ParameterError, match=message):
        dp.audit(any_word, **given)


def test_subjects_are_refused() -> None:
    with pytest.raises(ParameterError, match="got a mechanism"):
        dp.audit(create("k-ary", LEXICON), replay=True)  # type: ignore[call-overload]
    with pytest.raises(EpsilonError, match="finite number > 0, got"):
        dp.audit(any_word, -1.0, replay=True)
    with pytest.raises(ParameterError, match="must take a text"):
        replay_function(lambda a, b, c: a)

    def broken(text: str) -> int:
        return 1

    with pytest.raises(ParameterError, match="gave no text for any of the texts"):
        replay_function(broken)


def test_two_replays_do_not_nest() -> None:
    def nested(text: str) -> str:
        replay_function(any_word)
        return text

    with pytest.raises(ParameterError, match="cannot be nested"):
        replay_function(nested)
    replay_function(any_word)  # and the first one left nothing behind


def test_texts_of_ones_own() -> None:
    seen: list[str] = []

    def kept(text: str) -> str:
        seen.append(text)
        return any_word(text)

    replay_function(kept, texts=["alpha beta gamma"])
    assert any("alpha" in text and "gamma" in text for text in seen)
    assert all(len(text.split()) in {2, 3} for text in seen)
    lexicon = lexicons.line(0, 1)  # two words: too few for a text of six
    replay_function(kept, lexicon=lexicon)


def test_findings_of_a_kind_are_one() -> None:
    report = replay_function(private_vocabulary)
    kinds = [finding.kind for finding in report.findings]
    assert len(kinds) == len(set(kinds))
    grades = [finding.grade for finding in report.findings]
    assert grades == sorted(grades, key=lambda grade: grade is Grade.LOOK)
    assert isinstance(report.findings[0], Finding)


# -- in somebody's tests


def test_a_leak_fails_a_test() -> None:
    assert assert_no_leak(any_word).outcome is Outcome.NOT_REFUTED
    assert assert_no_leak(own_scale).findings
    with pytest.raises(AssertionError, match="leak proved: word without noise"):
        assert_no_leak(skips_small_words)
    with pytest.raises(AssertionError, match="scale of the noise"):
        assert_no_leak(own_scale, strict=True)
    assert_no_leak(own_scale, strict=True, allow=[*LOOK[own_scale]])
    assert_no_leak(refuses, strict=True, allow=["refused text"])
    with pytest.raises(AssertionError, match="The randomness was not seen"):
        assert_no_leak(hidden, strict=True)
    with pytest.raises(ValueError, match="no such subject"):
        assert_no_leak(any_word, allow=["no such subject"])


@pytest.mark.slow
def test_the_fixture_is_a_plugin(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["dpcore.testing"]\n')
    (tmp_path / "test_it.py").write_text(
        textwrap.dedent("""
            import random


            def test_noise(no_leak):
                assert no_leak(lambda text: random.choice("ab")).all_seen


            def test_no_noise(no_leak):
                no_leak(lambda text: text)
        """)
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", tmp_path],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "leak proved: deterministic: the output is a function of the text" in done.stdout
