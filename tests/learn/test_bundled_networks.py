"""The networks that come with the laboratory are what their description says."""

import numpy as np
import pytest

from dpcore.errors import ParameterError
from dpcore.learn.bundled_networks import NEIGHBOURS, NETWORKS, bundled_network, network_path
from dpcore.learn.robust_data import teaching_parts
from dpcore.learn.substitutions import nearest_words
from dpcore.lexicon.catalogue import load
from tests import needs
from tests.needs import ROOT

needs.torch()


def test_they_read_and_certify_what_is_said() -> None:
    """On a part of the test texts, within the error of a sample, and of the record in the file."""
    lexicon = load()
    test = teaching_parts("sentiment", lexicon, np.random.default_rng(0)).test
    some = test.part(np.arange(0, len(test), 6))
    table = nearest_words(lexicon, some.bags.words, NEIGHBOURS)
    described = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    for name in NETWORKS:
        model, entry = bundled_network(name, lexicon)
        assert entry.settings["classes"] == ["negative", "positive"]
        assert entry.settings["training"] == name
        for quantity in ("clean_accuracy", "certified_accuracy"):
            assert f"{entry.facts[quantity]:.1%}".replace("%", " %") in described
        clean = model.accuracy(some.bags, some.labels)
        certified = model.certify(some.bags, some.labels, table).accuracy
        # 72 of 432 texts: five standard deviations of a sample are at most 0.27.
        assert abs(clean - entry.facts["clean_accuracy"]) < 0.27
        assert abs(certified - entry.facts["certified_accuracy"]) < 0.27
    assert certified > 0.25


def test_there_is_no_other() -> None:
    with pytest.raises(ParameterError, match="one of normal, ibp, got 'linear'"):
        network_path("linear")
