"""The map of the whole vocabulary: what the browser is sent, once, and what it asks for."""

import json
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpcore.lexicon.catalogue import load, only_here
from dpcore.lexicon.lexicon import Lexicon
from dpcore.lexicon.neighbours import rank
from dpcore.measure.density import bundled_density
from dpcore.measure.maps.fit import vocabulary_map
from dpcore.measure.maps.store import Projection
from dpcore.measure.maps.table import framed
from pages.shared import own_vectors
from pages.words import vocabulary
from pages.words.maps import WHOLE
from pages.words.panes import TITLES_OF
from pages.words.vocabulary import Packet, maps_of, pack, word_facts
from tests.pages.app import component, methods, shown_text
from tests.pages.words.reading import FEW

WHOLE_MAP = FEW | {"more": WHOLE}
MOST_BYTES = 420_000
"""Of the bundled lexicon: 25,000 points of three maps, classes and names."""


def unpacked(packet: Packet, words: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The head, and the parts, read as the browser reads them."""
    length = int.from_bytes(packet.content[:4], "little")
    head = json.loads(packet.content[4 : 4 + length])
    body = zlib.decompress(packet.content[4 + length :])
    parts: dict[str, Any] = {}
    place = 0
    for name in head["maps"]:
        parts[name] = np.frombuffer(body, "<i2", 2 * words, place).reshape(-1, 2)
        place += 4 * words
    if head["bounds"]:
        parts["classes"] = np.frombuffer(body, np.uint8, words, place)
        place += words
    parts["names"] = body[place:].decode().split("\n")
    return head, parts


def messages(test: AppTest, name: str) -> list[Any]:
    drawn = [element.proto for element in test.get("bidi_component")]
    return [proto for proto in drawn if proto.component_name.endswith(f".{name}")]


@pytest.fixture(scope="module")
def default() -> Lexicon:
    return load()


def test_a_packet_holds_every_point_class_and_name(default: Lexicon) -> None:
    density = bundled_density(default)
    assert density is not None
    packet = pack(default, maps_of(default), density)
    assert packet.words == len(default)
    assert len(packet.content) <= MOST_BYTES
    head, parts = unpacked(packet, len(default))
    assert head["name"] == packet.name
    assert head["maps"] == ["umap", "densmap", "pca"]
    assert parts["names"] == list(default.words)
    for projection in Projection:
        shown = vocabulary_map(default, projection)
        points, parked = framed(shown)
        step = shown.parameters["step"]
        assert parts[str(projection)] * step == pytest.approx(points, abs=0.51 * step)
        assert head["parked"][str(projection)] == parked
    sizes = np.bincount(parts["classes"])
    assert sizes.tolist() == [5_000] * 5
    for place, bound in enumerate(head["bounds"]):
        most = density.mean_distance[parts["classes"] == place].max()
        assert bound == pytest.approx(most, rel=5e-3)
    assert pack(default, maps_of(default), density).name == packet.name
    assert pack(default, maps_of(default), None).name != packet.name


def test_what_is_told_of_a_word_are_its_true_neighbours(default: Lexicon) -> None:
    row = default.index("hospital")
    maps = maps_of(default)
    facts = word_facts(default, row, maps, bundled_density(default), len(default))
    ranking = rank(default.vectors, default.vectors[[row]])[0]
    assert [near[0] for near in facts["near"]] == ranking.order[1:11].tolist()
    assert [near[2] for near in facts["near"]] == pytest.approx(ranking.distances[1:11], rel=5e-3)
    kept = ", ".join(
        f"{TITLES_OF[name]} {round(10 * float(shown.kept[row]))}" for name, shown in maps.items()
    )
    assert facts["facts"][1].endswith(f"{kept}.")
    # Of a map of the first words alone, a neighbour beyond them has a name and no point.
    few = word_facts(default, 10, maps, None, 50)
    assert all(near[0] is None or near[0] < 50 for near in few["near"])
    assert None in [near[0] for near in few["near"]]


def test_the_packet_is_sent_once_and_again_if_the_browser_lacks_it(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(**WHOLE_MAP)
    data = component(test, "vocabulary")
    (packet,) = messages(test, "vocabulary_packet")
    assert len(packet.bytes) <= MOST_BYTES
    assert unpacked(Packet("", packet.bytes, 0), 25_000)[0]["name"] == data["packet"]
    assert [word["name"] for word in data["pair"]] == ["monday", "garage"]
    assert data["map"] == "densmap"
    assert data["look"] is None
    assert len(json.dumps(data)) < 20_000
    assert "of 25,000 of 25,000 words" in methods(test)
    test.run()
    assert not messages(test, "vocabulary_packet")
    del test.session_state["vocabulary_sent"]  # as when the browser says that it lacks it
    test.run()
    assert messages(test, "vocabulary_packet")


def test_a_word_of_the_link_is_looked_at_and_a_false_one_is_not(
    opened: Callable[..., AppTest],
) -> None:
    test = opened(vocabulary_looked="violin", **WHOLE_MAP)
    look = component(test, "vocabulary")["look"]
    assert look["row"] == load().index("violin")
    assert test.query_params["found"] == "violin"
    test = opened(vocabulary_looked="no-such-word", **WHOLE_MAP)
    assert component(test, "vocabulary")["look"] is None
    assert "found" not in test.query_params


@pytest.mark.parametrize("value", [None, -1, 25_000, 2.5, "0", [0]])
def test_what_is_no_row_is_no_word(default: Lexicon, value: Any) -> None:
    assert vocabulary._word(default, len(default), value) is None


def test_vectors_of_ones_own_have_pca_and_nothing_is_written(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("DPCORE_CACHE", str(tmp_path))
    rows = np.random.default_rng(8).standard_normal((60, 4)).astype(np.float32)
    mine = only_here(Lexicon("mine", tuple(f"w{i}" for i in range(60)), rows))
    own = own_vectors._Brought("an id", "en", mine)
    test = opened(own_vectors=own, lexicon=own_vectors.NAME, projection="PCA", **WHOLE_MAP)
    data = component(test, "vocabulary")
    assert data["map"] == "pca"
    (packet,) = messages(test, "vocabulary_packet")
    head, parts = unpacked(Packet("", packet.bytes, 60), 60)
    assert head["maps"] == ["pca"]
    assert parts["names"] == list(mine.words)
    assert "All points have one colour" in shown_text(test)
    test = opened(own_vectors=own, lexicon=own_vectors.NAME, **WHOLE_MAP)
    assert "For your own vectors there is only PCA" in shown_text(test)
    assert not any(button.key == "build_map" for button in test.button)
    assert component(test, "vocabulary")["map"] == "pca"
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
