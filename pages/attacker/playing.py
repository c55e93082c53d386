"""The rounds of the guessing game: kept in this session and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from dpcore.attack.game import Game
from dpcore.noise.streams import generator
from pages.shared.memo import memo
from pages.shared.resources import identity

if TYPE_CHECKING:
    from dpcore.attack.game import Judgement, Round
    from pages.attacker.listing import Listed
    from pages.attacker.scene import Scene

_ROUND = "attack_round"
_DEALT = "attack_dealt"
_ANSWERS = "attack_answers"
_KEPT = 2000  # rounds that a session remembers


@dataclass(frozen=True)
class Rules:
    """What a score is kept for.

    Attributes:
        mechanism: its short name and the settings that it was made with.
        epsilon: the slider's reading.
        listed: the name of the list.
        words: how many there are to choose from.
        releases: outputs of one secret.
    """

    mechanism: str
    epsilon: str
    listed: str
    words: int
    releases: int


@dataclass(frozen=True)
class Answer:
    """One guess: the place that was named, and whether the person and the attacker were right."""

    guess: int
    right: bool
    attacker_right: bool


@dataclass(frozen=True, eq=False)
class Dealt:
    """A round on the table.

    Attributes:
        game: its rules for the engine.
        dealt: the secret and what came out.
        rules: its rules for the score.
        names: the candidates, in the order of the engine.
        identity: what tells this round from all others of the session.
    """

    game: Game
    dealt: Round
    rules: Rules
    names: tuple[str, ...]
    identity: tuple[object, ...]

    def judgement(self) -> Judgement:
        """The attacker's answer."""
        return self.game.judge(self.dealt.outputs)


def on_the_table(scene: Scene, listed: Listed, releases: int, seed: int) -> Dealt:
    """The present round, dealt anew when anything about it has changed.

    Raises:
        DpcoreError: there is no game under these rules.
    """
    mechanism, epsilon = scene.mechanism, scene.epsilon
    number = round_number()
    where = (*identity(mechanism), epsilon)
    rules_and_round = (*where, listed.candidates, releases, seed, number)
    last: Dealt | None = st.session_state.get(_DEALT)
    if last is not None and last.identity == rules_and_round:
        return last
    game = Game(mechanism, epsilon, listed.candidates, releases)
    if last is not None and last.identity[:-2] == rules_and_round[:-2]:
        game = last.game  # the same rules: its laws are known
    # The seed alone would deal the same secret under all rules: the noise is keyed by them too. A
    # record separator stands in no part, so that no two rules have one key.
    key = "\x1e".join(str(part) for part in (*where, listed.candidates, releases))
    dealt = game.deal(generator(seed, "guessing game", key, number))
    rules = Rules(
        f"{mechanism.short}", f"{epsilon:.5g}", listed.title, len(listed.candidates), releases
    )
    names = tuple(scene.words.words[i] for i in listed.candidates)
    table = Dealt(game, dealt, rules, names, rules_and_round)
    st.session_state[_DEALT] = table
    return table


def round_number() -> int:
    """Which round of this session is on the table, from 1."""
    return int(st.session_state.setdefault(_ROUND, 1))


def next_round() -> None:
    """Put the present round away."""
    st.session_state[_ROUND] = round_number() + 1


def answer_of(table: Dealt) -> Answer | None:
    """What was guessed in a round; None before."""
    return _answers().get((table.rules, table.identity))


def answer(table: Dealt, guess: int) -> None:
    """Take a guess; the first one counts."""
    secret, attacker = table.dealt.secret, table.judgement().guess
    key = (table.rules, table.identity)
    memo(_answers(), key, lambda: Answer(guess, guess == secret, attacker == secret), _KEPT)


def scores() -> dict[Rules, list[Answer]]:
    """All answers of this session by their rules, the rules last played first."""
    played: dict[Rules, list[Answer]] = {}
    for (rules, _), given in reversed(list(_answers().items())):
        played.setdefault(rules, []).append(given)
    return played


def forget() -> None:
    """Begin at nought."""
    st.session_state.pop(_ANSWERS, None)
    next_round()


def _answers() -> dict[tuple[Rules, tuple[object, ...]], Answer]:
    answers: dict[tuple[Rules, tuple[object, ...]], Answer]
    answers = st.session_state.setdefault(_ANSWERS, {})
    return answers
