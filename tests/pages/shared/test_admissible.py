"""A mechanism that admits no ε of the dial on some lexicon: the pages say so, and go on."""

import pytest

from dpcore.lexicon.catalogue import load
from dpcore.mechanisms.registry import create
from pages.shared.session import admissible
from tests.pages.app import open_link

LEXICON, NONE_ADMISSIBLE = "hyperbolic", "truncated-gumbel-repaired"
FIELDS = {"rewrite": "metric", "curves": "curve_metric", "words": "curve_metric"}
FIELDS |= {"release": "use_metric", "tradeoff": "curves", "attacker": "mechanism"}


def test_there_is_one() -> None:
    assert not admissible(create(NONE_ADMISSIBLE, load(LEXICON))).size


@pytest.mark.slow
@pytest.mark.parametrize("address", FIELDS)
def test_pages_go_on_without_it(address: str) -> None:
    link = {"lexicon": LEXICON, FIELDS[address]: NONE_ADMISSIBLE}
    test = open_link(address, **link)
    assert not test.exception
    assert test.title
    beside = open_link(address, **link | {FIELDS[address]: [NONE_ADMISSIBLE, "madlib"]})
    assert not beside.exception
