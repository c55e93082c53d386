"""The styles: no two look alike to anyone, legible on both themes, one for every mechanism."""

import itertools
import re
import subprocess
import sys
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from dpcore.guarantee import EpsilonMeaning
from dpcore.mechanisms.registry import MECHANISMS
from dpcore.mechanisms.response import NeighbourResponse
from dpcore.papers.ours import equal_leakage, tradeoff
from dpcore.plots.attack import icons as attack_icons
from dpcore.plots.maps.panes import DARK, LIGHT
from dpcore.plots.style import (
    _STYLES,
    DASHES,
    GLYPHS,
    GREY,
    INK,
    SCALES,
    Style,
    curve_style,
    style_of,
    tint,
)
from pages.shared.session import CURVE_MECHANISMS, DEFAULT_MECHANISMS
from tests.colours import VISIONS, ciede2000, lab, linear
from tests.needs import ROOT

# CIEDE2000: two patches side by side can be distinguished from about 2 on, thin lines apart later.
OWN = 9.0
"""Of any two colours, to those who see all colours."""
SHARED = 12.0
"""To everybody, where two mechanisms share a dash or have markers that are alike."""
TOGETHER = 15.0
"""To everybody, of those that a page shows together by default."""
MEMBERS = 6.0
"""To everybody, of a family whose members share a hue."""
STEP = 5.0
"""In L*, which is all that a print in grey keeps, where dash or marker do not tell apart."""
DASH_RATIO = 1.6

K_FAMILY = tuple(f"neighbour-response, k = {k}" for k in (3, 10, 30, 100))
FAMILIES = (
    ("tem", "tem-calibrated"),
    ("truncated-gumbel", "truncated-gumbel-repaired"),
    ("laplace", "l2-laplace"),
    ("gaussian", "gaussian-classical"),
    ("trlaplace", "trlaplace-corrected"),
    ("adept", "adept-l1"),
    ("santext", "santext-plus"),
    K_FAMILY,
)
# At the size of a mark these are one shape.
SHAPES = ({"circle", "pentagon", "hexagon"}, {"star", "hexagram"}, {"diamond", "diamond-tall"})
# Of the characters that look like marks those that phones may draw as coloured pictures.
EMOJI = set("▪▫▶◀◻◼◽◾☑♠♣♥♦✔✖✝✡✨✳✴❇❌❎➕➖➗⬛⬜⭐⭕⚪⚫")
SYMBOLS = ((0x25A0, 0x25FF), (0x2605, 0x2606), (0x2701, 0x27BF))
ELSEWHERE = {"⬟", "⬢", "⧫", "⋈"}  # of symbols and mathematics: no other block has the shape


def distances(styles: Mapping[str, Style]) -> dict[str, dict[tuple[str, str], float]]:
    """CIEDE2000 of every two, to each kind of eyes."""
    names, colours = list(styles), [style.colour for style in styles.values()]
    seen = {vision: lab(colours, vision) for vision in VISIONS}
    tables = {vision: ciede2000(of[:, None], of[None]) for vision, of in seen.items()}
    return {
        vision: {
            (names[i], names[j]): float(table[i, j])
            for i, j in itertools.combinations(range(len(names)), 2)
        }
        for vision, table in tables.items()
    }


def alike(marker: str, other: str) -> bool:
    return marker == other or any({marker, other} <= shape for shape in SHAPES)


def confused(styles: Mapping[str, Style]) -> set[tuple[str, str]]:
    """Every two that someone could take for each other."""
    by_vision = distances(styles)
    light = dict(zip(styles, lab([s.colour for s in styles.values()])[:, 0], strict=True))
    pairs = set()
    for pair, normal in by_vision["normal"].items():
        first, second = (styles[name] for name in pair)
        worst = min(table[pair] for table in by_vision.values())
        shared = first.dash == second.dash or alike(first.marker, second.marker)
        if set(pair) <= set(K_FAMILY):
            near = worst < MEMBERS or shared
        else:
            near = normal < OWN or (shared and worst < SHARED)
        if near or (shared and abs(light[pair[0]] - light[pair[1]]) < STEP):
            pairs.add(pair)
    return pairs


def own_styles() -> dict[str, Style]:
    """The table, with one name for what is one curve."""
    return {name: style for name, style in _STYLES.items() if name != "neighbour-response"}


def free_styles(wanted: int = 3) -> list[Style]:
    """Some styles, each of another colour, that nobody takes for one of the table."""
    taken = own_styles()
    tables = {eyes: lab([style.colour for style in taken.values()], eyes) for eyes in VISIONS}
    grey, found = lab([GREY]), []
    for light in np.random.default_rng(0).integers(256, size=(20_000, 3)).tolist():
        colour = "#{:02X}{:02X}{:02X}".format(*light)
        if any(contrast(colour, ground) < 3.0 for ground in grounds()) or any(
            contrast(colour, *seen) < 2.0 for seen in itertools.product(grounds(), VISIONS)
        ):
            continue
        away = {eyes: ciede2000(lab([colour], eyes), table) for eyes, table in tables.items()}
        if min(away["normal"].min(), ciede2000(lab([colour]), grey).min()) < OWN:
            continue
        darker = np.abs(lab([colour])[0, 0] - tables["normal"][:, 0])
        apart = (np.min([*away.values()], axis=0) >= SHARED) & (darker >= STEP)
        near = [style for style, far in zip(taken.values(), apart, strict=True) if not far]
        dashes = [dash for dash in DASHES if all(dash != style.dash for style in near)]
        marks = [mark for mark in GLYPHS if not any(alike(mark, style.marker) for style in near)]
        if dashes and marks:
            found.append(Style(colour, dashes[0], marks[0]))
        if len(found) == wanted:
            break
    return found


def advice() -> str:
    """Return the next step for a new mechanism, with styles to choose from."""
    free = "\n  ".join(map(repr, free_styles()))
    return f"give the new mechanism a style in _STYLES, dpcore/plots/style.py; free are\n  {free}"


def contrast(colour: str, ground: str, vision: str = "normal") -> float:
    """WCAG 2.2, of the light that such eyes see."""
    seen = np.clip(linear([colour, ground]) @ VISIONS[vision].T, 0.0, 1.0)
    lights = seen @ np.array([0.2126, 0.7152, 0.0722])
    return float((lights.max() + 0.05) / (lights.min() + 0.05))


def grounds() -> list[str]:
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]
    return [theme[name]["backgroundColor"] for name in ("light", "dark")]


def test_every_mechanism_has_a_line_of_the_table() -> None:
    named = {mechanism.short for mechanism in MECHANISMS.values()}
    assert not named - set(_STYLES), advice()
    assert set(_STYLES) == named | set(K_FAMILY)
    styles = [style_of(key) for key in MECHANISMS]
    assert len(set(styles)) == len(styles)


def test_no_one_takes_two_mechanisms_for_each_other() -> None:
    pairs = confused(own_styles())
    assert not pairs, f"{sorted(pairs)} look alike: {advice()}"


def test_the_styles_that_a_failure_proposes_are_free() -> None:
    for style in free_styles():
        pairs = confused(own_styles() | {"grey": Style(GREY, "", ""), "new": style})
        assert not [pair for pair in pairs if "new" in pair]


@pytest.mark.parametrize(
    ("change", "other"),
    [
        # The same colour, with a dash and a marker of its own.
        ({"colour": style_of("madlib").colour}, "madlib"),
        # Olive against brown, with one dash: the same to those who do not see red or green.
        ({"colour": "#6B7A1C", "dash": style_of("tem").dash}, "tem"),
        # Green against red, equally dark, with one dash: the same in print.
        ({"dash": style_of("truncated-gumbel-repaired").dash}, "truncated-gumbel-repaired"),
        # Green against blue, equally dark, with marks of one shape.
        ({"marker": "pentagon"}, "gaussian"),
    ],
)
def test_canary_two_alike_are_found(change: dict[str, str], other: str) -> None:
    styles = own_styles()
    changed = styles | {"vickrey": replace(styles["vickrey"], **change)}
    pairs = {frozenset(pair) for pair in confused(changed)}
    assert frozenset({"vickrey", other}) in pairs
    assert all("vickrey" in pair for pair in pairs - {*map(frozenset, confused(styles))})


def test_canary_dashes_and_markers_are_needed() -> None:
    """Colours alone are not enough for everybody."""
    styles = own_styles()
    assert confused({name: replace(style, dash="solid") for name, style in styles.items()})
    assert confused({name: replace(style, marker="circle") for name, style in styles.items()})


@pytest.mark.parametrize("chosen", [DEFAULT_MECHANISMS, CURVE_MECHANISMS])
def test_what_is_shown_together_by_default_differs_in_colour(chosen: tuple[str, ...]) -> None:
    for vision, table in distances({name: style_of(name) for name in chosen}).items():
        for pair, distance in table.items():
            assert distance >= TOGETHER, (vision, pair)


@pytest.mark.parametrize("family", FAMILIES)
def test_lightness_tells_the_members_of_a_family_apart(family: tuple[str, ...]) -> None:
    styles = [style_of(name) for name in family]
    assert len({style.dash for style in styles}) == len({s.marker for s in styles}) == len(styles)
    colours = [style.colour for style in styles]
    _, a, b = lab(colours).T
    hues = np.exp(1j * np.arctan2(b, a))
    assert max(np.abs(np.angle(hues / hues[0], deg=True))) < 15
    order = np.argsort(lab(colours)[:, 0])
    for vision in VISIONS:
        seen = lab(colours, vision)[order]
        assert ciede2000(seen[:-1], seen[1:]).min() >= MEMBERS, vision
        assert np.diff(seen[:, 0]).min() >= 4.0, vision


def test_no_mechanism_is_nearly_grey() -> None:
    """Lines that stand for no mechanism are."""
    with_grey = {"grey": Style(GREY, "solid", "circle"), **own_styles()}
    table = distances(with_grey)["normal"]
    assert min(distance for pair, distance in table.items() if "grey" in pair) >= OWN


def lengths(dash: str) -> list[float]:
    """Strokes and gaps in pixels on a line of 2; of a solid line one endless stroke."""
    named: dict[str, list[float]] = {
        "solid": [1e3, 1e-3],
        "dot": [3, 3],
        "dash": [9, 9],
        "longdash": [15, 15],
        "dashdot": [9, 3, 3, 3],
        "longdashdot": [15, 6, 3, 6],
    }
    return named[dash] if dash in named else [float(part[:-2]) for part in dash.split(",")]


def test_any_two_dashes_read_as_different() -> None:
    """In the number of strokes, the longest or the shortest of them, or the widest gap."""

    def features(dash: str) -> tuple[float, ...]:
        parts = lengths(dash)
        strokes, gaps = parts[::2], parts[1::2]
        return len(strokes), max(strokes), min(strokes), max(gaps)

    for dash, other in itertools.combinations(DASHES, 2):
        ratios = np.array(features(dash)) / np.array(features(other))
        assert max(ratios.max(), 1 / ratios.min()) >= DASH_RATIO, (dash, other)
    for dash in DASHES:
        assert min(lengths(dash)[::2]) >= 2, dash  # a stroke is at least as long as it is wide
    assert {style.dash for style in _STYLES.values()} <= set(DASHES)


def test_plotly_knows_every_dash_and_marker() -> None:
    for style in _STYLES.values():
        for marker in (style.marker, f"{style.marker}-open"):
            go.Scatter(line={"dash": style.dash}, marker={"symbol": marker})


def test_every_marker_has_a_character_that_common_fonts_hold() -> None:
    assert len(set(GLYPHS.values())) == len(GLYPHS)
    assert {style.marker for style in _STYLES.values()} <= set(GLYPHS)
    for glyph in GLYPHS.values():
        assert unicodedata.category(glyph) in {"So", "Sm"}
        assert glyph not in EMOJI
        usual = any(low <= ord(glyph) <= high for low, high in SYMBOLS)
        assert usual or glyph in ELSEWHERE, glyph


def test_versions_and_short_names_share_a_style() -> None:
    assert style_of("tem.v1") == style_of("tem") == style_of("tem.v12")
    assert style_of("neighbour-response.v1, k = 3") == style_of("neighbour-response, k = 3")
    assert style_of("a-new-one.v1") == style_of("a-new-one.v2")


def test_the_curve_of_a_setting_has_its_own_style() -> None:
    """And the default setting that of the mechanism, for it is the same curve."""
    assert NeighbourResponse.parameters()["k"]["default"] == 10
    assert style_of("neighbour-response") == style_of("neighbour-response, k = 10")
    own = style_of(K_FAMILY[0])
    assert curve_style(K_FAMILY[0], "neighbour-response.v1") == own
    assert curve_style("proved", "tem") == style_of("tem")  # a label that names no mechanism
    assert curve_style("", "tem") == style_of("tem")
    for study in (tradeoff.STUDY, equal_leakage.TEACHING):
        labels = [arm.name for arm in study.plan.arms if arm.mechanism]
        styles = {curve_style(arm.name, arm.mechanism) for arm in study.plan.arms if arm.mechanism}
        assert len(styles) == len(labels)
        assert styles <= set(_STYLES.values())


def test_other_settings_of_a_mechanism_keep_its_colour() -> None:
    labels = [f"gaussian, δ = {delta}" for delta in (0.122, 0.842, 0.986)]
    styles = [style_of(label) for label in ("gaussian", *labels)]
    assert len({style.colour for style in styles}) == 1
    for style, other in itertools.combinations(styles, 2):
        assert style.dash != other.dash
        assert style.marker != other.marker


def test_an_unknown_name_has_a_style_of_its_own_and_always_the_same() -> None:
    names = [f"{first}-{second}" for first in "new other my".split() for second in "abcdefgh"]
    styles = [style_of(name) for name in names]
    assert not set(styles) & set(_STYLES.values())
    assert len(set(styles)) == len(styles)
    for style in styles:
        assert style.dash in DASHES
        assert style.marker in GLYPHS
        assert all(contrast(style.colour, ground) >= 3.0 for ground in grounds())
    code = "from dpcore.plots.style import style_of; print(style_of('new-a'))"
    other = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert other.stdout.strip() == str(styles[0])


def test_colours_stand_out_on_both_themes() -> None:
    styles: list[Any] = [*_STYLES.values(), *SCALES.values()]
    for style in styles:
        for ground in grounds():
            assert contrast(style.colour, ground) >= 3.0, (style, ground)
            # Red is dark to those who do not see it, and no red stands out on black to them.
            assert min(contrast(style.colour, ground, eyes) for eyes in VISIONS) >= 2.0, style


def test_every_colour_that_a_figure_names_stands_out_on_both_themes() -> None:
    """Only grounds, pictures, and marks on a tile of their own may be lighter or darker."""
    on_its_own_ground = {
        "attack/icons.py": {"#F0E442"},  # tiles with a letter in ink
        "robust/picture.py": {"#FFFFFF", "#101418"},  # the greys of a picture
        "maps/panes.py": {*LIGHT, *DARK},  # a scale for each theme: tests/plots/test_crowding.py
        "style.py": {INK},  # on a light tint
    }
    folder = ROOT / "dpcore" / "plots"
    for file in folder.rglob("*.py"):
        name = file.relative_to(folder).as_posix()
        named = set(re.findall(r"#[0-9A-Fa-f]{6}", file.read_text(encoding="utf-8")))
        for colour in named - on_its_own_ground.get(name, set()):
            for ground in grounds():
                assert contrast(colour, ground) >= 3.0, (name, colour, ground)


def test_letters_on_tiles_and_bars_are_legible() -> None:
    for colour in attack_icons._TINTS:
        assert contrast(INK, tint(colour, attack_icons._SHARE)) >= 4.5
    for style in _STYLES.values():
        assert contrast(INK, tint(style.colour, 0.5)) >= 4.5


def test_every_meaning_has_a_scale() -> None:
    assert set(SCALES) == set(EpsilonMeaning)
