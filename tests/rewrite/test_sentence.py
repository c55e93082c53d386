"""A sentence under a mechanism: coupled draws, release, unknown words, written text."""

import numpy as np
import pytest

from dpcore.errors import TextError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import MECHANISMS, create, resolve
from dpcore.noise.streams import generator
from dpcore.rewrite import sentence
from dpcore.rewrite.policy import Treatment, UnknownWordPolicy
from dpcore.rewrite.sentence import _SEGMENT, draw, prepare, redraw, release
from dpcore.rewrite.vocabulary import Role

WORDS = "the weather in london was terrible today we stayed home and cooked dinner for two".split()
TEXT = "The weather in Xyzzyville was terrible, we stayed home!"


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    vectors = np.random.default_rng(3).standard_normal((len(WORDS) + 400, 12)).astype(np.float32)
    return Lexicon("toy", (*WORDS, *(f"w{i}" for i in range(400))), vectors)


def middle(mechanism: Mechanism) -> float:
    """An admissible ε: in the middle of the range on a log scale."""
    allowed = mechanism.admissible
    low, high = max(allowed.low * 1.5, 0.5), min(allowed.high * 0.5, 1e4)
    return float(np.sqrt(low * high))


@pytest.mark.slow
@pytest.mark.parametrize("key", MECHANISMS)
def test_looking_at_one_epsilon_or_at_many_is_the_same_draw(lexicon: Lexicon, key: str) -> None:
    mechanism, sentence = create(key, lexicon), prepare(TEXT, lexicon)
    first = middle(mechanism)
    alone = draw(sentence, mechanism, 5, epsilons=np.array([first])).at(first)
    grid = np.sort(np.append(np.geomspace(first / 1.4, first * 1.4, 7), first))
    among = draw(sentence, mechanism, 5, epsilons=grid).at(first)
    assert alone == among
    assert draw(sentence, mechanism, 5, epsilons=grid).at(first) == among
    others = [draw(sentence, mechanism, 5, n, epsilons=grid).at(grid[0]).text for n in range(12)]
    assert len(set(others)) > 1


@pytest.mark.parametrize("key", MECHANISMS)
def test_a_released_text_holds_no_unknown_word(lexicon: Lexicon, key: str) -> None:
    mechanism = create(key, lexicon)
    sentence = prepare(TEXT, lexicon)
    for number in range(20):
        rewritten = release(sentence, mechanism, middle(mechanism), generator(number, "test"))
        assert "zyzzy" not in rewritten.text.lower()
        assert len(rewritten.tokens) == len(sentence.tokens)
        assert rewritten.text == "".join(t.before + t.output for t in rewritten.tokens)


def test_roles_and_changes_are_said_token_by_token(lexicon: Lexicon) -> None:
    sentence = prepare(TEXT, lexicon)
    rewritten = sentence.write(sentence.inputs(1))
    unknown = rewritten.tokens[3]
    assert unknown.input == "Xyzzyville"
    assert (unknown.role, unknown.in_vocabulary, unknown.changed) == (Role.UNKNOWN, False, True)
    assert [t.role for t in rewritten.tokens if t.input in ",!"] == [Role.RELEASED] * 2
    rest = [t for t in rewritten.tokens if t.role is Role.PROTECTED]
    assert all(not t.changed and t.input == t.output for t in rest)
    assert rewritten.changed == 1
    assert rewritten.text.startswith("The weather in ")


def test_a_dropped_word_stays_in_the_list_of_tokens(lexicon: Lexicon) -> None:
    sentence = prepare(TEXT, lexicon, Treatment(UnknownWordPolicy.DROP))
    rewritten = sentence.write(sentence.inputs(1))
    assert [t.input for t in rewritten.tokens] == [t.text for t in sentence.tokens]
    assert rewritten.tokens[3].output == ""
    assert rewritten.text == "The weather in was terrible, we stayed home!"


def test_the_stand_in_of_an_unknown_word_is_uniform(lexicon: Lexicon) -> None:
    sentence = prepare("Xyzzyville", lexicon)
    draws = 20_000
    words = np.array([sentence.inputs(7, number)[0] for number in range(draws)])
    counts = np.bincount(words, minlength=len(lexicon))
    expected = draws / len(lexicon)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    from scipy.stats import chi2

    assert chi2.sf(statistic, len(lexicon) - 1) > 1e-6  # false alarm 1e-6


def test_a_long_text_is_drawn_in_segments_with_different_noise(lexicon: Lexicon) -> None:
    sentence = prepare(" ".join(["weather"] * (2 * _SEGMENT + 3)), lexicon)
    mechanism = create("madlib", lexicon)
    drawn = draw(sentence, mechanism, 0)
    assert len(drawn.paths) == 2 * _SEGMENT + 3
    outputs = drawn.paths.at(np.array([1.0]))[:, 0]
    assert not np.array_equal(outputs[:_SEGMENT], outputs[_SEGMENT : 2 * _SEGMENT])


def test_many_draws_agree_with_the_law(lexicon: Lexicon) -> None:
    sentence = prepare("weather", lexicon)
    mechanism = create("tem", lexicon)
    draws, epsilon = 2_000, 2.0
    paths = redraw(sentence, mechanism, 0, 1, draws)
    share = float((paths.at(np.array([epsilon]))[:, 0] == sentence.words[0]).mean())
    stay = float(mechanism.law(int(sentence.words[0]), [epsilon]).stay()[0])
    # Hoeffding, false alarm 1e-6.
    assert abs(share - stay) < np.sqrt(np.log(2e6) / (2 * draws))


def test_the_vocabulary_is_ranked_for_a_mechanism_that_reads_it_and_for_no_other(
    lexicon: Lexicon, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("ranked")

    monkeypatch.setattr(sentence, "rank", refuse)
    text = prepare("good money", lexicon)
    for name in ("k-ary", "neighbour-response"):
        draw(text, create(resolve(name).key, lexicon), 1)
    with pytest.raises(AssertionError, match="ranked"):
        draw(text, create(resolve("madlib").key, lexicon), 1)


def test_a_text_of_marks_alone_comes_back(lexicon: Lexicon) -> None:
    sentence = prepare("?!...", lexicon)
    mechanism = create("madlib", lexicon)
    assert draw(sentence, mechanism, 1).at(2.0).text == "?!..."
    assert release(sentence, mechanism, 2.0, generator(1)).text == "?!..."


@pytest.mark.parametrize("text", ["", "  \n ", "a\x00b", "x " * 5_000])
def test_text_that_cannot_be_rewritten_is_refused(lexicon: Lexicon, text: str) -> None:
    with pytest.raises(TextError):
        prepare(text, lexicon)


def test_words_that_stayed_and_words_that_are_unknown_are_counted() -> None:
    lexicon = Lexicon("capitals", ("MY", "SAID", "so"), np.eye(3, dtype=np.float32) * 9)
    mechanism = create("optimal", lexicon)
    for text, words, unknown in (
        ("so so, so!", 3, 0),
        ("so so zz", 3, 1),
        ("so zz", 2, 1),
        ("so zz zz", 3, 2),
        ("... !", 0, 0),
    ):
        sentence = prepare(text, lexicon)
        assert (sentence.read_words, sentence.unknown_words) == (words, unknown)
        said = f"{unknown} of {words} words are not in this vocabulary: is it in capitals"
        assert sentence.caution.startswith(said) == (2 * unknown > words)
        assert bool(sentence.caution) == (2 * unknown > words)
        assert (sentence.caution in sentence._repr_html_()) or not sentence.caution
    # Of three words at distance 9·√2, each stays but with a probability below e^−500.
    sentence = prepare("so so, so!", lexicon)
    rewrite = release(sentence, mechanism, 90.0, generator(None))
    assert (rewrite.stayed, rewrite.changed) == (3, 0)
