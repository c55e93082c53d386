"""The word auto-encoder sees noisy vectors and nothing else: exact properties."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import EpsilonError, ParameterError
from dpcore.learn.autoencoder import Architecture, Autoencoder, build_untrained
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import generator
from dpcore.rewrite.documents import encode_all
from tests import needs
from tests.mechanisms import lexicons

needs.torch()

LEXICON = lexicons.cloud(40, 6)
ARCHITECTURE = Architecture(hidden=5, dropout=0.0, norm=1.0)
CLIP = {"clip_norm": 1.0}
NOISY = {
    "gaussian": 2.0, "gaussian-classical": 0.5, "laplace": 2.0, "l2-laplace": 2.0,
    "trlaplace": 0.5, "trlaplace-corrected": 2.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def autoencoder() -> Autoencoder:
    return build_untrained(LEXICON, ARCHITECTURE, 3)


def offsets_of(*lengths: int) -> np.ndarray:
    return np.cumsum([0, *lengths], dtype=np.int64)


@pytest.mark.parametrize(("name", "epsilon"), NOISY.items())
def test_what_is_written_depends_on_the_noisy_vectors_alone(
    autoencoder: Autoencoder, name: str, epsilon: float
) -> None:
    """Two texts under noise that makes their vectors equal are written as the same words."""
    mechanism = create(name, LEXICON, CLIP)
    first, second = (encode_all([text], LEXICON) for text in ("w1 w2 w3", "w4 w5 w6"))
    noisy = mechanism.noisy_vectors(generator(0, "a"), first.words, epsilon)

    class Replayed(type(mechanism)):  # type: ignore[misc]
        def noisy_vectors(
            self: Any, rng: np.random.Generator, words: NDArray[np.int64], epsilon: float
        ) -> Any:
            return noisy

    replayed = Replayed(lexicon=LEXICON, **mechanism.settings())
    outputs = [
        autoencoder.rewrite(sentence, replayed, epsilon, generator(0, "b"))
        for sentence in (first, second)
    ]
    assert np.array_equal(outputs[0], outputs[1])
    assert np.array_equal(outputs[0], autoencoder.decode(noisy, first.offsets))


def test_words_that_are_asked_for_change_the_loss_and_not_what_is_written(
    autoencoder: Autoencoder,
) -> None:
    vectors = np.random.default_rng(0).standard_normal((4, 6))
    answers = [autoencoder.judge(vectors, offsets_of(4), np.full(4, word)) for word in (1, 2)]
    assert np.array_equal(answers[0][0], answers[1][0])
    assert not np.array_equal(answers[0][1], answers[1][1])
    every = [autoencoder.judge(vectors, offsets_of(4), np.full(4, word))[1] for word in range(40)]
    assert np.exp(-np.array(every)).sum(axis=0) == pytest.approx(np.ones(4), abs=1e-4)


def test_endless_noise_leaves_nothing_of_the_sentence(autoencoder: Autoencoder) -> None:
    mechanism = create("laplace", LEXICON, CLIP)
    texts = ("w1 w2 w3", "w30 w31 w32")
    for seed in range(5):
        outputs = [
            autoencoder.rewrite(encode_all([text], LEXICON), mechanism, 1e-12, generator(seed, "n"))
            for text in texts
        ]
        assert np.array_equal(outputs[0], outputs[1])


def test_without_noise_it_is_the_reconstruction(autoencoder: Autoencoder) -> None:
    documents = encode_all(["w1 w2 w3", "w7"], LEXICON)
    clean = autoencoder.decode(
        autoencoder.origins[documents.words].astype(np.float64), documents.offsets
    )
    result = autoencoder.rewrite(
        documents, create("laplace", LEXICON, CLIP), 1e15, generator(0, "n")
    )
    assert np.array_equal(result, clean)


def test_sentences_do_not_see_each_other(autoencoder: Autoencoder) -> None:
    vectors = np.random.default_rng(1).standard_normal((9, 6))
    together = autoencoder.decode(vectors, offsets_of(4, 0, 1, 4))
    alone = [autoencoder.decode(part, offsets_of(len(part))) for part in np.split(vectors, [4, 5])]
    assert np.array_equal(together, np.concatenate(alone))


def test_every_place_sees_the_whole_sentence(autoencoder: Autoencoder) -> None:
    vectors = np.random.default_rng(2).standard_normal((5, 6))
    asked = np.zeros(5, np.int64)
    before = autoencoder.judge(vectors, offsets_of(5), asked)[1]
    for place in (0, 4):
        changed = vectors.copy()
        changed[place] += 1.0
        assert np.all(autoencoder.judge(changed, offsets_of(5), asked)[1] != before)


@pytest.mark.parametrize("text", ["", "…", "w1", "unheard-of", "nothing here is known"])
def test_short_empty_and_unknown_texts(autoencoder: Autoencoder, text: str) -> None:
    documents = encode_all([text], LEXICON)
    mechanism = create("gaussian", LEXICON, CLIP)
    result = autoencoder.rewrite(documents, mechanism, 1.0, generator(0, "n"))
    assert result.shape == documents.words.shape
    assert np.all((result >= 0) & (result < 40))
    assert len(documents.texts(result)) == 1
    assert not {"unheard-of", "nothing", "here"} & set(documents.texts(result)[0].split())


def test_infinite_vectors_are_read_and_nan_is_refused(autoencoder: Autoencoder) -> None:
    vectors = np.full((2, 6), np.inf)
    assert autoencoder.decode(vectors, offsets_of(2)).shape == (2,)
    vectors[0, 0] = np.nan
    with pytest.raises(ParameterError, match="NaN"):
        autoencoder.decode(vectors, offsets_of(2))
    with pytest.raises(ParameterError, match=r"shape \(t, 6\)"):
        autoencoder.decode(np.zeros((2, 5)), offsets_of(2))
    with pytest.raises(ParameterError, match="same places"):
        autoencoder.decode(np.zeros((2, 6)), offsets_of(3))


def test_other_mechanisms_and_lexicons_are_refused(autoencoder: Autoencoder) -> None:
    documents = encode_all(["w1"], LEXICON)

    def rewrite(mechanism: Mechanism, epsilon: float = 1.0) -> None:
        autoencoder.rewrite(documents, mechanism, epsilon, generator(0, "n"))

    with pytest.raises(ParameterError, match="chooses among words"):
        rewrite(create("tem", LEXICON))
    with pytest.raises(ParameterError, match=r"clip_norm=1\.0"):
        rewrite(create("laplace", LEXICON, {"clip_norm": 2.0}))
    with pytest.raises(ParameterError, match="other vectors"):
        rewrite(create("madlib", LEXICON))
    with pytest.raises(ParameterError, match="another lexicon"):
        rewrite(create("laplace", lexicons.cloud(41, 6), CLIP))
    with pytest.raises(EpsilonError):
        rewrite(create("laplace", LEXICON, CLIP), 0.0)


def test_without_clipping_metric_mechanisms_are_read_too() -> None:
    whole = build_untrained(LEXICON, Architecture(hidden=5), 0)
    documents = encode_all(["w1 w2"], LEXICON)
    for name in ("madlib", "laplace"):
        assert whole.rewrite(documents, create(name, LEXICON), 5.0, generator(0, "n")).size == 2


@pytest.mark.parametrize(
    "settings",
    [{"hidden": 0}, {"dropout": 1.0}, {"dropout": float("nan")}, {"norm": 0.0},
     {"norm": float("inf")}],
)  # fmt: skip
def test_settings_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="got"):
        Architecture(**settings)
