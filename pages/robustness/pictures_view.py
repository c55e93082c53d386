"""View of pictures of digits under a noise layer: PixelDP's certificates, computed now."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpcore.errors import DpcoreError
from dpcore.learn.pixeldp.certified import ABSTAINED, Bound
from dpcore.learn.pixeldp.digits import Place
from dpcore.learn.pixeldp.noise_layer import Accounting
from dpcore.outwards import at_least, at_most
from dpcore.plots.robust.shares import certified_caption, lines_figure
from dpcore.plots.style import Caption
from dpcore.written import Filled
from pages.robustness.one_picture import (
    BOARD,
    TAKING,
    choose_picture,
    in_pixels,
    of_size,
    one_picture,
    paint_picture,
    painted,
)
from pages.robustness.pictures_work import (
    DRAWS,
    ERRORS,
    SCALES,
    SLIDES,
    Noise,
    ScoreBound,
    accuracy_table,
    certified,
    is_drawn,
    noisy_scores,
    of_picture,
)
from pages.robustness.reproducing import computed_now, digits_command, picture_cell
from pages.robustness.slides_view import renyi_view, slides_view
from pages.shared import link
from pages.shared.dial import Dial, Step, show_dial, turn_dial
from pages.shared.figure import show_figure
from pages.shared.fragments import fragment
from pages.shared.language import language, later, numeral, say
from pages.shared.link import choose_seed, pick, tabs
from pages.shared.messages import note, provenance, refuse
from pages.shared.once import once
from pages.shared.progress import Reporter
from pages.shared.taking import Takeaway, take_it_with_you

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


# First screen of the pictures: a digit, its certified radius, and the dial of the noise.


_SCALE, _SEEN = "digits_scale", "digits_scale_linked"
_UNKNOWN = "…"


def present_scale() -> float:
    """Return the scale of the noise: from a new link, else from the dial, else the default."""
    linked = st.query_params.get(_SCALE)
    # A link that was followed counts once; afterwards the dial writes the address itself.
    if linked is not None and linked != st.session_state.get(_SEEN):
        st.session_state[_SEEN] = linked
        # The browser keeps the place of a dial: without this the link would change the number
        # alone.
        turn_dial(_SCALE)
        # Other scales have no classifier: nonsense in a link is the default.
        named = {f"{scale:g}": scale for scale in SCALES}
        _set(named.get(linked, Noise.scale))
    scale = float(st.session_state.get(_SCALE, Noise.scale))
    _set(scale)
    return scale


def _set(scale: float) -> None:
    st.session_state[_SCALE] = scale
    link.write(_SCALE, f"{scale:g}", f"{Noise.scale:g}")
    st.session_state[_SEEN] = st.query_params.get(_SCALE)


def scale_dial(noise: Noise, how: ScoreBound, picture: int) -> None:
    """Draw the dial of the noise; a step has a reading once its classifier is trained.

    Args:
        noise: its scale is the position of the dial.
        how: bound on the votes.
        picture: the picture whose certified radius is read.
    """
    steps = tuple(_step(replace(noise, scale=scale), how, picture) for scale in SCALES)
    dial = Dial(
        _SCALE, say("Scale of the noise"), steps, (say("← less noise"), say("more noise →"))
    )
    show_dial(dial, SCALES.index(noise.scale), lambda step: _set(SCALES[step]))


def _step(noise: Noise, how: ScoreBound, picture: int) -> Step:
    scale = numeral(f"{noise.scale:g}")
    right, spoken = (say("Noise of scale"), scale), say("noise of scale {scale}", scale=scale)
    # Not trained for the sake of a reading: twelve classifiers would delay the first picture.
    if not is_drawn(noise):
        return Step((say("Certified up to"), _UNKNOWN), right, spoken)
    size, _, place = of_picture(noise, how, picture)
    if place == ABSTAINED:
        left = say("Certified up to"), say("nothing")
    elif math.isinf(size):
        left = say("Certified up to"), say("any size")
    else:
        about = say("Certified up to {size}", size=of_size(noise, size))
        left = about, in_pixels(noise, size)
    return Step(left, right, f"{left[0]}: {left[1]}; {spoken}")


PLACES = {
    later("in the picture"): Place.PICTURE,
    later("after the first layer"): Place.FIRST_LAYER,
    later("in an auto-encoder"): Place.AUTO_ENCODER,
}
NOISES = {
    later("Gaussian, exact"): Accounting.ANALYTIC,
    later("Gaussian, classical"): Accounting.CLASSICAL,
    later("Laplace"): Accounting.LAPLACE,
}
BOUNDS = {later("Clopper–Pearson"): Bound.CLOPPER_PEARSON, later("Hoeffding"): Bound.HOEFFDING}
_DRAWN = "digits_part"


def pictures_view(dial_place: DeltaGenerator) -> None:
    """Draw the picture with its radius, then the results on all pictures.

    Args:
        dial_place: place of the dial of the noise.
    """
    board = st.container()
    with st.sidebar:
        picture_place = st.container()
        with st.expander(say("More settings"), icon=":material/tune:"):
            noise, how = _settings()
    try:
        with picture_place:
            picture = choose_picture()
        # In the place of the picture, where the visitor looks.
        if not is_drawn(noise):
            with (
                board,
                Reporter(say("Training, then drawing noise")) as progress,
                st.spinner(say("Training a classifier of digits under this noise…")),
            ):
                noisy_scores(noise, progress)
        # Before the dial and the picture, which look up what it has computed.
        table = accuracy_table(noise, how)
        with dial_place:
            scale_dial(noise, how, picture)
        with board:
            fragment(paint_picture, noise, how, picture, key=BOARD)
    except DpcoreError as error:
        refuse(say("The digits cannot be shown."), error)
        return
    computed_now()
    fragment(_parts, noise, how, table, picture)
    _explained()
    fragment(_taking, noise, how, table, picture, key=TAKING)
    provenance(say("Digits of scikit-learn: 1,347 pictures to train on, 450 to predict"))


def _taking(noise: Noise, how: ScoreBound, table: pd.DataFrame, picture: int) -> None:
    take_it_with_you(
        lambda: Takeaway(
            picture_cell(noise, how, picture, painted(picture)),
            ("lecuyer2019pixeldp", "pinot2019unified"),
            digits_command(noise, how),
            say("It prints certified accuracies at eight sizes of attack."),
            tables={later("Certified accuracy"): lambda: table},
            drawing="digits_picture",
        )
    )


def _parts(noise: Noise, how: ScoreBound, table: pd.DataFrame, picture: int) -> None:
    st.header(say("All pictures"), anchor=False)
    _all_pictures(noise, how, table)
    views = {
        later("The slides' condition"): slides_view,
        later("Robust is private"): renyi_view,
        # Not the first: under new settings it trains a classifier for each scale.
        later("One picture"): lambda: one_picture(noise, how, picture),
    }
    tabs(views, _DRAWN)


def _explained() -> None:
    with st.expander(say("How is this computed?")):
        note(
            say(
                "Noise is added inside the classifier, and many draws vote. A change of the "
                "picture that the noise hides cannot change the class expected to win: "
                "differential privacy serves as a proof (PixelDP, Lecuyer et al. 2019). The "
                "draws estimate the expectation with a stated error. 1,347 pictures of 8 × 8 "
                "pixels train the classifier, 450 test it."
            )
        )
        note(
            say(
                "The certified radius is the largest change, by its Euclidean length (L2; for "
                "Laplace noise by the sum of all changes, L1), that cannot put another class "
                "ahead in expectation. Pixels go from 0 (white) to 1 (black)."
            )
        )


def _settings() -> tuple[Noise, ScoreBound]:
    place = pick(
        say("Noise is added"),
        PLACES,
        "digits_place",
        say(
            "In the picture: on the pixels. After the first layer: on the 32 units of a small "
            "network, before rectification. In an auto-encoder: on the code of a linear one "
            "(principal components), trained separately. The largest stretch of the layers "
            "before the noise is computed, and the noise is scaled by it."
        ),
    )
    accounting = pick(
        say("Which noise"),
        NOISES,
        "digits_noise",
        say(
            "Gaussian, exact: the δ of Gaussian noise is computed (Balle and Wang 2018). "
            "Gaussian, classical: the same noise under the theorem of 2014, which proves "
            "less. Laplace: attacks are then measured by the sum of the changes of all "
            "pixels, for Gaussian noise by their Euclidean length."
        ),
    )
    bound = pick(
        say("Votes bounded by"),
        BOUNDS,
        "digits_bound",
        say(
            "Clopper–Pearson: on how often a class wins a draw. Hoeffding: on its mean "
            "probability, as PixelDP does it; usually wider, but for any scores in [0, 1]."
        ),
    )
    error = st.selectbox(
        say("Wrong with probability"),
        ERRORS,
        index=ERRORS.index(ScoreBound().error),
        format_func=lambda value: f"{value:g}",
        key="digits_error",
        bind="query-params",
        help=say(
            "The largest probability, over the draws, that some bound on one picture's "
            "votes is wrong: all its classes and both sides share it. Smaller is safer, and "
            "abstains more often."
        ),
    )
    seed = choose_seed(say("Of training and of all draws: the same seed shows the same."))
    draws = st.select_slider(
        say("Draws of each picture"),
        DRAWS,
        value=Noise().draws,
        format_func=lambda value: f"{value:,}",
        key="digits_draws",
        bind="query-params",
        help=say("Votes. More draws make the bounds narrow and take longer."),
    )
    # The scale is not in this form: the dial holds it.
    noise = Noise(PLACES[place], NOISES[accounting], present_scale(), draws, seed)
    return noise, ScoreBound(BOUNDS[bound], error)


def _all_pictures(noise: Noise, how: ScoreBound, table: pd.DataFrame) -> None:
    certificates, layer = certified(noise, how), noisy_scores(noise).model.layer
    shown, count = table, len(certificates.classes)
    # With δ = 0 the two conditions are one, and one line would hide the other.
    if noise.accounting is Accounting.LAPLACE:
        shown = table[table["curve"] != SLIDES]
    sizes = table["x"].unique()
    # A quarter along the axis: at 0 the curves meet, and far out nothing is certified.
    size = float(sizes[len(sizes) // 4])
    norm = (
        say("sum of all changes")
        if noise.accounting is Accounting.LAPLACE
        else say("Euclidean length")
    )

    def curves() -> tuple[go.Figure, Caption]:
        along = say("size L of the attack ({norm})", norm=norm)
        return (
            lines_figure(shown, along, "accuracy that is certain"),
            certified_caption(shown, Filled("{count} pictures", count=count), size),
        )

    # This is half the cost of a step of the dial if the pictures are cached.
    figure, caption = once("digits curves", (noise, how, language()), curves)
    show_figure(figure, caption, shown, "digits_accuracy")
    abstained = int((certificates.classes == ABSTAINED).sum())
    largest = float(certificates.sizes.max())
    reach = say("any size") if math.isinf(largest) else numeral(at_least(largest, 3))
    st.text(
        say(
            "It abstains on {abstained} of {count} pictures, which counts as wrong. Largest "
            "certified L: {reach} by PixelDP's condition, {tight:.3g} tight. The layer "
            "stretches an attack by at most {stretch:.3g}, so the noise has scale {scale:.3g}. "
            "The certificate of one picture is wrong with probability at most {error:g}, so "
            "that of the {count} at most {expected:.3g} are expected to be.",
            abstained=abstained,
            count=count,
            reach=reach,
            tight=float(at_least(certificates.tight.max(), 3)),
            stretch=float(at_most(layer.sensitivity, 3)),
            scale=layer.scale,
            error=how.error,
            # A sum of errors bounds the expected number whether or not the draws are independent.
            expected=how.error * count,
        )
    )
    if noise.accounting is Accounting.LAPLACE:
        note(
            say(
                "Laplace noise has δ = 0, so the slides' condition is PixelDP's here and is not "
                "drawn."
            )
        )
    else:
        beyond = certificates.slides > certificates.tight
        note(
            say(
                "**The slides' line is no certificate**: on {count} pictures it claims more "
                "than the tight line, which no true statement from these bounds can pass. The "
                "part “The slides' condition” says why.",
                count=int(beyond.sum()),
            )
        )
    note(
        say(
            "Pixels go from 0 (white) to 1 (black). An attack may leave that range. The line "
            "“no noise” is no certificate of noise but the whole truth about another "
            "classifier, logistic regression on clean pictures: for a linear classifier the "
            "smallest successful attack is a formula. Where it lies above the others, the noise "
            "buys nothing here; but its proof would hold for a deep network just as well."
        )
    )
