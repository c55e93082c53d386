"""Dial and default ε of one group of mechanisms, the same on every page, with the guessed words.

ε is kept in the session and in the link as `eps_<group>`. One that a person chose carries over to
every page; where its mechanisms do not admit it, the nearest step is shown, said, and stays there.
An ε that nobody chose, a default or an example, stays on its page too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import streamlit as st

from dpcore.attack.trade.ground import GUESSED
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.papers.ours.tradeoff import recorded_curve
from pages.shared import link
from pages.shared.dial import GROUPS, Dial, Group, Step, admissible_grid, show_dial, turn_dial
from pages.shared.frame import open_address
from pages.shared.guessed import ABOUT, guessed
from pages.shared.language import language, later, numeral, say
from pages.shared.once import once
from pages.shared.promised import PLAIN, of_100_at_most, permits
from pages.shared.session import identity

# Default ε of every dial and slider of the pages.
#
# A dial starts where someone who knows how common words are guesses a quarter of the content words.
# `UNRECORDED` has the default where no measurement is recorded; the other tables have those of
# single views. All are by name of the group of mechanisms (`pages.shared.dial.GROUPS`).


SHARE = 0.25
UNRECORDED = {"metric": 2.5, "log": math.exp(10.0), "local": 60.0}
"""An attacker of the bundled lexicon learns some words but not all."""

ATTACK_ON_TEXTS = {"metric": 6.0}
"""Robustness: the words of a mechanism still relate to the text."""

APPENDIX_C = UNRECORDED | {"metric": 12.0}
"""Deniability: the marker in the figures of Appendix C."""


def default_epsilon(group: Group, members: Sequence[Mechanism] = ()) -> float:
    """Return an informative default ε: a quarter of the content words is guessed there.

    If the first mechanism never leaks that much, half of its largest share is used; without a
    record, or without a mechanism, `UNRECORDED`.
    """
    curve = recorded_curve(members[0]) if members else None
    if curve is None:
        return UNRECORDED[group.name]
    most = float(curve.values(GUESSED).max())
    wanted = curve.epsilon_at(GUESSED, min(SHARE, most / 2))
    if wanted is not None:
        return wanted
    least = float(curve.epsilons[0])
    return next((epsilon for epsilon in group.grid if epsilon >= least), least)


_LINKED, _OWN = "epsilons_linked", "epsilons_of_one_page"
EPSILONS = (*(f"eps_{group.name}" for group in GROUPS), _OWN)
"""Keys of the session that hold every ε and if a person chose it."""


@dataclass(frozen=True)
class _Own:
    """ε that belongs to one page.

    Attributes:
        page: its address.
        epsilon: ε there.
        chosen: the ε that a person chose and the page does not admit; None if nobody chose one.
    """

    page: str
    epsilon: float
    chosen: float | None = None


_TYPED = {False: ("epsilon", "ε"), True: ("logarithm", "ln ε")}
_PERMITTED, _UNKNOWN = later("The guarantee alone allows, by frequency"), later("not known here")


def epsilon_dial(
    group: Group,
    members: Sequence[Mechanism],
    on_rest: Callable[[], None] | None = None,
    *,
    start: float | None = None,
    grid: Sequence[float] | None = None,
    read: Mechanism | None = None,
) -> float:
    """Draw the dial and return ε; in a block of its own it stays in sight.

    While it moves, components of the page receive the event "dpcore:dial" with the group's name and
    the place in the grid; the server is informed when the dial rests.

    Args:
        group: the group.
        members: its shown mechanisms; at least one of them is defined at every step.
        on_rest: called when the dial rests and ε is set.
        start: ε of a new visit; None for `default_epsilon`.
        grid: the values of ε to choose from; None for those of the group.
        read: mechanism that the two readings name and are about; None for all members, unnamed.

    Returns:
        ε, a value of the grid.
    """
    steps = tuple(admissible_grid(group, members) if grid is None else grid)
    usual = _nearest(steps, start or default_epsilon(group, members))
    epsilon = _present(group, steps, usual)

    def rested(step: int) -> None:
        _own().pop(_key(group), None)
        set_epsilon(group, steps[step], steps[usual])
        if on_rest is not None:
            on_rest()

    set_epsilon(group, epsilon, steps[usual])
    about, name = (members, "") if read is None else ([read], read.short)
    key = (language(), group.name, steps, tuple(identity(kind) for kind in about), name)
    dial = once("dials", key, lambda: _dial(group, about, steps, name))
    show_dial(dial, steps.index(epsilon), rested)
    return epsilon


def set_epsilon(
    group: Group, epsilon: float, usual: float | None = None, *, carried: bool = True
) -> None:
    """Set ε of a group, for this page and those after it.

    Args:
        group: the group.
        epsilon: its ε; a page whose dial lacks it takes the nearest step.
        usual: default of the page, which its link leaves out.
        carried: False if it belongs to this page alone, until a person moves the dial.
    """
    if usual is None:
        _own().pop(_key(group), None)
    if not carried:
        _own()[_key(group)] = _Own(open_address(), epsilon)
    st.session_state[_key(group)] = epsilon
    label = group.label(epsilon)
    link.write(_key(group), label, "" if usual is None else group.label(usual))
    st.session_state.setdefault(_LINKED, {})[_key(group)] = st.query_params.get(_key(group), label)


def epsilon_of(group: Group) -> float:
    """Return ε of a group whose dial this page has drawn; its default on a page that has none."""
    return float(st.session_state.get(_key(group), default_epsilon(group)))


def epsilon_is_chosen(group: Group) -> bool:
    """Return True if a person chose ε of a group, on this page or one before."""
    own = _own().get(_key(group))
    return _key(group) in st.session_state and (own is None or own.chosen is not None)


def _key(group: Group) -> str:
    return f"eps_{group.name}"


def _own() -> dict[str, _Own]:
    """Return every ε that belongs to one page, by name in the link."""
    own: dict[str, _Own] = st.session_state.setdefault(_OWN, {})
    return own


def _present(group: Group, steps: Sequence[float], usual: int) -> float:
    """Return the position of the dial: from a new link, else the last one, else the default."""
    key, page = _key(group), open_address()
    linked = st.query_params.get(key)
    seen = st.session_state.setdefault(_LINKED, {})
    if linked is not None and linked != seen.get(key):
        seen[key] = linked
        _own().pop(key, None)
        turn_dial(group.name)
        try:
            wanted = math.exp(float(linked)) if group.logarithm else float(linked)
        except (ValueError, OverflowError):
            return steps[usual]
        if not 0 < wanted < math.inf:
            return steps[usual]
        nearest = steps[_nearest(steps, wanted)]
        # A link has six digits.
        if not math.isclose(nearest, wanted, rel_tol=1e-4):
            _say_nearest(
                group,
                later("The link asks for {unit} = {wanted}; the dial's nearest step is {nearest}."),
                wanted,
                nearest,
            )
        return nearest
    shown = st.session_state.get(key)
    own = _own().get(key)
    if own is not None and own.epsilon != shown:  # something else was set since
        own = None
    chosen = shown if own is None else own.chosen
    if shown is None or (chosen is None and own is not None and own.page != page):
        _own()[key] = _Own(page, steps[usual])
        turn_dial(group.name)
        return steps[usual]
    nearest = steps[_nearest(steps, shown if chosen is None else chosen)]
    if nearest != shown:
        turn_dial(group.name)
    if nearest == chosen:
        _own().pop(key, None)
    else:
        news = _Own(page, nearest, chosen)
        if chosen is not None and news != own:
            _say_nearest(
                group,
                later("You chose {unit} = {wanted}; the nearest step here is {nearest}."),
                chosen,
                nearest,
            )
        _own()[key] = news
    return nearest


def _say_nearest(group: Group, sentence: str, wanted: float, nearest: float) -> None:
    """Say that the dial has no step at an ε: a sentence with three gaps."""
    asked = math.log(wanted) if group.logarithm else wanted
    st.toast(
        say(
            sentence,
            unit="ln ε" if group.logarithm else "ε",
            wanted=numeral(f"{asked:.3g}"),
            nearest=numeral(group.label(nearest)),
        ),
        icon=":material/info:",
    )


def _nearest(steps: Sequence[float], epsilon: float) -> int:
    return min(range(len(steps)), key=lambda i: abs(math.log(steps[i] / epsilon)))


def _dial(group: Group, members: Sequence[Mechanism], steps: Sequence[float], named: str) -> Dial:
    return Dial(
        group.name,
        say(group.title),
        tuple(_step(group, members, epsilon, named) for epsilon in steps),
        (say("← stronger privacy"), say("closer meaning →")),
        (_TYPED[group.logarithm], ("share", say("content words guessed, of 100"))),
    )


def _step(group: Group, members: Sequence[Mechanism], epsilon: float, named: str) -> Step:
    """Return one step: the shares of guessed words if measured, else the bound that ε gives."""
    permitted = max(
        (most for kind in members if (most := permits(kind, epsilon)) is not None), default=None
    )
    limit = "" if permitted is None else of_100_at_most(permitted)
    unit = "ln ε" if group.logarithm else "ε"
    promised = f"{unit} = {numeral(group.label(epsilon))} {say(PLAIN[members[0].meaning])}"
    right, share = (say("Guarantee"), promised), None
    shares = guessed(members, epsilon)
    if shares is not None:
        about, value = shares.about, shares.words
        if limit:
            right = say("The guarantee alone allows {permitted}", permitted=limit), promised
        share = shares.word[0] if len(members) == 1 else None
    elif limit:
        about, value = say(_PERMITTED), limit
    else:
        about, value = say(ABOUT), say(_UNKNOWN)
    about = f"{named}: {about}" if named else about
    return Step((about, value), right, f"{about} {value}; {right[0]}: {right[1]}", epsilon, share)
