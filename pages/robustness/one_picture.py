"""One picture: clean and noisy, its votes and bounds, and its certificate as the noise grows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st

from dpcore.errors import DpcoreError
from dpcore.learn.pixeldp.certified import ABSTAINED, Bound, score_bounds
from dpcore.learn.pixeldp.digits import Place, digits, look_at
from dpcore.noise.streams import generator
from dpcore.outwards import at_least
from dpcore.plots.robust.picture import COLUMNS as VOTES
from dpcore.plots.robust.picture import picture_figure, votes_caption, votes_figure
from dpcore.plots.robust.shares import COLUMNS, lines_figure
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
)
from pages.shared.figure import show_figure
from pages.shared.language import language, later, numeral, say
from pages.shared.messages import note, refuse
from pages.shared.once import once
from pages.shared.progress import timed

if TYPE_CHECKING:
    import plotly.graph_objects as go

_TITLES = {
    Place.PICTURE: (later("as it is"), later("with noise")),
    Place.FIRST_LAYER: (later("the 32 units"), later("with noise")),
    Place.AUTO_ENCODER: (later("decoded"), later("decoded, with noise")),
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
        width=165,
        help=say(
            "One of the test pictures; with the slider chosen, the arrow keys go from one to "
            "the next."
        ),
    )


def one_picture(noise: Noise, how: ScoreBound, picture: int) -> None:
    """Draw the votes on a picture, its certificate, and the certificate at every noise scale."""
    label = str(int(digits().test_labels[picture]))
    _votes(noise, how, picture, label)
    st.text(_certificate(noise, how, picture, label))
    _growing(noise, how, picture)


def show_picture(noise: Noise, picture: int, label: str) -> None:
    """Draw the original picture, and one draw of the noise on it."""
    # By language: caption and titles are finished sentences.
    figure, caption, table = once(
        "digits look", (noise, picture, language()), lambda: _look(noise, picture, label)
    )
    show_figure(figure, caption, table, "digits_picture", files=False)


def _look(noise: Noise, picture: int, label: str) -> tuple[go.Figure, Caption, pd.DataFrame]:
    layer = noisy_scores(noise).model.layer
    rng = generator(noise.seed, "look", picture)
    seen = look_at(layer, noise.place, digits().test[picture], rng)
    titles = _TITLES[noise.place]
    # Pixels end at 1; units of the first layer may be larger, and one scale serves both pictures.
    top = max(1.0, float(seen.clean.max()))
    moved = float(abs(seen.noisy - seen.clean).mean())
    table = pd.DataFrame(
        {
            # Eight numbers a line: the digits are 8 × 8, and 32 units make four lines.
            "line": [i // 8 for i in range(seen.clean.size)],
            "column": [i % 8 for i in range(seen.clean.size)],
            "clean": seen.clean.ravel(),
            "noisy": seen.noisy.ravel(),
        }
    )
    caption = Caption(
        say(
            "Picture {picture}, a {label}: one draw moves each number by {moved:.2g} on average.",
            picture=picture,
            label=label,
            moved=moved,
        ),
        say(
            "Left {left}, right {right}; black is {top:.3g}.",
            left=say(titles[0]),
            right=say(titles[1]),
            top=top,
        ),
    )
    return picture_figure(seen.clean.tolist(), seen.noisy.tolist(), titles, top), caption, table


def _votes(noise: Noise, how: ScoreBound, picture: int, label: str) -> None:
    sampled = noisy_scores(noise)
    scores = sampled.scores.part([picture])
    bounds = score_bounds(scores, how.error, how.bound)
    # Clopper–Pearson bounds counts of won draws, Hoeffding any mean in [0, 1].
    counted = how.bound is Bound.CLOPPER_PEARSON
    values = scores.votes[0] / scores.draws if counted else scores.means[0]
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
                size=_size(size),
                tight=_size(tight),
            )
        )
    lines.append(
        say(
            "Each bound, taken alone, is wrong with probability at most {error:g}.", error=how.error
        )
    )
    return "\n".join(lines)


def _size(value: float) -> str:
    return say("any size") if math.isinf(value) else numeral(at_least(value, 3))


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
