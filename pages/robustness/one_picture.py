"""One picture: painted, its votes and bounds, and its certificate as the noise grows."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.learn.pixeldp.certified import ABSTAINED, Bound, score_bounds, score_values
from dpcore.learn.pixeldp.digits import WIDTH, Place, digits, look_at, picture_of, picture_text
from dpcore.learn.pixeldp.noise_layer import Accounting
from dpcore.noise.streams import generator
from dpcore.outwards import at_least, at_most
from dpcore.plots.robust.shares import (
    COLUMNS,
    VOTES,
    lines_figure,
    votes_caption,
    votes_figure,
)
from dpcore.plots.style import Caption
from pages.robustness.pictures_work import (
    PICTURE,
    PROVED,
    SCALES,
    TIGHT,
    Noise,
    ScoreBound,
    is_drawn,
    noisy_scores,
    of_picture,
    scores_of,
)
from pages.shared import link
from pages.shared.figure import show_figure, svg_board
from pages.shared.fragments import run_parts
from pages.shared.language import for_component, later, numeral, say
from pages.shared.messages import note, refuse
from pages.shared.progress import timed
from pages.shared.taking import drawer_is_open

_TITLES = {
    Place.PICTURE: later("with noise"),
    Place.FIRST_LAYER: later("the 32 units, with noise"),
    Place.AUTO_ENCODER: later("decoded, with noise"),
}
_OTHER = {Bound.CLOPPER_PEARSON: Bound.HOEFFDING, Bound.HOEFFDING: Bound.CLOPPER_PEARSON}
_NAMES = {Bound.CLOPPER_PEARSON: later("Clopper–Pearson"), Bound.HOEFFDING: later("Hoeffding")}


def choose_picture() -> int:
    """Draw the choice of a test picture."""
    return st.slider(
        say("Picture"),
        0,
        len(digits().test) - 1,
        PICTURE,
        key="digits_picture",
        bind="query-params",
        help=say(
            "One of the test pictures. While the slider has the focus, arrow keys go to the next."
        ),
    )


def one_picture(noise: Noise, how: ScoreBound, picture: int) -> None:
    """Draw the votes on a picture, its certificate, and the certificate at every noise scale."""
    label = str(int(digits().test_labels[picture]))
    _votes(noise, how, picture, label)
    st.text(_certificate(noise, how, picture, label))
    _growing(noise, how, picture)


def of_size(noise: Noise, size: float) -> str:
    """Return the certified size of an attack with its norm: "0.3 L2"."""
    if math.isinf(size):
        return say("any size")
    # A certificate, so it is rounded down.
    return numeral(f"{at_least(size, 3)} {norm(noise)}")


def norm(noise: Noise) -> str:
    """Return the norm in which attacks are measured."""
    return "L1" if noise.accounting is Accounting.LAPLACE else "L2"


def in_pixels(noise: Noise, size: float) -> str:
    """Return a finite size in words, rounded down: "one pixel by 30 %"."""
    if size < 1:
        return say("one pixel by {share} %", share=numeral(at_least(size, 2, times=100)))
    # k pixels that change by 1 have length k in L1 and √k in L2.
    count = math.floor(size if noise.accounting is Accounting.LAPLACE else size**2)
    return (
        say("one pixel from white to black")
        if count == 1
        else say("{count} pixels from white to black", count=count)
    )


# The picture, whose pixels can be painted: the votes on it, and its change beside the certified
# radius.


_PAINTED, _OF, BOARD, TAKING = "painted", "painted_picture", "robust_board", "robust_taking"
_SENTENCES = {
    "paint": later("paint here"),
    "votes": later("votes"),
    "grid": later("Pixels to paint"),
    "pixel": later("line {line}, column {column}: {now} % black"),
    "changed pixel": later("line {line}, column {column}: {now} % black, was {before} %"),
    "hint": later(
        "Each touch moves a pixel by a quarter; at its end it returns. By keyboard: arrow keys, "
        "Space; Backspace restores."
    ),
    "reset": later("Restore the digit"),
}


def painted(picture: int) -> str:
    """Return the text of the painted picture; it is part of the link, and ends with its picture."""
    usual = picture_text(digits().test[picture])
    if st.session_state.get(_OF, picture) != picture:
        link.drop(_PAINTED)
    st.session_state[_OF] = picture
    text = st.query_params.get(_PAINTED, usual)
    try:
        picture_of(text)
    except DpcoreError:  # nonsense in a link is the picture itself
        text = usual
    link.write(_PAINTED, text, usual)
    return text


def paint_picture(noise: Noise, how: ScoreBound, picture: int) -> None:
    """Draw the board of a picture; painting runs only this and the drawer.

    Args:
        noise: the noise layer; its scores are drawn already.
        how: bound on the votes.
        picture: number of the test picture.
    """

    def hear() -> None:
        heard = st.session_state.get("digits_board", {}).get("painted")
        # A stroke may arrive after the picture has changed.
        if heard is None or heard["picture"] != picture:
            return
        # The browser sends it, so it is checked like a link.
        text, usual = str(heard["levels"])[: WIDTH * WIDTH], picture_text(digits().test[picture])
        link.put({_PAINTED: [] if text == usual else [text]})
        if drawer_is_open():
            run_parts(BOARD, TAKING)

    svg_board("robustness", Path(__file__).parent)(
        key="digits_board", data=_board(noise, how, picture), on_painted_change=hear
    )


def _board(noise: Noise, how: ScoreBound, picture: int) -> dict[str, Any]:
    original, text = digits().test[picture], painted(picture)
    now, model = picture_of(text), noisy_scores(noise).model
    label = str(int(digits().test_labels[picture]))
    scores = scores_of(noise, picture, text)
    values = score_values(scores, how.bound)[0]
    first = int(values.argmax())
    winner, won = str(int(model.classes[first])), int(scores.votes[0, first])
    radius, _, place = of_picture(noise, how, picture)
    certified_as = str(int(model.classes[place])) if place != ABSTAINED and radius else None
    size = model.layer.size(now - original)
    # Long enough for the radius and the change, and never shorter than one pixel.
    long = max(1.0, 1.15 * size, 0.0 if math.isinf(radius) else 1.5 * radius)
    seen = look_at(model.layer, noise.place, now, generator(noise.seed, "look", picture))
    # Pixels end at 1; units of the first layer may be larger.
    top = max(1.0, float(seen.clean.max()))
    finding = _finding(noise, (label, certified_as), (winner, won), (size, radius))
    score = (
        say("share of {draws} draws won", draws=scores.draws)
        if how.bound is Bound.CLOPPER_PEARSON
        else say("mean probability of {draws} draws", draws=scores.draws)
    )
    return {
        "name": "digits_picture",
        "picture": picture,
        "original": picture_text(original),
        "levels": text,
        "noisy": [round(float(value) / top, 3) for value in seen.noisy.ravel()],
        "title": say(_TITLES[noise.place]),
        "score": score,
        "votes": [
            [str(int(name)), round(float(share), 4), numeral(f"{100 * share:.3g}") + "\u00a0%"]
            for name, share in zip(model.classes, values, strict=True)
        ],
        "label": label,
        "winner": winner,
        "radius": min(1.0, radius / long),
        "size": size / long,
        "radius text": radius_text(noise, how, picture),
        "size text": say(
            "your change: {size} {norm}", size=numeral(at_most(size, 3)), norm=norm(noise)
        ),
        "finding": finding,
        "alt": say("A {label} of 8 × 8 pixels. {finding}", label=label, finding=finding),
    } | for_component(_SENTENCES)


def radius_text(noise: Noise, how: ScoreBound, picture: int) -> str:
    """Return the certified radius of a picture by PixelDP's condition, in numbers and in words."""
    size, _, place = of_picture(noise, how, picture)
    if place == ABSTAINED:
        return say("nothing is certified")
    if math.isinf(size):
        return say("certified: any change")
    return say(
        "certified: up to {size}, as {pixels}",
        size=of_size(noise, size),
        pixels=in_pixels(noise, size),
    )


def _finding(
    noise: Noise,
    names: tuple[str, str | None],
    winner: tuple[str, int],
    sizes: tuple[float, float],
) -> str:
    """Say who wins, and where the change stands to the certificate.

    Args:
        noise: the noise layer.
        names: the true class, and the certified one; None where nothing is certified.
        winner: the class that leads now, and the number of draws it won.
        sizes: size of the change, and the certified radius.
    """
    (label, certified_as), (name, won), (size, radius) = names, winner, sizes
    won_of = say("in {won} of {draws} draws", won=won, draws=noise.draws)
    if certified_as is None:
        return say(
            "The votes on this {label} were too close: nothing is certified. {name} wins {won}.",
            label=label,
            name=name,
            won=won_of,
        )
    if not size:
        read = (
            say("Read as {name}, correctly, {won}.", name=name, won=won_of)
            if name == label
            else say(
                "Read as {name}, though it is a {label}, {won}.", name=name, label=label, won=won_of
            )
        )
        return say("{read} Paint pixels until another digit wins.", read=read)
    if size <= radius:
        if name == certified_as:
            return say(
                "Within the certified radius no change puts another digit ahead in expectation. "
                "Still {name}, {won}.",
                name=name,
                won=won_of,
            )
        # The certificate is about expectations; these draws are a sample.
        return say(
            "Within the certified radius: {name} leads {won}, by the chance of these draws.",
            name=name,
            won=won_of,
        )
    if name == certified_as:
        return say(
            "You have left the certified radius: nothing is proved here. Still {name}, {won}.",
            name=name,
            won=won_of,
        )
    return say(
        "Flipped: {name} wins {won}, after a change {times} times the certified radius.",
        name=name,
        won=won_of,
        times=numeral(f"{size / radius:.3g}"),
    )


def _votes(noise: Noise, how: ScoreBound, picture: int, label: str) -> None:
    sampled = noisy_scores(noise)
    scores = sampled.scores.part([picture])
    bounds = score_bounds(scores, how.error, how.bound)
    counted = how.bound is Bound.CLOPPER_PEARSON
    values = score_values(scores, how.bound)[0]
    table = pd.DataFrame(
        {
            "class": [str(name) for name in sampled.model.classes],
            "score": values,
            "low": bounds.low[0],
            "high": bounds.high[0],
        }
    )[list(VOTES)]
    title = say("share of draws won") if counted else say("mean probability")
    show_figure(
        votes_figure(table, label, title),
        votes_caption(table, label, how.error),
        table,
        "digits_votes",
    )


def _certificate(noise: Noise, how: ScoreBound, picture: int, label: str) -> str:
    """Draw the certificate of the picture under the chosen bound; compare the other bound."""
    lines = []
    # The other bound beside the chosen one: taking the better of two has twice the error.
    for bound in (how.bound, _OTHER[how.bound]):
        size, tight, place = of_picture(noise, replace(how, bound=bound), picture)
        if place == ABSTAINED:
            lines.append(say("{bound}: it abstains, so nothing is certified.", bound=_NAMES[bound]))
            continue
        name = str(int(noisy_scores(noise).model.classes[place]))
        right = say("right") if name == label else say("wrong, it is a {label}", label=label)
        lines.append(
            say(
                "{bound}: it is read as {name} ({right}), and no attack of size up to {size} "
                "puts another class ahead in expectation (PixelDP's condition); up to {tight} "
                "by the tight one.",
                bound=_NAMES[bound],
                name=name,
                right=right,
                size=of_size(noise, size),
                tight=of_size(noise, tight),
            )
        )
    lines.append(
        say(
            "Each bound, taken alone, is wrong with probability at most {error:g}.", error=how.error
        )
    )
    return "\n".join(lines)


def _growing(noise: Noise, how: ScoreBound, picture: int) -> None:
    """Draw the size of the certificate at every scale; train a classifier for each, once."""
    rows = []
    # Asked before the loop, which draws them.
    missing = not all(is_drawn(replace(noise, scale=scale)) for scale in SCALES)
    try:
        for scale in timed(say("Training a classifier for each scale"), SCALES):
            size, tight, place = of_picture(replace(noise, scale=scale), how, picture)
            rows += [(PROVED, scale, size), (TIGHT, scale, tight)]
            if place == ABSTAINED:
                # An abstention has no size; the curve shows that nothing is certified.
                rows[-2:] = [(PROVED, scale, 0.0), (TIGHT, scale, 0.0)]
    except DpcoreError as error:
        refuse(say("The certificate cannot be computed."), error)
        return
    if missing:
        st.rerun()  # the dial now has a reading for every step
    table = pd.DataFrame(rows, columns=["curve", "x", "mean"]).reindex(columns=list(COLUMNS))
    # Of the proved curve: the tight one is what the bounds would allow, not what the paper proves.
    best = table[table["curve"] == PROVED].sort_values("mean").iloc[-1]
    abstaining = table[(table["curve"] == PROVED) & (table["mean"] == 0)]["x"].tolist()
    finding = (
        say(
            "The largest certificate, L = {size:.3g}, is at scale {scale:g}.",
            size=best["mean"],
            scale=best["x"],
        )
        if best["mean"] > 0
        else say("Nothing is certified at any scale.")
    )
    listed = ", ".join(numeral(f"{scale:g}") for scale in abstaining) or say("no scale")
    caption = Caption(finding, say("It abstains at: {listed}.", listed=listed))
    st.header(say("As the noise grows"), anchor=False)
    show_figure(
        lines_figure(
            table, "scale of the noise", "certified size L of this picture", logarithm=True,
            share=False,
        ),
        caption,
        table,
        "digits_growing",
    )  # fmt: skip
    note(
        say(
            "More noise hides larger attacks, until the votes fall apart: a certificate first "
            "grows with the scale and then ends. One classifier is trained for each scale."
        )
    )
