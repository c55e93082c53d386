"""Lexicons of the experiments: random vectors on the scale of GloVe, the same for everyone."""

import numpy as np
import pytest

from dpcore.errors import StudyError
from dpcore.study.embeddings import load_embedding, random_vectors
from tests.mechanisms import lexicons


def test_random_vectors_have_the_words_and_the_scale():
    before = lexicons.cloud(1_500, 40)
    found = random_vectors(before)
    assert found.words == before.words
    assert found.fingerprint == random_vectors(before).fingerprint
    assert found.vectors.shape == before.vectors.shape
    gaps = np.linalg.norm(found.vectors[:, None, :8] - found.vectors[:1, :8], axis=2)
    assert gaps.max() > 0
    table = found.neighbours(2)
    assert np.median(table.distances[:, 1]) == pytest.approx(4.787, rel=0.01)
    # They know nothing of the words: no correlation beyond chance with the true vectors.
    inner = np.corrcoef(found.vectors.ravel(), before.vectors.ravel())[0, 1]
    assert abs(inner) < 5 / np.sqrt(before.vectors.size)


def test_what_is_no_lexicon_is_refused(tmp_path):
    with pytest.raises(StudyError, match="no vocabulary 'x'"):
        load_embedding("x", tmp_path)
    with pytest.raises(StudyError, match="with -bundled or -random behind"):
        load_embedding("sst2-other", tmp_path)
    with pytest.raises(StudyError, match=r"does not hold sst2.parquet"):
        load_embedding("sst2", tmp_path)
    assert len(load_embedding("bundled", None)) == 25_000
