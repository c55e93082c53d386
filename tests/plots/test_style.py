"""The styles: distinct, legible on both themes, one for every mechanism."""

import itertools
import re
import tomllib
from typing import Any

from dpcore.guarantee import EpsilonMeaning
from dpcore.mechanisms.registry import MECHANISMS
from dpcore.plots.attack import icons as attack_icons
from dpcore.plots.style import _STYLES, GLYPHS, INK, SCALES, style_of, tint
from tests.needs import ROOT


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(colour: str, ground: str) -> float:
    high, low = sorted((luminance(colour), luminance(ground)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_every_mechanism_has_a_style_of_its_own() -> None:
    """One that the table does not hold gets one by its name."""
    styles = [style_of(key) for key in MECHANISMS]
    assert len(set(styles)) == len(styles)
    assert {style.marker for style in styles} <= set(GLYPHS)


def test_no_two_mechanisms_look_alike() -> None:
    for style, other in itertools.combinations(_STYLES.values(), 2):
        assert style != other
        same = (style.colour == other.colour) + (style.dash == other.dash)
        assert style.marker != other.marker or same == 0


def test_versions_and_short_names_share_a_style() -> None:
    assert style_of("tem.v1") == style_of("tem") == style_of("tem.v12")
    assert style_of("a-new-one.v1") == style_of("a-new-one.v2")
    assert style_of("a-new-one") not in _STYLES.values()


def test_colours_stand_out_on_both_themes() -> None:
    styles: list[Any] = [*_STYLES.values(), *SCALES.values()]
    for style in styles:
        for ground in grounds():
            assert contrast(style.colour, ground) >= 3.0, (style, ground)


def grounds() -> list[str]:
    theme = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]
    return [theme[name]["backgroundColor"] for name in ("light", "dark")]


def test_every_colour_that_a_figure_names_stands_out_on_both_themes() -> None:
    """Only grounds, pictures, and what stands on a tile of its own may be lighter or darker."""
    on_its_own_ground = {
        "attack/icons.py": {"#F0E442"},  # tiles with a letter in ink
        "robust/picture.py": {"#FFFFFF", "#101418"},  # the greys of a picture
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


def test_every_meaning_has_a_scale_and_every_marker_a_glyph() -> None:
    assert set(SCALES) == set(EpsilonMeaning)
    assert {style.marker for style in _STYLES.values()} <= set(GLYPHS)
    assert len(set(GLYPHS.values())) == len(GLYPHS)
