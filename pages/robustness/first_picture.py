"""The first screen of the pictures: a digit, its certified radius, and the dial of the noise."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.learn.pixeldp.certified_prediction import ABSTAINED
from dpcore.learn.pixeldp.digits import digits
from dpcore.learn.pixeldp.noise_layer import Accounting
from dpcore.outwards import at_least
from pages.robustness.one_picture import show_picture
from pages.robustness.pictures_work import SCALES, Noise, drawn, is_drawn, of_picture
from pages.robustness.reproducing import computed_now
from pages.shared import link
from pages.shared.dial import Dial, Step, show_dial, turn_dial
from pages.shared.language import numeral, say

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator

    from pages.robustness.pictures_work import Bounded

_SCALE, _SEEN = "digits_scale", "digits_scale_linked"
_UNKNOWN = "…"


def present_scale() -> float:
    """The scale of the noise: as a new link says, as the dial was left, or the usual one."""
    linked = st.query_params.get(_SCALE)
    if linked is not None and linked != st.session_state.get(_SEEN):
        st.session_state[_SEEN] = linked
        turn_dial(_SCALE)
        named = {f"{scale:g}": scale for scale in SCALES}
        _set(named.get(linked, Noise.scale))
    scale = float(st.session_state.get(_SCALE, Noise.scale))
    _set(scale)
    return scale


def _set(scale: float) -> None:
    st.session_state[_SCALE] = scale
    link.write(_SCALE, f"{scale:g}", f"{Noise.scale:g}")
    st.session_state[_SEEN] = st.query_params.get(_SCALE)


def scale_dial(noise: Noise, how: Bounded, picture: int) -> None:
    """Draw the dial of the noise; a step is read off where its classifier is trained already.

    Args:
        noise: its scale is where the dial stands.
        how: votes are bounded.
        picture: whose certified radius is read off.
    """
    steps = tuple(_step(replace(noise, scale=scale), how, picture) for scale in SCALES)
    dial = Dial(
        _SCALE, say("Scale of the noise"), steps, (say("← less noise"), say("more noise →"))
    )
    show_dial(dial, SCALES.index(noise.scale), lambda step: _set(SCALES[step]))


def _step(noise: Noise, how: Bounded, picture: int) -> Step:
    scale = numeral(f"{noise.scale:g}")
    right = say("Noise of scale"), scale
    if not is_drawn(noise):
        return Step(
            (say("Certified up to"), _UNKNOWN), right, say("noise of scale {scale}", scale=scale)
        )
    radius = radius_text(noise, how, picture)
    return Step(
        (say("Certified up to"), radius),
        right,
        say("certified up to {radius}; noise of scale {scale}", radius=radius, scale=scale),
    )


def radius_text(noise: Noise, how: Bounded, picture: int) -> str:
    """The certified radius of a picture by PixelDP's condition, with its distance."""
    size, _, place = of_picture(noise, how, picture)
    if place == ABSTAINED:
        return say("nothing")
    return (
        say("any size") if math.isinf(size) else numeral(f"{at_least(size, 3)} {distance(noise)}")
    )


def distance(noise: Noise) -> str:
    """The distance that attacks are measured in."""
    return "L1" if noise.accounting is Accounting.LAPLACE else "L2"


def first_picture(
    noise: Noise, how: Bounded, picture: int, places: tuple[DeltaGenerator, DeltaGenerator]
) -> None:
    """Draw the picture without and with noise, and its certified radius as one number.

    Args:
        noise: that is looked at; drawn already.
        how: votes are bounded.
        picture: of the test pictures.
        places: of the picture, and of what is said of it.
    """
    left, right = places
    label = str(int(digits().test_labels[picture]))
    with left, st.container(key="robust_picture"):
        show_picture(noise, picture, label)
    with right:
        kind = say("sum of changes") if distance(noise) == "L1" else say("distance")
        st.metric(
            say(
                "Certified radius ({distance} {kind}, in pixel units)",
                distance=distance(noise),
                kind=kind,
            ),
            radius_text(noise, how, picture).removesuffix(f" {distance(noise)}"),
            help=say("By PixelDP's condition. A pixel goes from 0 (white) to 1 (black)."),
        )
        st.text(_finding(noise, how, picture, label))
        computed_now()


def _finding(noise: Noise, how: Bounded, picture: int, label: str) -> str:
    """What the number says, in pixels; a wrong or withheld answer is said to be one."""
    size, _, place = of_picture(noise, how, picture)
    if place == ABSTAINED:
        return say(
            "The votes on this {label} are too close: it abstains, and nothing is certified.",
            label=label,
        )
    name = str(int(drawn(noise).model.classes[place]))
    read = (
        say("Read as {name}, rightly.", name=name)
        if name == label
        else say("Read as {name}, but it is a {label}.", name=name, label=label)
    )
    if math.isinf(size):
        return say("{read} No change of the picture puts another class ahead.", read=read)
    far = (
        say(
            "one pixel may go {share} % of the way from white to black",
            share=math.floor(100 * size),
        )
        if size < 1
        else say(
            "up to {count} of its pixels may turn from white to black", count=_pixels(noise, size)
        )
    )
    return say(
        "{read} No smaller change puts another class ahead in expectation: {far}.",
        read=read,
        far=far,
    )


def _pixels(noise: Noise, size: float) -> int:
    """How many pixels may change by 1 within the size, in the norm of the noise."""
    return math.floor(size if noise.accounting is Accounting.LAPLACE else size**2)
