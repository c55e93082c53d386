"""The colours of crowded and of lonely words on the map of a whole vocabulary.

A dark ground needs other colours than a light one, so there is a scale for each. On both the
crowded words stand out most, lightness alone tells the order (to the colour-blind, and in print),
and every colour has a contrast of at least 3:1. The stops are those of viridis (Smith and van der
Walt 2015), from its dark half on white and from its light half on dark.
"""

from __future__ import annotations

LIGHT = ("#440154", "#46327E", "#365C8D", "#277F8E", "#1D938A")
"""On a light ground, the most crowded class first."""

DARK = ("#FDE725", "#A0DA39", "#4AC16D", "#1FA187", "#277F8E")
"""On a dark ground, the most crowded class first."""

CLASSES = len(LIGHT)
"""Classes of equal size, by the mean distance to the nearest words."""
