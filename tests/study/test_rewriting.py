"""Quality of rewritten text: without noise, only unknown words are lost."""

from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcore.errors import TextError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.similarity import Encoder
from dpcore.mechanisms.registry import create
from dpcore.study.labelled_trial import QUANTITIES, rewriting
from dpcore.study.plan import Row
from tests.study import toy_corpus

TEXTS = ["w1 w2, w3 w4 w5!", "W6 w7 w8 w9 w10.", "  ", "…"]


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return toy_corpus.lexicon()


def values(rows: Iterable[Row], epsilon: float | None = None) -> dict[str, Any]:
    return {row["quantity"]: row["value"] for row in rows if row["epsilon"] == epsilon}


def test_without_noise_all_stays(lexicon: Lexicon) -> None:
    shares = values(rewriting(TEXTS, lexicon, None, (), 0))
    assert shares["nw"] == shares["rouge1"] == shares["rouge1_recall"] == 1.0
    assert shares["bleu"] == pytest.approx(100.0)
    assert shares["matching"] == pytest.approx(1.0)
    assert set(shares) == set(QUANTITIES) - {"bert_style", "cosine"}


def test_unknown_words_are_lost_even_without_noise(lexicon: Lexicon) -> None:
    shares = values(rewriting(["w1 w2 secret w4"], lexicon, None, (), 0))
    assert shares["nw"] == 0.75
    assert shares["rouge1_recall"] == 0.75


def test_more_noise_leaves_less(lexicon: Lexicon) -> None:
    result = list(rewriting(TEXTS * 10, lexicon, create("madlib", lexicon), (0.01, 1e6), 3))
    low, high = values(result, 0.01), values(result, 1e6)
    assert all(low[name] < high[name] for name in low)
    assert high["nw"] == 1.0
    assert {row["count"] for row in result if row["quantity"] != "nw"} == {20}
    assert (
        values(rewriting(TEXTS * 10, lexicon, create("madlib", lexicon), (0.01, 1e6), 3), 0.01)
        == low
    )


class Letters:
    """An encoder whose pieces are the letters of a text."""

    def pieces(self, texts: list[str]) -> list[NDArray[np.float32]]:
        table = np.eye(128, dtype=np.float32)
        return [table[[ord(c) for c in text if ord(c) < 128]] for text in texts]


def test_an_encoder_adds_its_quantities(lexicon: Lexicon) -> None:
    shares = values(rewriting(TEXTS, lexicon, None, (), 0, cast("Encoder", Letters())))
    assert shares["bert_style"] == pytest.approx(1.0)
    assert shares["cosine"] == pytest.approx(1.0)
    letters = cast("Encoder", Letters())
    noisy = list(rewriting(TEXTS, lexicon, create("madlib", lexicon), (0.01,), 0, letters))
    assert values(noisy, 0.01)["cosine"] < 1.0


def test_texts_without_words_are_refused_and_unknown_words_match_nothing(lexicon: Lexicon) -> None:
    with pytest.raises(TextError, match="nothing to compare"):
        list(rewriting(["…", " "], lexicon, None, (), 0))
    shares = values(rewriting(["secret words only"], lexicon, None, (), 0))
    assert shares["nw"] == 0.0
    assert "matching" not in shares
