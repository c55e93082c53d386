"""Guessing game: a person against the Bayes attacker, both with the same outputs."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode

import numpy as np
import streamlit as st

from dpcore.attack.game import DIRECTIONS, Game, Judgement, Round
from dpcore.errors import DpcoreError
from dpcore.lexicon.lexicon import Lexicon
from dpcore.limits import MAX_GAME_RELEASES, MAX_GAME_WORDS, MAX_TEXT_CHARACTERS
from dpcore.measure.density import neighbourhood, ordinary_words
from dpcore.measure.words import select_words
from dpcore.mechanisms.additive.additive import SharedDirections
from dpcore.mechanisms.registry import resolve
from dpcore.noise.streams import generator
from dpcore.plots.attack.icons import icon_caption, icon_figure
from dpcore.plots.attack.words import chance_text
from pages.attacker.scene import GAME, AttackerScene
from pages.attacker.tables import candidate_table, game_icons, score_table
from pages.shared import link
from pages.shared.dial import GROUPS, group_of, turn_dial
from pages.shared.epsilon_dial import EPSILONS, epsilon_of, set_epsilon
from pages.shared.figure import csv_button, show_figure
from pages.shared.language import later, numeral, say
from pages.shared.link import choose_seed, pick, whole_number
from pages.shared.messages import note, refuse
from pages.shared.once import memo
from pages.shared.session import identity, of_lexicon
from pages.shared.sidebar import START_MECHANISM
from pages.shared.table import show_table
from pages.shared.taking import Takeaway, show_line, take_it_with_you
from pages.shared.words import chosen_pair, pair_is_typed, plain_label, spelled

# Mechanism and ε of the game, apart from those of the other views.


_MECHANISM, _EPSILON = "madlib", 10.0
"""With the default list and three outputs the best attacker is right in about 55 of 100 rounds (by
chance in 17), and in about 30 of 100 an output is the secret: neither trivial nor hopeless. At
ε = 12 it is about 75 and 60."""
_CHOICE, _PLAYED = "attacked", "attack_played"


def keep_apart(*, playing: bool) -> None:
    """Exchange mechanism and ε when the game is opened or left; call it before they are drawn.

    Those of the other views and pages are as before when the game is left, by a tab or by the menu.
    A visit that begins with a link to the game is played as the link says.

    Args:
        playing: True if the game is the open view.
    """
    if playing == link.is_laid_aside():
        return
    if playing:
        # No page of this visit has drawn these: so the address holds them from outside.
        asked = [
            name
            for name in st.query_params
            if name not in st.session_state and (name == _CHOICE or name in EPSILONS)
        ]
        link.lay_aside({_CHOICE: START_MECHANISM} | dict.fromkeys(EPSILONS))
        if asked:
            return
        short, epsilon = st.session_state.get(_PLAYED, (_MECHANISM, _EPSILON))
        st.session_state[_CHOICE] = short
        # The field writes into the link only what is chosen in it.
        link.put({_CHOICE: [short] if short != START_MECHANISM else []})
        set_epsilon(group_of(resolve(short).meaning), epsilon, carried=False)
    else:
        link.take_back()
    for group in GROUPS:
        turn_dial(group.name)


def _present() -> tuple[str, float]:
    """Return the chosen mechanism and the ε of its dial."""
    short = st.session_state.get(_CHOICE, START_MECHANISM)
    return short, epsilon_of(group_of(resolve(short).meaning))


# Rounds of the guessing game, kept in this session only.


_ROUND = "attack_round"
_DEALT = "attack_dealt"
_ANSWERS = "attack_answers"
_GUESS = "attack_guess"
_KEPT = 2000  # rounds kept per session


@dataclass(frozen=True)
class Rules:
    """Rules that a score belongs to.

    Attributes:
        mechanism: its short name with its settings.
        epsilon: reading of the slider.
        listed: name of the list.
        words: number of candidates.
        releases: number of outputs of one secret.
        seed: seed of the rounds.
    """

    mechanism: str
    epsilon: str
    listed: str
    words: int
    releases: int
    seed: int


@dataclass(frozen=True)
class Answer:
    """One guess: the chosen place, and whether the person and the attacker were right."""

    guess: int
    right: bool
    attacker_right: bool


@dataclass(frozen=True, eq=False)
class Dealt:
    """Current round.

    Attributes:
        game: its rules for the engine.
        dealt: the secret and the outputs.
        rules: its rules for the score.
        names: the candidates, in the order of the engine.
        identity: key of this round among all rounds of the session.
    """

    game: Game
    dealt: Round
    rules: Rules
    names: tuple[str, ...]
    identity: tuple[object, ...]

    @cached_property
    def judgement(self) -> Judgement:
        """The attacker's answer."""
        return self.game.judge(self.dealt.outputs)


def on_the_table(scene: AttackerScene, listed: CandidateList, releases: int, seed: int) -> Dealt:
    """Return the current round; deal a new one if any of its settings has changed.

    Raises:
        DpcoreError: no game exists under these rules.
    """
    mechanism, epsilon = scene.mechanism, scene.epsilon
    number = round_number()
    where = (*identity(mechanism), epsilon)
    rules_and_round = (*where, listed.candidates, releases, seed, number)
    last: Dealt | None = st.session_state.get(_DEALT)
    if last is not None and last.identity == rules_and_round:
        return last
    shared = _directions(scene.words.fingerprint)
    game = Game(mechanism, epsilon, listed.candidates, releases, shared)
    # The last two parts of the identity are the seed and the round.
    if last is not None and last.identity[:-2] == rules_and_round[:-2]:
        game = last.game  # the rules are the same, so its laws can be reused
    # With the seed alone all rules would deal the same secret, so the key of the noise includes
    # them. No part contains a record separator, so different rules have different keys.
    key = "\x1e".join(str(part) for part in (*where, listed.candidates, releases))
    stream = generator(seed, "guessing game", key, number)
    dealt = game.opening(stream) if number == 1 else game.deal(stream)
    count = len(listed.candidates)
    rules = Rules(mechanism.short, f"{epsilon:.5g}", listed.title, count, releases, seed)
    names = tuple(scene.words.words[i] for i in listed.candidates)
    table = Dealt(game, dealt, rules, names, rules_and_round)
    st.session_state[_DEALT] = table
    return table


@of_lexicon(max_entries=1, show_spinner=False)
def _directions(fingerprint: str) -> SharedDirections:  # noqa: ARG001 - the key of the cache
    """Return public noise directions, shared by all sessions, to estimate the posterior."""
    return SharedDirections(DIRECTIONS)


def round_number() -> int:
    """Return the number of the current round of this session, from 1."""
    return int(st.session_state.setdefault(_ROUND, 1))


def next_round() -> None:
    """End the current round."""
    st.session_state[_ROUND] = round_number() + 1


def answer_of(table: Dealt) -> Answer | None:
    """Return the guess of a round; None before it is made."""
    return _answers().get((table.rules, table.identity))


def answer(table: Dealt, guess: int) -> None:
    """Record a guess; only the first one counts."""
    secret, attacker = table.dealt.secret, table.judgement.guess
    key = (table.rules, table.identity)
    # A second click on the buttons of a slow page must not replace the first guess.
    memo(_answers(), key, lambda: Answer(guess, guess == secret, attacker == secret), _KEPT)


def scores() -> dict[Rules, list[Answer]]:
    """Return all answers of this session by their rules, the rules last played first."""
    played: dict[Rules, list[Answer]] = {}
    # A dictionary keeps the order in which answers were given.
    for (rules, _), given in reversed(list(_answers().items())):
        played.setdefault(rules, []).append(given)
    return played


def forget() -> None:
    """Reset the score and begin with the first round."""
    st.session_state.pop(_ANSWERS, None)
    st.session_state[_ROUND] = 1


def _answers() -> dict[tuple[Rules, tuple[object, ...]], Answer]:
    answers: dict[tuple[Rules, tuple[object, ...]], Answer]
    answers = st.session_state.setdefault(_ANSWERS, {})
    return answers


# List of words from which the secret of the game is drawn.


LISTS = {
    later("Illnesses"): "flu cancer asthma diabetes depression pneumonia",
    later("Faiths"): "christian muslim jewish hindu buddhist atheist",
    later("Jobs"): "teacher nurse lawyer farmer soldier priest",
    later("Cities"): "london paris berlin tokyo boston moscow",
    later("Animals"): "dog cat horse rabbit bird fish",
    later("Days"): "monday tuesday wednesday thursday friday saturday sunday",
}
"""Name -> words; the names are part of links."""
ANY, NEAR, OWN = later("Any words"), later("Neighbours"), later("My own list")
OWN_WORDS = "game_words"
_DEFAULT_COUNT = 6
_CENTRE = "london"


@dataclass(frozen=True)
class CandidateList:
    """List of candidates: its name, and the words in the order in which they are shown."""

    title: str
    candidates: tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """Choice of the list.

    Attributes:
        title: a name of `LISTS`, or ANY, NEAR or OWN.
        count: number of words, for lists without a length of their own.
        text: the typed words.
    """

    title: str
    count: int = 0
    text: str = ""

    def listed(self, words: Lexicon, seed: int) -> CandidateList:
        """Return the words that a lexicon holds, in alphabetical order.

        Args:
            words: the lexicon.
            seed: seed of ANY, which draws different words in every round.

        Raises:
            DpcoreError: a typed word is not in the vocabulary, or there is none.
        """
        count = min(self.count, len(words))
        if self.title == OWN:
            # An unknown word goes on, so that the engine's message names it.
            typed = re.split(r"[\s,;]+", self.text)
            names = [spelled(word, words) or word.lower() for word in typed]
            chosen = select_words(words, names).words.tolist()
        elif self.title == NEAR:
            around = neighbourhood(words, words.index(_centre(words)), count - 1)
            # The word itself counts too, so one neighbour less than words.
            chosen = [around.word, *around.neighbours.tolist()]
        elif self.title == ANY:
            pool = ordinary_words(words)
            if pool.size < count:  # a lexicon of characters other than letters
                pool = np.arange(len(words))
            # Of seed and round: a class with one link gets the same list in the same round.
            rng = generator(seed, "words of the game", round_number())
            chosen = rng.choice(pool, count, replace=False).tolist()
        else:
            chosen = words.indices(LISTS[self.title].split()).tolist()
        # Sorted, since the order must not reveal how the list was made: the centre would come
        # first.
        return CandidateList(self.title, tuple(sorted(chosen, key=lambda i: words.words[i])))


def choose_list(words: Lexicon) -> Choice:
    """Draw the choice of a list and return it."""
    # Whole lists only: with fewer words it would be another game under the same name.
    known = [name for name, text in LISTS.items() if all(w in words for w in text.split())]
    title = pick(
        say("The secret is one of"),
        [NEAR, *known, ANY, OWN],
        "game_list",
        say(
            "Everybody knows the list. *Neighbours*: a word and those nearest to it, the hardest "
            "list. *Any words*: other ordinary words in every round. *My own list*: what you "
            "type."
        ),
        width=200,
    )
    if title == OWN:
        return Choice(title, text=_typed())
    return Choice(title, count=_count() if title in (ANY, NEAR) else 0)


def _count() -> int:
    return whole_number(
        say("How many words"),
        2,
        MAX_GAME_WORDS,
        _DEFAULT_COUNT,
        "game_count",
        say("To choose from; the more, the harder."),
        width=150,
    )


def _typed() -> str:
    return st.text_input(
        say("Your words"),
        "doctor nurse patient hospital",
        key=OWN_WORDS,
        max_chars=MAX_TEXT_CHARACTERS,
        width=360,
        help=say(
            "2 to {most} words of the vocabulary, with spaces or commas between them. They stay "
            "in this browser session and are not put into the link.",
            most=MAX_GAME_WORDS,
        ),
    )


def _centre(words: Lexicon) -> str:
    """Return the word whose neighbours are listed: the word in focus, else a default."""
    chosen = chosen_pair(words)[0]
    if chosen is not None:
        return chosen
    return _CENTRE if _CENTRE in words else words.words[0]


def game_view(scene: AttackerScene) -> None:
    """Draw the current round, its end, the score, and the rules."""
    st.session_state[_PLAYED] = _present()
    # First on the screen, and filled last: it needs the rules below it.
    place = st.container()
    st.header(say("Rules"), anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choice, releases, seed = choose_list(scene.words), _releases(), _seed()
    try:
        listed = choice.listed(scene.words, seed)
        table = on_the_table(scene, listed, releases, seed)
    except DpcoreError as error:
        with place:
            refuse(say("There is nothing to guess from."), error)
        return
    typed = listed.title == OWN or (listed.title == NEAR and pair_is_typed())
    address = None if typed else _address(scene, choice, table)
    with place:
        left, right = st.columns([2, 1])
        with left, st.container(border=True):
            _question(table, scene.reading)
            given = _settled(table)
            if given is not None:
                _end(table, given)
        with right, st.container(border=True):
            _score(table)
        _share(table, address)
        if given is not None:
            _after(table)
    _all_scores()
    take_it_with_you(lambda: Takeaway(None, scene.mechanism.cited, typed=typed, address=address))
    if given is None:
        # All is drawn: the attacker weighs the outputs while the person does, and is kept.
        _ = table.judgement


def _settled(table: Dealt) -> Answer | None:
    """Return the guess of this round, set beside the attacker's; None before it is made."""
    guess = st.session_state.get(_GUESS)
    if guess is not None and guess[0] == table.identity:
        # Not in the callback of the button, which cannot say why it takes a moment.
        with st.spinner(say("The attacker weighs the same outputs…")):
            answer(table, guess[1])
    st.session_state.pop(_GUESS, None)
    return answer_of(table)


def _guess(table: Dealt, place: int) -> None:
    st.session_state[_GUESS] = table.identity, place


def _address(scene: AttackerScene, choice: Choice, table: Dealt) -> str:
    """Return the link of these rules, defaults included: a later default must not change it."""
    group = group_of(scene.mechanism.meaning)
    rules = {
        "view": GAME,
        "attacked": table.rules.mechanism,
        f"eps_{group.name}": group.label(scene.epsilon),
        "game_list": choice.title,
        "game_outputs": str(table.rules.releases),
        "seed": str(table.rules.seed),
    }
    if choice.count:
        rules["game_count"] = str(choice.count)
    if choice.title == NEAR:
        rules["word"] = _centre(scene.words)
    others = [
        (name, value)
        for name in st.query_params
        if name not in rules
        for value in st.query_params.get_all(name)
    ]
    base = (st.context.url or "").split("?")[0]
    return f"{base}?{urlencode([*rules.items(), *others])}"


def _seed() -> int:
    return choose_seed(
        say("Secrets and noise come from it: the same seed plays the same rounds."), 150
    )


def _releases() -> int:
    return whole_number(
        say("Outputs you see"),
        1,
        MAX_GAME_RELEASES,
        3,
        "game_outputs",
        say(
            "How often the one secret is released, each time with fresh noise. Every output "
            "tells something, and the ε of all add up."
        ),
        width=150,
    )


def _question(table: Dealt, reading: str) -> None:
    st.markdown(
        say(
            "**Round {number}.** One of the {words} words below went through {reading}. This "
            "came out:",
            number=round_number(),
            words=len(table.names),
            reading=reading,
        )
    )
    with st.container(horizontal=True, key="game_outputs_shown"):
        for number, output in enumerate(table.dealt.outputs, start=1):
            label = (
                say("output")
                if len(table.dealt.outputs) == 1
                else say("output {number}", number=number)
            )
            st.metric(label, table.game.mechanism.lexicon.words[output], width="content")
    st.markdown(say("Which word was it? Before, all are equally likely."))
    guessed = answer_of(table) is not None or st.session_state.get(_GUESS) is not None
    with st.container(horizontal=True, key="game_guesses"):
        for place, name in enumerate(table.names):
            st.button(
                # Labels of buttons are Markdown, and the words may be typed.
                plain_label(name),
                key=f"guess_{place}",
                disabled=guessed,
                on_click=_guess,
                args=(table, place),
                help=say("Your guess; the first one counts."),
            )
    if table.dealt.telling and not guessed:
        note(
            say(
                "The first round is picked so that it can be reasoned: of many draws of this "
                "seed, the one that points most clearly to its word without showing it. The "
                "later rounds are as drawn."
            )
        )


def _end(table: Dealt, given: Answer) -> None:
    judgement = table.judgement
    st.markdown(f"**{_headline(given)}**")
    who, sure = say("The nearest-word attacker"), ""
    if judgement.posterior is not None:
        who = say("The best attacker (Bayes)")
        sure = say(" (chance {chance})", chance=_chance(judgement))
    # st.text: the words may come from a list that a person typed.
    st.text(
        say(
            "It was “{secret}”.\nYou said “{guess}”: {right}.\n{who} said “{other}”: "
            "{attacker_right}{sure}.",
            secret=table.names[table.dealt.secret],
            guess=table.names[given.guess],
            right=_verdict(given.right),
            who=who,
            other=table.names[judgement.guess],
            attacker_right=_verdict(given.attacker_right),
            sure=sure,
        )
    )
    st.button(
        say("Next word"),
        key="game_next",
        icon=":material/arrow_forward:",
        on_click=next_round,
        help=say("Draws another secret under the same rules."),
    )


def _chance(judgement: Judgement) -> str:
    """Return the attacker's belief in its guess, with the interval of an estimate."""
    posterior, error = judgement.posterior, judgement.error
    if posterior is None or error is None:
        return ""
    best, spread = float(posterior[judgement.guess]), 2 * float(error[judgement.guess])
    chance = numeral(chance_text(best))
    if not spread:
        return chance
    low, high = (
        numeral(f"{outwards(100 * min(max(end, 0), 1)):.0f}")
        for outwards, end in ((math.floor, best - spread), (math.ceil, best + spread))
    )
    return say("about {chance}, estimated: {low} to {high}", chance=chance, low=low, high=high)


def _after(table: Dealt) -> None:
    """Draw what the attacker inferred from the outputs."""
    judgement = table.judgement
    candidates = candidate_table(table, judgement)
    if judgement.posterior is None:
        note(
            say(
                "The probabilities of this mechanism's outputs cannot be computed, so this "
                "attacker names the word of the list that is nearest to what came out. A better "
                "one may exist."
            )
        )
        show_table(candidates, say("Each word of the list with its distance from the outputs"))
    else:
        st.header(say("What the attacker believes now"), anchor=False)
        left, right = st.columns(2)
        with left:
            icons = game_icons(table, judgement)
            show_figure(icon_figure(icons), icon_caption(icons), icons, "game")
        with right:
            show_table(
                candidates,
                say("Each word of the list with the attacker's probability and its distance"),
            )
    _long_run(table)


def _long_run(table: Dealt) -> None:
    """Say how often an attacker is right under these rules."""
    with st.spinner(say("Playing many rounds…")):
        often = table.game.long_run
    exact = table.game.mechanism.exact_law
    right, low, high = (numeral(f"{100 * share:.0f}") for share in often.right)
    st.text(
        say(
            "In {rounds} rounds drawn like the later ones, {who} is right in {right} of 100 "
            "(95 % interval {low} to {high}), blind guessing in {blind}. In {shown} of 100 an "
            "output is the secret itself.",
            rounds=numeral(f"{often.rounds:,}"),
            who=say("Bayes") if exact else say("the nearest-word attacker"),
            right=right,
            low=low,
            high=high,
            blind=numeral(f"{100 / len(table.names):.0f}"),
            shown=numeral(f"{100 * often.shown[0]:.0f}"),
        )
    )
    if table.game.by_bayes:
        note(
            say("No one who sees the same outputs is right more often than Bayes.")
            if exact
            else say(
                "Bayes is right at least as often. Its chances are estimated from {directions} "
                "directions of the noise and others towards each output; the range is two "
                "standard errors either way.",
                directions=numeral(f"{DIRECTIONS.directions:,}"),
            )
        )


def _headline(given: Answer) -> str:
    if given.right and given.attacker_right:
        return say("✔ Both right")
    if given.right:
        return say("✔ You beat the attacker")
    return say("✘ The attacker knows") if given.attacker_right else say("✘ The secret is kept")


def _verdict(right: bool) -> str:
    return say("✔ right") if right else say("✘ wrong")


def _score(table: Dealt) -> None:
    played = scores().get(table.rules, [])
    rounds = len(played)
    st.markdown(
        say("**Score** in {rounds} rounds like this one", rounds=rounds)
        if rounds != 1
        else say("**Score** in 1 round")
    )
    with st.container(horizontal=True):
        st.metric(say("You"), f"{sum(answer.right for answer in played)}")
        st.metric(
            say("Bayes") if table.game.by_bayes else say("Nearest"),
            f"{sum(answer.attacker_right for answer in played)}",
        )
        # With equal chances, one round in as many as there are words is won blindly.
        st.metric(say("Chance"), numeral(f"{rounds / len(table.names):.1f}"))


def _share(table: Dealt, address: str | None) -> None:
    """Draw the score of this seed as a line to copy, with the link to the same rounds."""
    played = scores().get(table.rules, [])
    if not played:
        return
    if address is None:
        note(say("Rounds of typed words have no link: it would contain what you typed."))
        return
    show_line(
        say(
            "Seed {seed}, {rounds} played: I guessed {right}, the attacker {attacker}. Your turn: "
            "{address}",
            seed=table.rules.seed,
            rounds=len(played),
            right=sum(each.right for each in played),
            attacker=sum(each.attacker_right for each in played),
            address=address,
        )
    )
    note(say("Anyone who opens the link plays the same rounds."))


def _all_scores() -> None:
    table = score_table(scores())
    if not len(table):
        return
    with st.expander(say("All your rounds")):
        show_table(
            table,
            say("Rounds won by you, by the attacker and by chance under all rules played so far"),
            # Lists have names in the language of the page; mechanisms are named as in English.
            spoken=["list"],
        )
        with st.container(horizontal=True):
            csv_button(say("Score as CSV"), "guess_the_word", lambda: table, key="csv_score")
            st.button(
                say("Start from nought"),
                key="game_forget",
                icon=":material/restart_alt:",
                on_click=forget,
                help=say("Forgets the score of this session; it is stored nowhere else."),
            )
