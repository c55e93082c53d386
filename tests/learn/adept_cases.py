"""A tiny network of ADePT, trained once for all tests, and the utterances that it knows."""

import functools
from typing import Any

from dpcore.learn.adept import AdeptSettings, Shape, train_adept
from dpcore.learn.training import Training

TEXTS = tuple(
    f"{start} {city} {day}"
    for start in ("flights to", "show me a train to", "is there a bus from")
    for city in ("lima", "oslo", "cairo", "hanoi")
    for day in ("today", "on monday", "tomorrow morning")
)
SETTINGS = AdeptSettings(
    Shape(8, 24, 6),
    most=40,
    longest=8,
    training=Training(epochs=40, batch=8, rate=2e-2, clip=5.0, threads=1),
)


def trained(settings: AdeptSettings = SETTINGS) -> Any:
    return train_adept(TEXTS, settings)


@functools.cache
def shared() -> Any:
    return trained()
