"""Map of the whole vocabulary: every word a point, drawn by the browser's WebGL.

The points of all maps and the names are one packet of bytes. The browser keeps it and receives it
once; changes of the words, ε and the chosen map are sent in a small message. The browser searches
for a word; its true neighbours come from the vectors, on the server.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.measure.density import VocabularyDensity, neighbourhood
from dpcore.measure.maps.store import Map, Projection
from dpcore.measure.maps.table import framed
from dpcore.plots.maps.panes import CLASSES, COLOURS, DARK, LIGHT, MARKERS
from pages.shared import link
from pages.shared.language import ENGLISH, for_component, language, say
from pages.shared.once import latest, once
from pages.shared.words import choose
from pages.words.bench import Outputs, PairBench, whole_map
from pages.words.density import density_of
from pages.words.panes import MAP, TITLES_OF
from pages.words.words import SLOTS

_HERE = Path(__file__).parent
_KEY = "vocabulary"
_SENT, _LOOKED = "vocabulary_sent", "vocabulary_looked"
_LINK = "found"  # word in focus on the map, in the link
_NEAR = 10  # nearest words that are marked: as many as a map's share of kept ones compares


@dataclass(frozen=True)
class Packet:
    """Maps of a lexicon that the browser keeps.

    Attributes:
        name: identifies the content: another content has another name.
        content: see `packed`.
        words: number of words with a point: the first ones of the lexicon.
    """

    name: str
    content: bytes
    words: int


@cache
def _component(name: str, *code: str, css: str | None = None) -> Callable[..., Any]:
    js = "\n".join((_HERE / part).read_text(encoding="utf-8") for part in code)
    style = None if css is None else (_HERE / css).read_text(encoding="utf-8")
    return st.components.v2.component(f"word_privacy_lab.{name}", css=style, js=js)


def maps_of(words: Lexicon) -> dict[Projection, Map]:
    """Return the available maps of the whole vocabulary."""
    maps = {}
    for projection in TITLES_OF:
        # One map is enough; the browser offers those that are in the packet.
        with suppress(DpcoreError):  # not built yet, or of too few words
            maps[projection] = whole_map(words, projection)
    return maps


def pack(
    words: Lexicon, maps: Mapping[Projection, Map], density: VocabularyDensity | None
) -> Packet:
    """Return points, classes of crowding and names as bytes.

    A head of JSON after its length (4 bytes, little-endian); then, deflated (RFC 1950), for each
    map its points as int16 (x, y, x, y, …), one byte a word for its class if the density is known,
    and the names as UTF-8, one a line. Coordinates are steps of the map, see `Map.parameters`.

    Args:
        words: the lexicon.
        maps: maps of its first words, the same for all; at least one.
        density: density of the vocabulary, as far as it is known.
    """
    # Maps may have been built of different numbers of words: names are sent for the shared ones.
    count = min(len(shown) for shown in maps.values())
    parts, parked = [], {}
    for projection, shown in maps.items():
        points, parked[str(projection)] = framed(shown)
        steps = np.rint(points[:count] / np.float64(shown.parameters["step"]))
        parts.append(steps.astype("<i2").tobytes())
    bounds = None
    if density is not None and len(words) >= CLASSES:
        classes, ends = density.crowding(CLASSES)
        parts.append(classes[:count].astype(np.uint8).tobytes())
        bounds = [float(f"{end:.3g}") for end in ends.tolist()]
    # A lone surrogate, which a file of vectors may hold, is not valid UTF-8.
    parts.append("\n".join(words.words[:count]).encode("utf-8", "replace"))
    body = zlib.compress(b"".join(parts), 9)
    name = sha256(repr((count, list(maps), bounds)).encode() + body).hexdigest()[:16]
    head = {
        "name": name,
        "words": count,
        "maps": [str(projection) for projection in maps],
        "parked": parked,
        "regions": {
            str(projection): shown.regions[shown.regions[:, 0] < count].tolist()
            for projection, shown in maps.items()
        },
        "bounds": bounds,
        "near": None if density is None else density.k,
        "colours": {"light": LIGHT, "dark": DARK},
    }
    text = json.dumps(head).encode()
    return Packet(name, len(text).to_bytes(4, "little") + text + body, count)


def show_vocabulary(bench: PairBench, shown: Map, outputs: Outputs | None, alt: str) -> None:
    """Draw the map.

    Args:
        bench: the two words that are marked on it.
        shown: the map to begin with: of the whole vocabulary.
        outputs: output distribution of both words on it.
        alt: text alternative.
    """
    words = bench.pair.lexicon
    maps = maps_of(words)
    density = density_of(words)
    key = (words.fingerprint, tuple(maps), density is None)
    packet = once("vocabulary", key, lambda: pack(words, maps, density), 2)
    data = {
        "packet": packet.name,
        "map": str(shown.projection),
        "alt": alt,
        "pair": [_centre(bench, place, packet.words) for place in (0, 1)],
        "mass": _mass(words, outputs),
        "look": _looked(words, maps, density, packet.words),
    }
    data |= for_component(MAP)
    with st.container(gap=None, key="vocabulary_map"):
        # Once a session: the browser keeps it, and asks again if it has lost it.
        if st.session_state.get(_SENT) != packet.name:
            _component("vocabulary_packet", "vocabulary_packet.js")(
                key="vocabulary_packet", data=packet.content
            )
            st.session_state[_SENT] = packet.name
        _component(
            "vocabulary",
            "../shared/spoken.js",
            "../shared/captioned.js",
            "../shared/svg_files.js",
            "vocabulary_names.js",
            "vocabulary_paint.js",
            "vocabulary.js",
            css="vocabulary.css",
        )(
            key=_key(),
            data=data,
            on_look_change=lambda: _look(words, packet.words),
            on_choose_change=lambda: _choose(words, packet.words),
            on_lack_change=_send_again,
        )


def _centre(bench: PairBench, place: int, mapped: int) -> dict[str, Any]:
    """Return the row of one of the two words and those of its nearest words, as far as mapped."""
    word, lexicon = bench.pair.words[place], bench.pair.lexicon
    near = bench.around(place).neighbours[:_NEAR].tolist()
    return {
        "row": word if word < mapped else None,
        "name": lexicon.words[word],
        "colour": COLOURS["ab"[place]],
        "mark": MARKERS["ab"[place]],
        "near": [row for row in near if row < mapped],
    }


def _mass(words: Lexicon, outputs: Outputs | None) -> list[list[list[float]]]:
    """Return rows and probabilities of the drawn outputs, for each of the two words."""
    mass: list[list[list[float]]] = [[], []]
    if outputs is not None:
        columns = (outputs.table[name].tolist() for name in ("word", "source", "mass"))
        for word, source, share in zip(*columns, strict=True):
            mass["ab".index(source)].append([words.index(word), float(f"{share:.3g}")])
    return mass


def _looked(
    words: Lexicon, maps: Mapping[Projection, Map], density: VocabularyDensity | None, mapped: int
) -> dict[str, Any] | None:
    """Return the word in focus on the map, and its true neighbours."""
    name = st.session_state.get(_LOOKED, st.query_params.get(_LINK))
    if name not in words or not (row := words.index(name)) < mapped:
        link.write(_LINK, "", "")
        return None
    link.write(_LINK, name, "")
    key = (language(), words.fingerprint, row, tuple(maps), density is None)
    return latest("vocabulary_told", key, lambda: word_facts(words, row, maps, density, mapped))


def word_facts(
    words: Lexicon,
    row: int,
    maps: Mapping[Projection, Map],
    density: VocabularyDensity | None,
    mapped: int,
) -> dict[str, Any]:
    """Return facts about a word on the map, and its nearest words.

    Args:
        words: the lexicon.
        row: row of the word.
        maps: maps of the vocabulary.
        density: density of the vocabulary, as far as it is known.
        mapped: number of words with a point.

    Returns:
        `row`, `facts` (sentences) and `near`: row (None without a point), name and distance of the
        nearest words by their vectors.
    """
    around = neighbourhood(words, row, min(_NEAR, len(words) - 1))
    k = len(around.neighbours)
    rank = {"row": row + 1, "count": len(words), "distance": around.nearest}
    first = say("Word {row:,} of {count:,} by frequency; nearest word at {distance:.3g}.", **rank)
    if density is not None:
        # Equally crowded words count half.
        less, same = (
            float(np.mean(compared(density.mean_distance, density.mean_distance[row])))
            for compared in (np.greater, np.equal)
        )
        first = say(
            "Word {row:,} of {count:,} by frequency; nearest word at {distance:.3g}, more crowded "
            "than {share:.0%} of all words.",
            **rank,
            share=less + same / 2,
        )
    kept = [
        f"{TITLES_OF[projection]} {round(float(shown.kept[row]) * shown.k)}"
        for projection, shown in maps.items()
    ]
    compared = next(iter(maps.values())).k
    return {
        "row": row,
        "facts": [
            first,
            say(
                "Of its {count} nearest words, the maps keep among the nearest: {kept}.",
                count=compared,
                kept=", ".join(kept),
            ),
        ],
        "near": [
            [index if index < mapped else None, words.words[index], float(f"{distance:.3g}")]
            for index, distance in zip(
                around.neighbours.tolist(), around.distances.tolist(), strict=True
            )
        ][:k],
    }


def _heard(name: str) -> Any:
    # A message may arrive just after its page was left, when the state is gone.
    return st.session_state.get(_key(), {}).get(name)


def _key() -> str:
    """Return the key of the component: its buttons are built once, in one language."""
    return _KEY if language() == ENGLISH else f"{_KEY}_{language()}"


def _word(words: Lexicon, mapped: int, value: Any) -> str | None:
    """Return the word of a row that the browser names; None if it is not a row of the map."""
    # The row comes from a browser, so it is checked like any input.
    return words.words[value] if isinstance(value, int) and 0 <= value < mapped else None


def _look(words: Lexicon, mapped: int) -> None:
    word = _word(words, mapped, _heard("look"))
    if word is not None:
        st.session_state[_LOOKED] = word


def _choose(words: Lexicon, mapped: int) -> None:
    wish = _heard("choose") or {}
    word = _word(words, mapped, wish.get("row"))
    # The slot comes from the browser as well.
    if word is not None and wish.get("slot") in (0, 1):
        choose(SLOTS[wish["slot"]], word)


def _send_again() -> None:
    """Send the packet again: the browser has lost it, or a run was cut short before it arrived."""
    if _heard("lack") is not None:
        st.session_state.pop(_SENT, None)
