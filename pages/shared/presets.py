"""The sentences that a person can start from, and the mechanisms that the page opens with."""

from __future__ import annotations

from pages.shared.language import later

PRESETS = {
    later(
        "hospital"
    ): "My doctor in the city hospital said that my sister needs a new heart medicine.",
    later("letter"): "Anna Keller moved to Berlin on 3 May 2024 and works for a small bank there.",
    later(
        "contact"
    ): "Please send the rent for the house to Tom, tom.hale@example.org, before Friday.",
    later("review"): "The food was cold, the waiter was rude and we will never eat there again!",
    later("message"): "I lost my job last week, so I cannot pay you the 250 dollars before winter.",
    later("trip"): "We flew from London to Paris with our dog and missed the last train home.",
}
"""Preset name -> sentence; the names stand in links."""

DEFAULT_PRESET = "hospital"

DEFAULT_MECHANISMS = (
    "madlib",
    "mahalanobis",
    "vickrey",
    "tem",
    "truncated-gumbel",
    "gaussian",
)
"""Short names."""

CURVE_MECHANISMS = ("madlib", "tem", "truncated-gumbel")
"""Of a page that measures whole curves: fast ones, one of each kind of method."""
