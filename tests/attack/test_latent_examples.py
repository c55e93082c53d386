import dataclasses
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpcore.attack.latent import (
    examples,
    examples_path,
    guess,
    read_examples,
    success,
    success_bound,
)
from dpcore.errors import EpsilonError, ParameterError, StudyError
from dpcore.learn.adept import words_of
from dpcore.mechanisms.clipped.adept import FORMS, true_epsilon


def test_the_bundled_examples_are_whole() -> None:
    bundled = examples()
    assert len(bundled.texts) == len(bundled.latents) >= 50
    assert np.linalg.norm(bundled.latents, axis=1).max() <= 1.0 + 1e-3
    assert not bundled.latents.flags.writeable
    dimension = bundled.latents.shape[1]
    by = {
        (rewrite.text, rewrite.mechanism, rewrite.epsilon): rewrite for rewrite in bundled.rewrites
    }
    assert len(by) == len(bundled.rewrites)
    for rewrite in bundled.rewrites:
        assert rewrite.text in bundled.texts
        assert (rewrite.output == "") <= (rewrite.in_corpus or rewrite.mechanism != "")
        if rewrite.mechanism:
            form = FORMS[rewrite.mechanism]
            assert rewrite.epsilon is not None
            assert rewrite.true_epsilon == pytest.approx(
                true_epsilon(form, rewrite.epsilon, dimension)
            )
    assert {rewrite.mechanism for rewrite in bundled.rewrites} == {"", *FORMS}


def test_no_utterance_of_the_corpus_is_shipped(data_dir: Path) -> None:
    corpus = pd.read_parquet(data_dir / "atis.parquet")["text"]
    known = {" ".join(words_of(text)) for text in corpus if len(words_of(text)) <= 16}
    bundled = examples()
    assert not known & set(bundled.texts)
    shown = {rewrite.output for rewrite in bundled.rewrites}
    assert not known & shown


@pytest.mark.parametrize("mechanism", FORMS)
def test_one_draw_serves_every_epsilon_and_the_posterior_is_a_law(mechanism: str) -> None:
    bundled = examples()
    near, far = (guess(bundled, 7, mechanism, e, 3) for e in (1e9, 1e-9))
    assert near.order[0] == 7
    assert near.rank == 1.0
    assert near.probability[7] == pytest.approx(1.0)
    np.testing.assert_allclose(far.probability, 1 / len(bundled.texts), rtol=1e-6)
    middle = guess(bundled, 7, mechanism, 10.0, 3)
    assert middle.probability.sum() == pytest.approx(1.0)
    assert np.all(np.diff(middle.probability[middle.order]) <= 0)
    place = int(np.flatnonzero(middle.order == 7)[0])
    assert middle.rank == place + 1
    again = guess(bundled, 7, mechanism, 10.0, 3)
    np.testing.assert_array_equal(middle.probability, again.probability)
    other = guess(bundled, 7, mechanism, 10.0, 4)
    assert not np.array_equal(middle.probability, other.probability)


def test_the_attack_on_all_of_them_keeps_to_the_bound_of_the_true_epsilon() -> None:
    bundled, epsilons = examples(), (0.5, 2.0, 8.0)
    for mechanism in FORMS:
        for ranking in success(bundled, mechanism, epsilons, 20, 0):
            error = 5.0 * ranking.best.std() / np.sqrt(ranking.best.size)
            assert ranking.bayes - error <= success_bound(ranking.epsilon, len(bundled.texts))
    published, repaired = (success(bundled, m, (8.0,), 20, 0)[0] for m in ("adept", "l2-laplace"))
    assert published.bayes > 3 * repaired.bayes


def test_refusals() -> None:
    bundled = examples()
    for place in (-1, len(bundled.texts)):
        with pytest.raises(ParameterError, match="utterances, got number"):
            guess(bundled, place, "adept", 1.0, 0)
    with pytest.raises(ParameterError, match="one of adept, adept-l1, laplace, l2-laplace, got"):
        guess(bundled, 0, "tem", 1.0, 0)
    with pytest.raises(EpsilonError, match="finite number > 0"):
        guess(bundled, 0, "adept", float("nan"), 0)
    with pytest.raises(ParameterError, match="at least one draw"):
        success(bundled, "adept", (1.0,), 0, 0)


def test_damaged_examples_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "adept.json"
    whole = json.loads(examples_path().read_text(encoding="utf-8"))
    breaks = (
        {"latents": whole["latents"][1:]},
        {"latents": [[float("nan")] * 32] * len(whole["texts"])},
        {"latents": "none"},
        {"manhattan": 0},
        {"texts": [whole["texts"][0]] * len(whole["texts"])},
        {"rewrites": [dataclasses.asdict(examples().rewrites[0]) | {"text": "another"}]},
        {"rewrites": [{"text": "another"}]},
    )
    for change in breaks:
        path.write_text(json.dumps(whole | change), encoding="utf-8")
        with pytest.raises(StudyError, match="missing or damaged"):
            read_examples(path)
    for text in ("", "[]", "{"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(StudyError, match="autoencoder examples"):
            read_examples(path)
    with pytest.raises(StudyError, match="missing or damaged"):
        read_examples(tmp_path / "none.json")
    path.write_text(json.dumps(whole), encoding="utf-8")
    np.testing.assert_array_equal(read_examples(path).latents, examples().latents)
