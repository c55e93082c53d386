"""Views of the Robustness page, in order."""

from __future__ import annotations

from collections.abc import Callable

from pages.robustness.attack_view import attack_view
from pages.robustness.autoencoder_view import autoencoder_view
from pages.robustness.recorded_view import noise_view, training_view
from pages.robustness.words_view import words_view
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
