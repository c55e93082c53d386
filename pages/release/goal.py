"""The goal: what a stranger may guess at most, or what may be lost at most; one dial for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from pages.shared import link
from pages.shared.dial import Dial, Step, show_dial
from pages.shared.fragments import fragment, run_parts
from pages.shared.language import later, numeral, say
from pages.shared.linking import choose_one
from pages.shared.promised import of_100

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.papers.ours.offers import Offer

_TURNING = "release_turning"


@dataclass(frozen=True)
class Goal:
    """What may be asked for.

    Attributes:
        key: in links.
        name: in the choice.
        title: at the dial.
        steps: of the dial, in percent, ascending.
        start: where a fresh visit begins.
        unit: behind the number.
        ends: what the two ends of the dial mean.
    """

    key: str
    name: str
    title: str
    steps: tuple[float, ...]
    start: float
    unit: str
    ends: tuple[str, str]

    @property
    def field(self) -> str:
        """Of the link."""
        return f"aim_{self.key}"

    @property
    def dial(self) -> str:
        """Name of the dial."""
        return f"goal_{self.key}"


GOALS = {
    "guess": Goal(
        "guess",
        later("Words guessed"),
        later("A stranger guesses at most"),
        (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 35, 40, 50, 60, 70, 80, 90),
        10,
        later("of 100 words"),
        (later("← learns less"), later("learns more →")),
    ),
    "accuracy": Goal(
        "accuracy",
        later("Accuracy lost"),
        later("Accuracy lost, at most"),
        (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 18, 20, 22, 25, 28, 30, 35, 40),
        20,
        "points",
        (later("← more useful"), later("more private →")),
    ),
}


def choose_goal() -> Goal:
    """Draw the choice of the goal."""
    return GOALS[
        choose_one(
            st.segmented_control,
            say("Goal"),
            {key: goal.name for key, goal in GOALS.items()},
            "aim",
            required=True,
            label_visibility="collapsed",
            help=say(
                "What must hold: of 100 words a stranger guesses at most so many; or a classifier "
                "that learns from the private texts is right in so many points less, at most."
            ),
        )
    ]


def step_of(goal: Goal) -> int:
    """Where the dial stands: as the link says, as it was left, or where a fresh visit begins."""
    text = st.session_state.get(goal.field, st.query_params.get(goal.field, ""))
    try:
        wanted = float(text)
    except ValueError:
        wanted = goal.start
    return min(range(len(goal.steps)), key=lambda i: abs(goal.steps[i] - wanted))


def goal_dial(goal: Goal, offers: Sequence[Sequence[Offer]], follows: str) -> None:
    """Draw the dial, in a fragment of its own.

    Args:
        goal: which.
        offers: of each mechanism, one a step.
        follows: the fragment that runs when it rests, since what is run and released follows it.
    """
    fragment(_turning, goal, offers, follows, key=_TURNING)


def _turning(goal: Goal, offers: Sequence[Sequence[Offer]], follows: str) -> None:
    def rested(step: int) -> None:
        _set(goal, step)
        run_parts(follows)

    show_dial(_dial(goal, offers), step_of(goal), rested)


def _set(goal: Goal, step: int) -> None:
    value = f"{goal.steps[step]:g}"
    st.session_state[goal.field] = value
    link.write(goal.field, value, f"{goal.start:g}")


def _dial(goal: Goal, offers: Sequence[Sequence[Offer]]) -> Dial:
    steps = []
    for number, value in enumerate(goal.steps):
        left = say(goal.title), f"{numeral(f'{value:g}')} {say(goal.unit)}"
        right = _reading(goal, [each[number] for each in offers])
        spoken = f"{' '.join(left)}; {right[0]}: {right[1]}"
        steps.append(Step(left, right, spoken, share=value / 100))
    return Dial(goal.dial, say(goal.title), tuple(steps), goal.ends, (("share", say(goal.unit)),))


def _reading(goal: Goal, offers: Sequence[Offer]) -> tuple[str, str]:
    """What the mechanisms that meet the goal have to promise for it, or give away."""
    met = [offer for offer in offers if offer.epsilon is not None]
    if goal.key == "guess":
        about, numbers = say("The methods promise for it"), [offer.epsilon or 0.0 for offer in met]
        ends = [
            numeral(f"{number:.3g}")
            for number in (min(numbers, default=0), max(numbers, default=0))
        ]
        span = f"ε = {ends[0]}"
        if ends[0] != ends[1]:
            span = say("ε = {low} to {high}", low=ends[0], high=ends[1])
    else:
        about = say("A stranger guesses then")
        shares = [offer.guessed.mean for offer in met if offer.guessed is not None]
        low, high = (of_100(share) for share in (min(shares, default=0), max(shares, default=0)))
        span = (
            say("{low} words", low=low)
            if low == high
            else say("{low} to {high}", low=low, high=high)
        )
        met = met if shares else []
    return about, span if met else say("none meets it")
