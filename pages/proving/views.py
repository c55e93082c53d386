"""The views of the Robustness page, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pages.proving.attack_view import attack_view
from pages.proving.autoencoder_view import autoencoder_view
from pages.proving.noise_view import noise_view
from pages.proving.pictures_view import pictures_view
from pages.proving.training_view import training_view
from pages.proving.words_view import words_view

if TYPE_CHECKING:
    from collections.abc import Callable

VIEWS: dict[str, Callable[[], None]] = {
    "Pictures": pictures_view,
    "Words": words_view,
    "Attack": attack_view,
    "Training": training_view,
    "Auto-encoders": autoencoder_view,
    "Noise in networks": noise_view,
}
"""Title, as it stands in the link -> what draws it."""
