"""Choice of ε by a goal: the ε with which each mechanism meets it, and a button to set it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd
import streamlit as st

from dpcore.attack.trade.ground import GUESSED, KEPT, MEANT
from dpcore.errors import DpcoreError
from dpcore.limits import PAGE_WORDS
from dpcore.measure import words as measured
from dpcore.measure.targets import OVER, Target, solve
from dpcore.measure.words import Selection
from dpcore.mechanisms.mechanism import Mechanism
from dpcore.noise.streams import generator
from dpcore.study.utility import solve_margin as solve_accuracy
from dpcore.written import Filled
from pages.shared import link
from pages.shared.dial import admissible_grid, group_of
from pages.shared.epsilon_dial import set_epsilon
from pages.shared.figure import csv_button
from pages.shared.language import later, say
from pages.shared.link import choose_one, pick
from pages.shared.messages import inform, note, refuse
from pages.shared.once import session_memo
from pages.shared.progress import Reporter
from pages.shared.promised import of_100, promise
from pages.shared.session import Bench
from pages.shared.table import show_table
from pages.shared.taking import recorded
from pages.shared.words import chosen_pair, spelled
from pages.tradeoff.packet import BoardCurve, counted
from pages.tradeoff.quantities import LEAKAGES, UTILITIES
from pages.tradeoff.scene import TURNED, TradeoffScene, share_at_dial

# Goals for ε: on leakage, on utility, and on words chosen by the user.


@dataclass(frozen=True)
class Goal:
    """Goal for ε.

    Attributes:
        key: name in links.
        title: title in the list.
        quantity: quantity of a recorded curve, of `Target`, or "accuracy".
        unit: text after the number.
        most: True if the number is an upper limit; otherwise it is a lower one.
        start: default number.
        ends: smallest and largest number.
    """

    key: str
    title: str
    quantity: str
    unit: str
    most: bool
    start: float
    ends: tuple[float, float] = (0.0, 100.0)

    @property
    def measured(self) -> bool:
        """True if it concerns words chosen by the user, and so is measured now."""
        return self.quantity in {"nw", "sw", "effective"}


BOUND = later("Bound")
"""Title above a number without a unit."""
TAUGHT = {one.name: (one.title, *one.data) for one in UTILITIES if one.data is not None}
"""By name in links: title, record, and labels or corpus."""


def _learned() -> tuple[Goal, ...]:
    """Return goals that limit the leakage."""
    return tuple(
        Goal(
            one.key,
            Filled("{learned} at most", learned=Filled(one.counted[0])),
            one.key,
            one.counted[1],
            True,
            100 * one.start,
        )
        for one in LEAKAGES
        # Membership was recorded on corpora, not on the lexicon, and so has no curve to read here.
        if one.key != "auc"
    )


def _taught() -> tuple[Goal, ...]:
    """Return goals that limit the loss of accuracy."""
    return tuple(
        Goal(
            name,
            Filled("{title}: accuracy lost, at most", title=Filled(title)),
            "accuracy",
            later("points"),
            True,
            5.0,
        )
        for name, (title, _, _) in TAUGHT.items()
    )


GOALS = (
    *_learned(),
    Goal(
        "meaning",
        later("Meaning left, at least"),
        MEANT,
        later("% of the meaning"),
        False,
        30.0,
    ),
    Goal("kept", later("Words that stay, at least"), KEPT, later("of 100 words"), False, 20.0),
    *_taught(),
    Goal("nw", later("Nw of your own words, at most"), "nw", "", True, 0.5, (0.0, 1.0)),
    Goal(
        "sw",
        later("Sw of your own words, at least"),
        "sw",
        later("outputs in 1,000"),
        False,
        10.0,
        (1.0, 1e3),
    ),
    Goal(
        "effective",
        later("Effective number of outputs, at least"),
        "effective",
        "",
        False,
        10.0,
        (1.0, 1e6),
    ),
)


_EVERYWHERE = later("at every ε")
_OF = {
    "sentence": later("your sentence"),
    "word": later("one word"),
    "text": later("a text or a list of words"),
}


@dataclass(frozen=True)
class Answer:
    """ε at which one mechanism meets a goal.

    Attributes:
        shown: the mechanism.
        epsilon: the most useful, or the most private, ε that meets it; None if none is known.
        why: a remark: its certainty, or why there is none.
    """

    shown: BoardCurve
    epsilon: float | None
    why: str = ""


def goal_view(scene: TradeoffScene, bench: Bench) -> None:
    """Draw the goal, the answers, and the button that sets one of them on every page."""
    goal, bound = _choose_goal(scene)
    try:
        answers = _answers(scene.shown, goal, bound, bench)
    except DpcoreError as error:
        refuse(say("There is no answer for this goal."), error)
        return
    if not answers:
        return
    table = answer_table(answers)
    show_table(
        table,
        say("The ε at which each mechanism meets the goal, with its leakage and its utility there"),
        column_config={
            "ε": st.column_config.NumberColumn(format="%.3g"),
            "why": st.column_config.TextColumn(say("remark"), width=260),
        },
    )
    note(_method(goal))
    _set_everywhere(answers, goal)
    csv_button(
        say("Answers as CSV"), "epsilon_for_a_goal", lambda: answer_table(answers), key="csv_goal"
    )


def _choose_goal(scene: TradeoffScene) -> tuple[Goal, float]:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        goals = {goal.key: goal for goal in GOALS}
        key = choose_one(
            st.selectbox,
            say("Goal"),
            {name: goal.title for name, goal in goals.items()},
            "goal",
            help=say(
                "An upper limit on leakage, or a lower limit on utility. Nw: how often a word "
                "comes out unchanged; Sw: how many different words come out."
            ),
            width=420,
        )
        goal = goals[key]
        field, of_dial = f"goal_{key}", key == counted(scene.leakage)
        # Here and not where the dial rests: the browser is sent a value that is set in this run.
        if of_dial and st.session_state.pop(TURNED, False):
            st.session_state[field] = share_at_dial(scene.leakage)
            link.put({field: []})
        start: float | Literal["min"] = "min"  # no default beside a value in the session state
        if field not in st.session_state:
            start = share_at_dial(scene.leakage) if of_dial else goal.start
        bound = st.number_input(
            say(goal.unit or BOUND),
            *goal.ends,
            start,
            step=0.05 if goal.quantity == "nw" else 1.0,
            format="%g",
            key=field,
            bind="query-params",
            width=190,
            help=say(
                "The limit itself counts as meeting the goal. Moving the dial sets it, where the "
                "dial counts the same."
            ),
        )
    return goal, float(bound)


def _answers(shown: Sequence[BoardCurve], goal: Goal, bound: float, bench: Bench) -> list[Answer]:
    if goal.measured:
        return _measured(shown, goal, bound, bench)
    if goal.quantity == "accuracy":
        return _taught_goal(shown, goal, bound)
    return [recorded_answer(one, goal, bound / 100) for one in shown]


def recorded_answer(one: BoardCurve, goal: Goal, bound: float) -> Answer:
    """Return the ε at which a recorded curve meets a goal.

    Args:
        one: the mechanism.
        goal: a goal for leakage or utility.
        bound: a share.
    """
    curve = one.curve
    if goal.most:
        epsilon = curve.keeps_below(goal.quantity, bound)
        if epsilon is None:
            return Answer(one, None, later("more is guessed at every measured ε"))
        # `keeps_below` returns exactly the last measured ε where the goal is never exceeded.
        last = epsilon == curve.epsilons[-1]
        return Answer(one, epsilon, _doubt(last=last, weaker=goal.quantity in curve.at_least))
    epsilon = curve.reaches(goal.quantity, bound)
    if epsilon is None:
        return Answer(one, None, later("leaves less at every measured ε"))
    # `reaches` works on 1/ε, so the first measured ε may come back with a rounding error.
    first = epsilon <= curve.epsilons[0] * (1 + 1e-12)
    return Answer(one, epsilon, later("or less: it was not measured below") if first else "")


def _doubt(*, last: bool, weaker: bool) -> str:
    if last and weaker:
        return later("up to the largest measured ε; a better attacker may learn more")
    if last:
        return later("up to the largest measured ε")
    return later("a better attacker may learn more") if weaker else ""


def _taught_goal(shown: Sequence[BoardCurve], goal: Goal, bound: float) -> list[Answer]:
    _, name, labels = TAUGHT[goal.key]
    where = {"data": labels, "learner": "tf-idf", "tested_on": "private", "lexicon": "bundled"}
    solved = {one.curve: one for one in solve_accuracy(recorded(name).table, bound / 100, **where)}
    answers = []
    for one in shown:
        solution = solved.get(one.curve.label)
        if solution is None:
            answers.append(Answer(one, None, later("no classifier was trained on it")))
        # The upper end of the interval is the safe one: a larger ε keeps more accuracy.
        elif solution.high is None:
            answers.append(
                Answer(
                    one,
                    None,
                    later("more is lost, or may be, at every measured ε (95 %)"),
                )
            )
        else:
            first = solution.high <= solution.smallest
            answers.append(Answer(one, solution.high, later("or less") if first else ""))
    return answers


def _measured(shown: Sequence[BoardCurve], goal: Goal, bound: float, bench: Bench) -> list[Answer]:
    over, selection = _choose_words(bench)
    if selection is None:
        return []
    target = Target(goal.quantity, bound, over)
    # Closed forms take a moment and need no button; estimates take some ten seconds each.
    quick = [one for one in shown if one.mechanism.exact_law]
    slow = [one for one in shown if not one.mechanism.exact_law]
    known = st.session_state.setdefault("goal_solutions", {})
    missing = [one for one in slow if _key(one.mechanism, target, selection) not in known]
    if missing and not st.button(
        say("Measure {labels} too", labels=", ".join(one.curve.label for one in missing)),
        key="goal_measure",
        icon=":material/casino:",
        help=say(
            "Their output distributions are estimated from noise directions, about ten seconds "
            "each."
        ),
    ):
        slow = [one for one in slow if one not in missing]
        note(
            say(
                "Not shown yet: these mechanisms have no closed form, and a measurement takes a "
                "few seconds."
            )
        )
    return [_solved(one, target, selection) for one in shown if one in quick or one in slow]


def _key(kind: Mechanism, target: Target, selection: Selection) -> tuple[object, ...]:
    # Bytes of the words: arrays cannot be keys, and a text may have any number of words.
    return kind, target, selection.words.tobytes(), selection.weights.tobytes()


def _solved(one: BoardCurve, target: Target, selection: Selection) -> Answer:
    def compute() -> tuple[float | None, str]:
        with Reporter(say("Searching for ε of {label}", label=one.curve.label)) as progress:
            solution = solve(one.mechanism, selection, target, progress=progress)
        if solution.certain is not None:
            last = solution.certain[-1] if solution.certain else None
            if last is None:
                return None, Filled("at no ε with certainty")
            if last[1] >= solution.epsilons[-1]:
                return last[1], _EVERYWHERE
            return last[1], Filled("measured: {method}", method=solution.method)
        if not solution.intervals:
            return None, Filled("at no ε")
        # The last interval: where Nw is not monotone, the most useful ε that meets the goal.
        end = solution.intervals[-1]
        if not end.high_is_crossing:
            return end.high, _EVERYWHERE
        if not solution.error:
            return end.high, Filled("measured: {method}", method=solution.method)
        method, error = solution.method, solution.error
        return end.high, Filled(
            "measured: {method}, standard error {error:.2g}", method=method, error=error
        )

    key = _key(one.mechanism, target, selection)
    epsilon, why = session_memo("goal_solutions", key, compute, 60)
    if why == _EVERYWHERE:
        return Answer(one, None, why)
    return Answer(one, epsilon, why)


def _choose_words(bench: Bench) -> tuple[str, Selection | None]:
    lexicon = bench.lexicon
    with st.container(horizontal=True, vertical_alignment="bottom"):
        over = pick(
            say("Statistic"),
            OVER,
            "over",
            say("The statistic that must meet the goal: mean, median, or the least deniable word."),
            width=150,
        )
        of = choose_one(
            st.selectbox,
            say("Words"),
            _OF,
            "of_words",
            help=say(
                "The words whose Nw and Sw count: the sentence above, the word chosen on all "
                "pages, or your own words."
            ),
            width=260,
        )
        if of == "word":
            word, _ = chosen_pair(lexicon)
            usual = word or "doctor"
            # Not bound to the link: a word that is typed stays in the session.
            typed = st.text_input(
                say("Word"), usual, key="goal_word", help=say("A word of the vocabulary.")
            )
            return over, measured.select_words(lexicon, [spelled(typed, lexicon) or typed.strip()])
        if of == "sentence":
            places = range(bench.sentence.protected)
            names = [lexicon.words[bench.word(i)] for i in places if bench.word(i) >= 0]
            return over, measured.select_words(lexicon, names)
    text = st.text_area(
        say("Text or words"),
        key="goal_text",
        height=90,
        # The field is not drawn under other choices, and Streamlit would forget the text.
        persist_state="session",
        help=say(
            "Each word counts as often as it occurs; of more than {most} different words only "
            "the most frequent count. Your text stays in this browser session and out of the "
            "link.",
            most=PAGE_WORDS,
        ),
    )
    if not text.strip():
        inform(say("Paste a text or some words above."))
        return over, None
    whole = measured.corpus(lexicon, text)
    # A fixed seed: one text gives the same words, and so the same ε, in every run.
    rng = generator(link.SEED, "words of a text")
    return over, measured.subsample(whole, PAGE_WORDS, rng)


def answer_table(answers: Sequence[Answer]) -> pd.DataFrame:
    """Return one row per mechanism: its ε, the guarantee, and the lexicon's measurements there."""
    rows = []
    for answer in answers:
        one, epsilon = answer.shown, answer.epsilon
        row = {"mechanism": one.curve.label, "ε": epsilon, "promise": "", "why": say(answer.why)}
        guessed = left = None
        if epsilon is not None:
            row["promise"] = promise(one.mechanism, epsilon)
            guessed = one.curve.at_epsilon(GUESSED, epsilon)
            left = one.curve.at_epsilon(MEANT, epsilon)
        row["content words guessed"] = (
            say("not measured there") if guessed is None else of_100(guessed)
        )
        row["meaning left"] = say("not measured there") if left is None else f"{100 * left:.0f} %"
        if epsilon is None:
            # Without an answer there is nothing to show, which differs from "not measured there".
            row["content words guessed"] = row["meaning left"] = ""
        rows.append(row)
    columns = ["mechanism", "ε", "promise", "content words guessed", "meaning left", "why"]
    # Where no mechanism has an answer, the column would be of objects, and its format would not
    # apply.
    return pd.DataFrame(rows)[columns].astype({"ε": "float64"})


def step_for(answer: Answer, *, most: bool) -> float | None:
    """Return the step of the dial nearest to an answer that still meets the goal."""
    kind = answer.shown.mechanism
    if answer.epsilon is None:
        return None
    steps = [e for e in admissible_grid(group_of(kind.meaning), [kind]) if e in kind.admissible]
    # Rounded towards the goal: the nearest step on the other side would miss it.
    if most:
        return max((e for e in steps if e <= answer.epsilon), default=None)
    return min((e for e in steps if e >= answer.epsilon), default=None)


def _set_everywhere(answers: Sequence[Answer], goal: Goal) -> None:
    # For accuracy the goal is a largest loss, which a larger ε meets; Sw falls with ε.
    most = goal.quantity in {"sw", "effective"} or (goal.most and goal.quantity != "accuracy")
    steps = [(answer.shown, step_for(answer, most=most)) for answer in answers]
    able = {shown.curve.label: (shown.mechanism, step) for shown, step in steps if step}
    if not able:
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.session_state.get("attacked")
        label = st.selectbox(
            say("Mechanism"),
            list(able),
            next((i for i, (kind, _) in enumerate(able.values()) if kind.short == chosen), 0),
            key="goal_mechanism",
            width=260,
            help=say("The mechanism whose ε is set on every page."),
        )
        kind, step = able[label]
        group = group_of(kind.meaning)

        def take() -> None:
            set_epsilon(group, step)
            # The key of the choice of one mechanism in the sidebar, which the menu carries from
            # page to page.
            st.session_state["attacked"] = kind.short
            st.session_state["goal_set"] = f"{label}: {group.reading(step)}"

        st.button(
            say("Set {reading} on every page", reading=group.reading(step)),
            key="goal_take",
            icon=":material/tune:",
            on_click=take,
            help=say(
                "Sets the nearest step of the dial that still meets the goal; Attacker then "
                "shows this mechanism."
            ),
        )
    (answer,) = (each for each in answers if each.shown.curve.label == label)
    if not math.isclose(step, answer.epsilon or step, rel_tol=1e-3):
        guessed = answer.shown.curve.at_epsilon(GUESSED, step)
        note(
            say(
                "The dials have no step at {answer}: {reading} is the nearest that meets the goal. "
                "Content words guessed there: {guessed}.",
                answer=group.reading(float(f"{answer.epsilon:.3g}")),
                reading=group.reading(step),
                guessed=say("not measured there") if guessed is None else of_100(guessed),
            )
        )
    if "goal_set" in st.session_state:
        st.text(say("Set on every page: {goal_set}.", goal_set=st.session_state["goal_set"]))


def _method(goal: Goal) -> str:
    if goal.measured:
        return say(
            "Searched over the whole range of ε for the words above. For Nw the entire 95 % "
            "interval meets the goal. `python -m dpcore solve` does the same."
        )
    if goal.quantity == "accuracy":
        return say(
            "The ε from which the 95 % interval of the loss (over trials, each compared with "
            "the same texts without privacy) stays within the goal, interpolated linearly in "
            "ln ε between measurements. The ε of two mechanisms are not the same quantity."
        )
    return say(
        "Read from the recorded trade-off at the unfavourable end of each 95 % interval, as on "
        "Release; the ε in the picture are read at the estimate, so they differ a little. The ε "
        "of two mechanisms are not the same quantity; the guessing rates are."
    )
