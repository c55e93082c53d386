"""Names at the right edge: one column, none over another, a long one on two lines."""

import math
from itertools import pairwise
from typing import Any

import pytest

from dpcore.plots.traces import End, edge_labels, right_margin

ENDS = [
    End("tem", "tem.v1", 20.0, 1.0),
    End("truncated-gumbel-repaired", "truncated-gumbel-repaired.v1", 50.0, 1.0),
    End("madlib", "madlib.v1", 500.0, 0.99),
    End("vickrey", "vickrey.v1", 500.0, 0.2),
]
PIXELS = 200.0


@pytest.mark.parametrize("logarithm", [False, True])
def test_all_stand_at_the_edge_and_none_over_another(logarithm: bool) -> None:
    labels: Any = edge_labels(ENDS, 1.0, logarithm, PIXELS)
    edge = 500.0 if logarithm else math.log10(500.0)
    assert {label["x"] for label in labels} == {edge}
    heights = [label["y"] * PIXELS + label["yshift"] for label in labels]
    assert all(above - below >= 17 - 1e-9 for below, above in pairwise(heights))
    assert max(heights) <= PIXELS
    assert min(heights) == pytest.approx(0.2 * PIXELS)  # where nothing is near it stays


def test_a_long_name_is_divided_with_its_mark_above() -> None:
    texts = [str(label["text"]) for label in edge_labels(ENDS, 1.0, False, PIXELS)]
    below, above = (next(i for i, t in enumerate(texts) if t.endswith(e)) for e in (
        "repaired", "truncated-gumbel-",
    ))  # fmt: skip
    assert above == below + 1  # listed from below
    assert [text for text in texts if "</span>" not in text] == [texts[below]]
    assert len(texts) == len(ENDS) + 1


def test_the_margin_holds_the_longest_line() -> None:
    assert right_margin(ENDS[:1]) < right_margin(ENDS)
    assert right_margin(ENDS) == right_margin([End("truncated-gumbel-", "tem.v1", 1.0, 1.0)])
