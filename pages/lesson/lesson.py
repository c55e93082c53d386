"""Lesson, one step at a time: read, guess, check, look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import streamlit as st

from dpcore.papers.lesson import (
    EXERCISES,
    PROOF_DRAWS,
    PROOF_SEED,
    REPETITIONS,
    RUNS,
    TOGETHER_SEED,
    Exercise,
    exercise,
)
from dpcore.papers.lesson_turns import DRAWN, DRAWN_SEED
from pages.lesson.steps import (
    SETTING,
    SETTINGS,
    STEPS,
    Step,
    answers,
    show_turn,
    step,
    turn_table,
    turned,
    worksheet,
)
from pages.shared import link
from pages.shared.language import Waiting, language, later, say, speaking
from pages.shared.messages import note
from pages.shared.session import catalogued
from pages.shared.taking import Takeaway, take_it_with_you

# Guesses of a session: the first guess at each exercise counts.


GUESSES = "lesson_guesses"
GUESS = "lesson_guess_"


@st.cache_resource(max_entries=len(EXERCISES), show_spinner=Waiting("Calculating the answer…"))
def computed(key: str) -> Exercise:
    """Return an exercise on the bundled words, computed once for all sessions."""
    return exercise(key, catalogued("default"))


def ahead() -> list[Callable[[], object]]:
    """Return what the server computes before the first request: every step, in order."""
    return [partial(make, key) for key in EXERCISES for make in (turned, computed)]


def guesses() -> Mapping[str, float]:
    """Return the first guesses of this session, by key."""
    values: dict[str, float] = st.session_state.setdefault(GUESSES, {})
    return values


def take(key: str) -> None:
    """Record the guess in the field of an exercise if it is the first one."""
    guess = st.session_state.get(f"{GUESS}{key}")
    if guess is not None:
        options = computed(key).options
        value = float(options.index(guess) if options else guess)
        # The first guess counts: after it the answer is on the page.
        st.session_state.setdefault(GUESSES, {}).setdefault(key, value)


def forget() -> None:
    """Discard all guesses, so that the lesson starts over."""
    st.session_state.pop(GUESSES, None)
    for key in EXERCISES:
        # A value left in its field would look like a new guess.
        st.session_state.pop(f"{GUESS}{key}", None)


@dataclass(frozen=True)
class Score:
    """Score of this session.

    Attributes:
        guessed: number of guesses.
        right: number of guesses that count as right.
        near: number of guesses that were not right, but near.
        missed: keys of the guesses that were not right, in the order of the lesson.
    """

    guessed: int
    right: int
    near: int
    missed: tuple[str, ...]


def score() -> Score:
    """Return the score of this session so far."""
    # From the session and not from the fields, which hold guesses that are not checked yet.
    values = guesses()
    missed = tuple(
        key for key in EXERCISES if key in values and not computed(key).right(values[key])
    )
    near = sum(computed(key).nearly(values[key]) for key in missed)
    return Score(len(values), len(values) - len(missed), near, missed)


# End of the lesson: the score, steps to read again, and ways on.


_WAYS = (
    ("pages/rewrite/page.py", later("Rewrite your own sentence, and tap its words")),
    ("pages/tradeoff/page.py", later("See what it costs to hide a word, by every method")),
    ("pages/attacker/page.py", later("Be the attacker: see one output, and guess")),
)


def progress() -> None:
    """Draw the number of guesses made."""
    counted = score()
    if counted.guessed:
        # Nothing before the first guess: an empty bar tells nothing.
        st.progress(
            counted.guessed / len(STEPS),
            say(
                "{guessed} of {count} guesses made, {right} correct.",
                guessed=counted.guessed,
                count=len(STEPS),
                right=counted.right,
            ),
        )


def ending(go_to: Callable[[str], None]) -> None:
    """Draw the score once every guess is made.

    Args:
        go_to: opens a step by its key.
    """
    counted = score()
    if counted.guessed < len(STEPS):
        return
    with st.container(border=True):
        st.header(say("Your result"), anchor=False)
        st.markdown(
            say(
                "**{right} of {count} correct**, {near} close. {praise}",
                right=counted.right,
                count=len(STEPS),
                near=counted.near,
                praise=_kindly(counted.right),
            )
        )
        if counted.missed:
            st.markdown(say("Read again what surprised you:"))
            with st.container(horizontal=True):
                for key in counted.missed:
                    st.button(
                        say(step(key).short),
                        key=f"lesson_again_{key}",
                        on_click=go_to,
                        args=(key,),
                        help=say("Opens the step “{title}”.", title=say(step(key).title)),
                    )
        st.markdown(say("Where to go from here:"))
        for page, label in _WAYS:
            st.page_link(page, label=f"{say(label)}.", icon=":material/arrow_forward:")
        st.button(
            say("Start again"),
            key="lesson_anew",
            icon=":material/restart_alt:",
            on_click=forget,
            help=say("Forgets your guesses. They were kept in this browser session only."),
        )


def _kindly(right: int) -> str:
    if right == len(STEPS):
        return say("Nothing surprised you: you could teach this.")
    if 2 * right >= len(STEPS):
        return say("Well done: most of this is counter-intuitive.")
    return say("These questions surprise nearly everyone; a wrong guess is easy to remember.")


# Export of a step: its numbers, and a cell that computes its answer.


_CITED = {
    "draw": ("feyisetan2020madlib",),
    "odds": ("feyisetan2020madlib", "carvalho2021tem"),
    "crowd": ("feyisetan2020madlib", "xu2021gumbel"),
    "price": ("carvalho2021tem",),
    "claim": ("krishna2021adept", "habernal2021detail"),
    "proof": ("lecuyer2019pixeldp",),
    "choose": ("carvalho2021tem",),
}


def takeaway(key: str) -> Takeaway:
    """Return the numbers and the cell of a step, for export."""
    table = partial(turn_table, key, guessed=key in guesses())
    return Takeaway(
        answer_cell(key), _CITED.get(key, ()), tables={later("Numbers of this step"): table}
    )


def answer_cell(key: str) -> str:
    """Return Python that computes the answer of a step and the data of its slider."""
    return f"""\
from dpcore.lexicon.catalogue import load
from dpcore.papers.lesson import exercise
from dpcore.papers.lesson_turns import turn
from pages.shared.language import say

words = load()
task = exercise("{key}", words)
print(task.question)
print(task.truth)
for frame in turn("{key}", words).frames:
    print(frame.name, *(f"{{bar.name}}: {{bar.text}}" for bar in frame.bars), sep=" | ")
"""


_SOURCES = {
    "names": (0, later("every text of the teaching corpus, nothing drawn")),
    "draw": (DRAWN_SEED, later("{drawn} draws to see; the answer: {many:,} draws of seed 0")),
    "odds": (0, later("from the distance of the two words, nothing drawn")),
    "crowd": (0, later("{many:,} draws for each word")),
    "price": (0, later("from a recorded experiment, whose seeds are on the page Papers")),
    "together": (TOGETHER_SEED, later("one private release of each number of reviews")),
    "claim": (0, later("calculated, nothing drawn")),
    "proof": (PROOF_SEED, later("{draws} draws for each handwritten digit")),
    "choose": (0, later("exact probabilities; what is left of the meaning is recorded")),
}
"""Seed and draws behind the numbers of each step."""


def source(key: str) -> tuple[int, str]:
    """Return the seed of a step, and where its numbers come from."""
    seed, text = _SOURCES[key]
    return seed, say(text, drawn=DRAWN, many=RUNS * REPETITIONS, draws=PROOF_DRAWS)


STEP = "step"
_FRAMES = 1_000  # more than any step has
_MOVED = "lesson_moved"  # how often a button has opened another step
# The title of a step is smaller than that of the page: the picture begins higher on a phone. A step
# that a button opens begins below the bar of the app. The dots are not read out: the list above
# says the number.
_STYLE = """
[data-testid=stMainBlockContainer] :is([data-testid=stMarkdownContainer] p, [data-testid=stText]) {
  max-width: 46rem; /* longer lines are hard to read */
}
.st-key-lesson_title h2 { font-size: 1.5rem; padding: 0.25rem 0; scroll-margin-top: 4.5rem; }
@media (min-width: 641px) {
  .st-key-lesson_title h2::after {
    content: "%s" / "";
    margin-left: 1rem; font-size: 0.9rem; letter-spacing: 0.2em; vertical-align: middle;
  }
}
"""


def open_step() -> str:
    """Draw the list of steps, and return the key of the open one.

    Under `STEP` the session may hold a title in its place, of a language that was left before the
    title arrived.
    """
    keys = [each.key for each in STEPS]
    if STEP not in st.session_state:
        # Not bound by the field: that writes the shown title, and the link has the key in all
        # languages.
        linked = st.query_params.get(STEP, keys[0])
        st.session_state[STEP] = linked if linked in keys else keys[0]
        if SETTING in st.query_params:
            # Of the linked step alone: the others begin as usual.
            at = link.read_whole(SETTING, 0, _FRAMES, -1)
            st.session_state[SETTINGS] = {st.session_state[STEP]: at} if at >= 0 else {}
    key = st.selectbox(
        say("Step"),
        keys,
        format_func=lambda key: say(
            "{place} of {count}: {short}",
            place=keys.index(key) + 1,
            count=len(keys),
            short=say(step(key).short),
        ),
        key=STEP,
        width=260,
        label_visibility="collapsed",
        help=say("Two minutes each. You can go back at any time; the link opens the same step."),
    )
    link.write(STEP, key, keys[0])
    return key


def lesson(key: str) -> None:
    """Draw a step, the way on, and the sheets for teachers."""
    keys = [each.key for each in STEPS]
    place = keys.index(key)
    _step(step(key), place)
    _way(keys, place)
    progress()
    ending(_open)
    with st.expander(say("For teachers: worksheet and answers")):
        _handouts()
    take_it_with_you(lambda: takeaway(key))


def _step(shown: Step, place: int) -> None:
    dots = "".join("●" if i <= place else "○" for i in range(len(STEPS)))
    with st.container(key="lesson_title"):
        st.html(f"<style>{_STYLE % dots}</style>")
        st.header(f"{place + 1}. {say(shown.title)}", anchor=False)
    # Before the story: something to turn is on the first screen, above the text.
    moved = st.session_state.get(_MOVED, 0)
    show_turn(shown.key, guessed=shown.key in guesses(), moved=moved)
    st.markdown(say(shown.story))
    task = computed(shown.key)
    with st.container(border=True):
        st.markdown(say("**Take a guess, then check**"))
        st.text(say(task.question))
        _guess(task)
        if task.key in guesses():
            _answer(task, guesses()[task.key])
    with st.expander(say("The formula")):
        st.markdown(say(shown.formula))
    # After the guess: the page that is linked may show the answer.
    if task.key in guesses():
        st.page_link(
            shown.page,
            label=f"{say(shown.look)}.",
            icon=":material/arrow_forward:",
            query_params=shown.link,
        )


def _guess(task: Exercise) -> None:
    guess = guesses().get(task.key)
    field = f"{GUESS}{task.key}"
    if task.options:
        if guess is not None:
            # Streamlit forgets the value of a field while another step is open; the guess is set
            # again.
            st.session_state[field] = task.options[int(guess)]
        st.radio(
            say("Your guess"),
            task.options,
            format_func=say,
            index=None,
            key=field,
            disabled=guess is not None,
            help=say("The first guess counts."),
        )
    else:
        if guess is not None:
            st.session_state[field] = guess
        st.number_input(
            say(
                "Your guess, from {low:g} to {high:g}{unit}; {near:g} more or less is correct",
                low=task.low,
                high=task.high,
                unit=task.unit,
                near=task.near,
            ),
            float(task.low),
            float(task.high),
            None,
            step=float(task.step),
            format="%g",
            key=field,
            disabled=guess is not None,
            width=420,
            placeholder=say("a number"),
            help=say("The first guess counts."),
        )
    if guess is None and st.button(
        say("Check"),
        key=f"lesson_check_{task.key}",
        icon=":material/check:",
        on_click=take,
        args=(task.key,),
        help=say("Shows the answer, computed by the laboratory."),
    ):
        note(
            say("Guess first: choose an answer.")
            if task.options
            else say(
                "Guess first: type a number from {low:g} to {high:g}.",
                low=task.low,
                high=task.high,
            )
        )


def _answer(task: Exercise, guess: float) -> None:
    if task.right(guess):
        st.success(say("Correct."), icon=":material/check_circle:")
    elif task.options:
        st.info(say("Not quite."), icon=":material/cancel:")
    else:
        more = task.answer > guess
        told = say("It is more than that.") if more else say("It is less than that.")
        st.info(told, icon=":material/cancel:")
    st.text(say(task.truth))


def _way(keys: list[str], place: int) -> None:
    with st.container(horizontal=True):
        for label, other, icon in (
            (say("Back"), place - 1, "back"),
            (say("Next step"), place + 1, "forward"),
        ):
            if 0 <= other < len(keys):
                st.button(
                    label,
                    key=f"lesson_{icon}",
                    icon=f":material/arrow_{icon}:",
                    on_click=_open,
                    args=(keys[other],),
                    help=say(
                        "Opens step {number}: {title}.",
                        number=other + 1,
                        title=say(step(keys[other]).title),
                    ),
                )


def _open(key: str) -> None:
    # In a callback: Streamlit refuses to set the value of a field that is drawn already.
    st.session_state[STEP] = key
    st.session_state[_MOVED] = st.session_state.get(_MOVED, 0) + 1


def _sheet(make: Callable[[tuple[Exercise, ...]], str], spoken: str) -> str:
    with speaking(spoken):
        return make(tuple(computed(each.key) for each in STEPS))


def _handouts() -> None:
    note(
        say(
            "Nine steps, about two minutes each on your own. With a class, let everyone write "
            "down a guess before anyone checks; plan an hour. **Reading aids** in the sidebar "
            "has large letters for a projector. The sheets open in a browser and print on "
            "paper."
        )
    )
    with st.container(horizontal=True):
        for label, name, make in (
            (say("Worksheet"), "worksheet", worksheet),
            (say("Answers"), "answers", answers),
        ):
            st.download_button(
                label,
                # Made when the button is pressed, outside a run of the page: the language has to be
                # handed on.
                data=partial(_sheet, make, language()),
                file_name=f"word-privacy-{name}.html",
                mime="text/html",
                key=f"lesson_{name}",
                icon=":material/download:",
                # A download changes nothing on the page.
                on_click="ignore",
                help=say("A single file that any browser opens and prints; it loads nothing else."),
            )
