"""Views of the Robustness page, in order, and what is computed ahead for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dpcore.lexicon.lexicon import Lexicon
from pages.robustness.attack_view import attack_view
from pages.robustness.autoencoder_view import autoencoder_view
from pages.robustness.pictures_work import SCALES, Noise, ScoreBound, accuracy_table, measure_ahead
from pages.robustness.recorded_view import noise_view, training_view
from pages.robustness.words_view import words_view
from pages.robustness.words_work import Rules, share_table
from pages.shared.language import later

VIEWS: dict[str, Callable[[], None]] = {
    later("Words"): words_view,
    later("Attack"): attack_view,
    later("Training"): training_view,
    later("Auto-encoders"): autoencoder_view,
    later("Noise in networks"): noise_view,
}
"""Title, as in the link -> function that draws the view."""
PICTURES = later("Pictures")
"""First view, which has a dial."""


def ahead(words: Lexicon) -> list[Callable[[], object]]:
    """Return what the server computes before the first request.

    Args:
        words: a public lexicon.
    """
    return [
        lambda: accuracy_table(Noise(), ScoreBound()),
        lambda: share_table(words, Rules()),
        # A step of that slider trains a classifier: half a second, once for all sessions.
        *(partial(measure_ahead, scale) for scale in SCALES),
    ]
