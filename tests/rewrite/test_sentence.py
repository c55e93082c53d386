"""A sentence under a mechanism: coupled draws, release, unknown words, what is written."""

import numpy as np
import pytest

from dpcore.errors import ParameterError, TextError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.registry import MECHANISMS, create
from dpcore.rewrite.likely import SharedDirections, likely_outputs
from dpcore.rewrite.randomness import generator
from dpcore.rewrite.sentence import _SEGMENT, draw, prepare, redraw, release
from dpcore.rewrite.vocabulary import Role, UnknownWordPolicy

WORDS = "the weather in london was terrible today we stayed home and cooked dinner for two".split()
TEXT = "The weather in Xyzzyville was terrible, we stayed home!"


@pytest.fixture(scope="module")
def lexicon():
    vectors = np.random.default_rng(3).standard_normal((len(WORDS) + 400, 12)).astype(np.float32)
    return Lexicon("toy", (*WORDS, *(f"w{i}" for i in range(400))), vectors)


def middle(mechanism):
    """An admissible ε: in the middle of the range on a log scale."""
    allowed = mechanism.admissible
    low, high = max(allowed.low * 1.5, 0.5), min(allowed.high * 0.5, 1e4)
    return float(np.sqrt(low * high))


@pytest.mark.parametrize("key", MECHANISMS)
def test_looking_at_one_epsilon_or_at_many_is_the_same_draw(lexicon, key):
    mechanism, sentence = create(key, lexicon), prepare(TEXT, lexicon)
    one = middle(mechanism)
    alone = draw(sentence, mechanism, 5, epsilons=np.array([one])).at(one)
    grid = np.sort(np.append(np.geomspace(one / 1.4, one * 1.4, 7), one))
    among = draw(sentence, mechanism, 5, epsilons=grid).at(one)
    assert alone == among
    assert draw(sentence, mechanism, 5, epsilons=grid).at(one) == among
    others = [draw(sentence, mechanism, 5, n, epsilons=grid).at(grid[0]).text for n in range(12)]
    assert len(set(others)) > 1


@pytest.mark.parametrize("key", MECHANISMS)
def test_a_released_text_holds_no_unknown_word(lexicon, key):
    mechanism = create(key, lexicon)
    sentence = prepare(TEXT, lexicon)
    for number in range(20):
        rewritten = release(sentence, mechanism, middle(mechanism), generator(number, "test"))
        assert "zyzzy" not in rewritten.text.lower()
        assert len(rewritten.tokens) == len(sentence.tokens)
        assert rewritten.text == "".join(t.before + t.output for t in rewritten.tokens)


def test_roles_and_changes_are_said_token_by_token(lexicon):
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


def test_a_dropped_word_stays_in_the_list_of_tokens(lexicon):
    sentence = prepare(TEXT, lexicon, policy=UnknownWordPolicy.DROP)
    rewritten = sentence.write(sentence.inputs(1))
    assert [t.input for t in rewritten.tokens] == [t.text for t in sentence.tokens]
    assert rewritten.tokens[3].output == ""
    assert rewritten.text == "The weather in was terrible, we stayed home!"


def test_the_stand_in_of_an_unknown_word_is_uniform(lexicon):
    sentence = prepare("Xyzzyville", lexicon)
    draws = 20_000
    words = np.array([sentence.inputs(7, number)[0] for number in range(draws)])
    counts = np.bincount(words, minlength=len(lexicon))
    expected = draws / len(lexicon)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    from scipy.stats import chi2

    assert chi2.sf(statistic, len(lexicon) - 1) > 1e-6  # false alarm 1e-6


def test_a_long_text_is_drawn_in_segments_with_different_noise(lexicon):
    sentence = prepare(" ".join(["weather"] * (2 * _SEGMENT + 3)), lexicon)
    mechanism = create("madlib", lexicon)
    drawn = draw(sentence, mechanism, 0)
    assert len(drawn.paths) == 2 * _SEGMENT + 3
    outputs = drawn.paths.at(np.array([1.0]))[:, 0]
    assert not np.array_equal(outputs[:_SEGMENT], outputs[_SEGMENT : 2 * _SEGMENT])


def test_many_draws_agree_with_the_law(lexicon):
    sentence = prepare("weather", lexicon)
    mechanism = create("tem", lexicon)
    draws, epsilon = 2_000, 2.0
    paths = redraw(sentence, mechanism, 1, draws)
    share = float((paths[0].at(np.array([epsilon]))[:, 0] == sentence.words[0]).mean())
    stay = float(mechanism.law(int(sentence.words[0]), [epsilon]).stay()[0])
    # Hoeffding, false alarm 1e-6.
    assert abs(share - stay) < np.sqrt(np.log(2e6) / (2 * draws))


@pytest.mark.parametrize("key", MECHANISMS)
def test_likely_outputs_are_ordered_and_carry_true_distances(lexicon, key):
    mechanism, sentence = create(key, lexicon), prepare(TEXT, lexicon)
    epsilon = middle(mechanism)
    grid = np.array([epsilon * 0.9, epsilon])
    found = likely_outputs(sentence, mechanism, 1, grid, SharedDirections())
    assert found.exact == mechanism.exact_law
    for row in found.candidates:
        probabilities = [candidate.probability for candidate in row]
        assert probabilities == sorted(probabilities, reverse=True)
        assert 0 < sum(probabilities) <= 1 + 1e-9
        for candidate in row:
            gap = lexicon.vectors[lexicon.index("weather")].astype(float)
            gap = gap - lexicon.vectors[lexicon.index(candidate.word)]
            assert candidate.distance == pytest.approx(float(np.linalg.norm(gap)))
    unknown = likely_outputs(sentence, mechanism, 3, grid, SharedDirections())
    assert unknown is None


def test_shared_directions_are_shared_where_they_can_be(lexicon):
    shared = SharedDirections()
    sphere = [create(name, lexicon) for name in ("madlib", "vickrey", "l2-laplace", "gaussian")]
    assert len({id(shared.bundle(mechanism)) for mechanism in sphere}) == 1
    others = [create(name, lexicon) for name in ("mahalanobis", "laplace", "random-projection")]
    others += [create("mahalanobis", lexicon, {"lam": 0.9})]
    others += [create("laplace", lexicon, {"clip_norm": 1.0})]
    assert len({id(shared.bundle(mechanism)) for mechanism in [sphere[0], *others]}) == 6


def test_a_text_of_marks_alone_comes_back(lexicon):
    sentence = prepare("?!...", lexicon)
    mechanism = create("madlib", lexicon)
    assert draw(sentence, mechanism, 1).at(2.0).text == "?!..."
    assert release(sentence, mechanism, 2.0, generator(1)).text == "?!..."
    assert redraw(sentence, mechanism, 1, 5) == []


@pytest.mark.parametrize("seed", [-1, 2**60, 1.5, "7"])
def test_a_seed_that_a_link_cannot_carry_is_refused(seed):
    with pytest.raises(ParameterError, match="a seed is a whole number"):
        generator(seed, "x")


def test_streams_differ_by_key_and_repeat_by_seed():
    first = generator(1, "a", 2).random(4)
    assert np.array_equal(first, generator(1, "a", 2).random(4))
    for other in (generator(2, "a", 2), generator(1, "a", 3), generator(1, "a2"), generator(None)):
        assert not np.array_equal(first, other.random(4))


@pytest.mark.parametrize("text", ["", "  \n ", "a\x00b", "x " * 5_000])
def test_text_that_cannot_be_rewritten_is_refused(lexicon, text):
    with pytest.raises(TextError):
        prepare(text, lexicon)
