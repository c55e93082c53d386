#!/usr/bin/env python3
"""Compute the right answers of the study, write its form, and evaluate what people answered.

    python -m docs.study.kit build               # tasks.json and form.html, with the engine
    python -m docs.study.kit assign 20           # codes, each with a group drawn at random
    python -m docs.study.kit evaluate answers/   # a folder of files saved by the form

README.md beside this file says how the study is run. Nobody has taken part in it yet.
"""

from __future__ import annotations

import argparse
import json
import math
import secrets
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import dpcore as dp
from dpcore.attack.output.prior import content_words
from dpcore.audit.composition import composition
from dpcore.audit.montecarlo import clopper_pearson
from dpcore.learn.intervals import mean_interval, student_quantile

HERE = Path(__file__).parent
VERSION = 1
"""Of the tasks; a file of answers to others is refused."""
SUBJECTS = {"epsilon": "ε", "leakage": "Leakage", "crowd": "Crowds"}
GROUPS = ("pages", "text")
LEVEL = 0.95


@dataclass(frozen=True)
class Task:
    """One question with one right option.

    Attributes:
        name: of the task, in files of answers.
        subject: of `SUBJECTS`.
        question: one or two sentences; names all conditions.
        options: at least three, in the order in which they are shown; numbers or texts.
        truth: computes the right answer: a number, of which the nearest option is right, or the
            text of an option.
    """

    name: str
    subject: str
    question: str
    options: tuple[float | str, ...]
    truth: Callable[[], float | str]


def _kary() -> Any:
    return dp.mechanism("k-ary", dp.lexicon())


def _tem() -> Any:
    return dp.mechanism("tem", dp.lexicon())


def _neighbours() -> Any:
    return dp.mechanism("neighbour-response", dp.lexicon())


def _stays(mechanism: Any, word: str, epsilon: float) -> float:
    """Return in how many of 100 releases a word comes out as it is."""
    return 100 * float(mechanism.law(word, epsilon).probability(word))


def _two_answers() -> float:
    pair = dp.lexicon(limit=2)
    return _stays(dp.mechanism("k-ary", pair), pair.words[0], 1.0)


def _which_stays_more() -> str:
    tem, kary = (_stays(each, "doctor", 5.0) for each in (_tem(), _kary()))
    return "TEM" if tem > 2 * kary else "k-ary" if kary > 2 * tem else "both alike"


def _believed() -> float:
    """Return how likely, of 100, a word stood where it came out, by its frequency."""
    lexicon, kary = dp.lexicon(), _kary()
    prior = content_words(lexicon).probability
    word = lexicon.words.index("great")
    law = kary.law("great", 8.0)
    stays, other = law.probability("great"), law.probability("the")  # any other word is alike
    return 100 * float(prior[word] * stays / (prior[word] * stays + (1 - prior[word]) * other))


def _raw_share() -> str:
    """Return whether a word of a hundredth of the text is as common among the outputs."""
    law = _kary().law("great", 8.0)
    share = 0.01 * law.probability("great") + 0.99 * law.probability("the")
    return "more rarely" if share < 0.009 else "more often" if share > 0.011 else "as often"


def _texts(error: float) -> float:
    plan = dp.plan(_kary(), error=error, leakage=0.1, words=["great"])
    return float(plan.texts or math.inf)


LIST = "all 25,000 words of the vocabulary"
TASKS = (
    Task(
        "two-answers", "epsilon",
        "People answer yes or no, and noise with ε = 1 between the two answers decides what is "
        "released. Of 100 people, for how many is the true answer released?",
        (50, 62, 73, 95), _two_answers,
    ),
    Task(
        "double", "epsilon",
        "Under TEM at ε = 2 per unit of distance, “doctor” comes out as it is in 7 of 100 "
        "releases. In how many at ε = 4?",
        (4, 14, 28, 99), lambda: _stays(_tem(), "doctor", 4.0),
    ),
    Task(
        "large-list", "epsilon",
        f"k-ary response at ε = 8 between any two words releases a word or any other of {LIST}. In "
        "how many of 100 releases does the word come out as it is?",
        (11, 50, 89, 99.97), lambda: _stays(_kary(), "doctor", 8.0),
    ),
    Task(
        "whole-text", "epsilon",
        "Each of the 11 words of a text is released with fresh noise under k-ary response at "
        "ε = 2. Which ε holds for the whole text, by adding up?",
        (2, 11, 22, 121), lambda: float(composition(_kary(), 2.0, 11).total),
    ),
    Task(
        "two-kinds", "epsilon",
        "TEM has ε = 5 per unit of distance, k-ary response has ε = 5 between any two words. Under "
        "which does “doctor” come out as it is more often?",
        ("TEM", "k-ary", "both alike"), _which_stays_more,
    ),
    Task(
        "before", "leakage",
        "Someone knows how common words are and sees no output. How many of 100 content words do "
        f"they guess, among {LIST}?",
        (0.4, 5, 20, 50), lambda: 100 * dp.leak(_kary(), 8.0).before,
    ),
    Task(
        "knows-english", "leakage",
        "Under the neighbour response at ε = 9.2, someone to whom all words are equally likely "
        "guesses 8 of 100 words. How many content words does someone guess who knows how common "
        "words are?",
        (1, 8, 31, 90), lambda: 100 * dp.leak(_neighbours(), 9.2).after,
    ),
    Task(
        "near-word", "leakage",
        "The same person guesses 31 of 100 content words exactly. How often is the guess the word "
        "or one of its nearest words?",
        (10, 31, 80, 100), lambda: 100 * dp.leak(_neighbours(), 9.2, gain="near").after,
    ),
    Task(
        "again", "leakage",
        "Under k-ary response at ε = 8 someone guesses 11 of 100 content words from one release. "
        "How many from 16 releases of the same word, each with fresh noise?",
        (11, 22, 68, 100), lambda: 100 * dp.repeated_leak(_kary(), 8.0, 16).rows[-1].value,
    ),
    Task(
        "repeated-answer", "leakage",
        "Now the first output is kept and shown 16 times, without new noise. How many of 100 "
        "content words does someone guess?",
        (11, 22, 68, 100), lambda: 100 * dp.leak(_kary(), 8.0).after,
    ),
    Task(
        "one-text", "crowd",
        "“great” comes out once, under k-ary response at ε = 8. Someone knows how common content "
        "words are. How likely do they think it, of 100, that “great” stood there?",
        (0.1, 11, 70, 99), _believed,
    ),
    Task(
        "raw", "crowd",
        "One word in 100 of many texts is “great”. All words go through k-ary response at ε = 8, "
        "and no noise is undone. How often is “great” among the outputs?",
        ("as often", "more rarely", "more often"), _raw_share,
    ),
    Task(
        "how-many", "crowd",
        "k-ary response lets 10 of 100 content words be guessed. “great” is one word in 2,311, and "
        "a text has 220 words. How many texts does a count of it within 20 % take?",
        (200, 2_000, 18_000, 2_000_000), lambda: _texts(0.2),
    ),
    Task(
        "half-the-error", "crowd",
        "How many times as many texts does half the error take?",
        (2, 4, 8, 16), lambda: _texts(0.1) / _texts(0.2),
    ),
    Task(
        "missed", "crowd",
        "100 words are counted, each with an interval of 95 % by itself. How many intervals "
        "leave out the true count, on average?",
        (0, 1, 5, 50),
        lambda: 100 * (1 - dp.plan(_kary(), error=0.2, leakage=0.1, words=["great"]).level),
    ),
)  # fmt: skip


def shown(option: float | str) -> str:
    """Return an option as the form writes it."""
    if isinstance(option, str):
        return option
    return f"{option:,}" if option >= 1000 else f"{option:g}"


def right(task: Task, truth: float | str) -> int:
    """Return the number of the right option: the text, or the nearest number by ratio.

    Raises:
        ValueError: no option is right, or the computed number lies nearly between two.
    """
    if isinstance(truth, str):
        return task.options.index(truth)
    # 0 has no ratio; a hundredth of a unit is as good as nothing here.
    ratios = [abs(math.log(max(float(o), 0.01) / max(truth, 0.01))) for o in task.options]
    first, second = sorted(ratios)[:2]
    if not (first < math.log(1.15) and second > 2 * first):
        raise ValueError(f"{task.name}: {truth:g} is not clearly one of {task.options}")
    return ratios.index(first)


def computed() -> list[dict[str, Any]]:
    """Compute the right answer of each task with the engine."""
    rows = []
    for task in TASKS:
        truth = task.truth()
        rows.append(
            {
                "name": task.name,
                "subject": task.subject,
                "question": task.question,
                "options": [shown(option) for option in task.options],
                "right": right(task, truth),
                "computed": truth if isinstance(truth, str) else float(f"{truth:.4g}"),
            }
        )
    return rows


_BEGIN, _END = "/*TASKS*/", "/*END*/"  # around the tasks in the form


def form(tasks: Sequence[dict[str, Any]]) -> str:
    """Return the form with these tasks in place of its own, without the right answers."""
    public = ("name", "subject", "question", "options")
    questions = [{key: task[key] for key in public} for task in tasks]
    # "<" cannot end the script that holds the tasks.
    data = json.dumps({"version": VERSION, "subjects": SUBJECTS, "tasks": questions}, indent=1)
    page = (HERE / "form.html").read_text(encoding="utf-8")
    head, (_, tail) = page.partition(_BEGIN)[0], page.split(_END)
    return "".join((head, _BEGIN, data.replace("<", "\\u003c"), _END, tail))


def assign(people: int) -> list[tuple[str, str]]:
    """Draw a code and a group for each person; every two people get both groups."""
    rows: list[tuple[str, str]] = []
    while len(rows) < people:
        pair = list(GROUPS)
        secrets.SystemRandom().shuffle(pair)
        rows += [(secrets.token_hex(4), group) for group in pair]
    return rows[:people]


class AnswersError(Exception):
    """A file that is not one of answers to these tasks."""


@dataclass(frozen=True)
class Person:
    """Answers of one person: by task True if right; what is left open counts as not right."""

    code: str
    group: str
    right: dict[str, bool]


def read(path: Path, tasks: Sequence[dict[str, Any]]) -> Person:
    """Read a file that the form has saved.

    Raises:
        AnswersError: it is another file, of another version, or without consent.
    """
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
        group, answers, code = str(saved["group"]), dict(saved["answers"]), str(saved["code"])
        version, consent = saved["version"], saved["consent"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise AnswersError(f"{path.name} is no file of the form ({type(error).__name__})") from None
    if version != VERSION or consent is not True or group not in GROUPS or not code:
        raise AnswersError(f"{path.name}: wrong version or group, or no code or consent")
    sizes = {task["name"]: len(task["options"]) for task in tasks}
    for name, answer in answers.items():
        whole = isinstance(answer, int) and not isinstance(answer, bool)
        if name not in sizes or not (answer is None or (whole and 0 <= answer < sizes[name])):
            raise AnswersError(f"{path.name}: {name} has no option {answer!r}")
    marks = {task["name"]: answers.get(task["name"]) == task["right"] for task in tasks}
    return Person(code, group, marks)


def evaluate(people: Sequence[Person], tasks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Compute shares of right answers by group, with intervals.

    A person is one observation: answers of one person are not independent. So a subject has the
    mean over people of the share that each got right, with Student's interval. A difference of
    groups has Welch's standard error and, with as many degrees of freedom as the smaller group has,
    a wider interval than Welch's; those of the subjects hold together (Bonferroni). A single task
    has the interval of Clopper and Pearson. Intervals of means rest on about normal means: with
    fewer than ten people a group take them as rough.

    Raises:
        AnswersError: a code occurs twice.
    """
    codes = [person.code for person in people]
    twice = sorted({code for code in codes if codes.count(code) > 1})
    if twice:
        raise AnswersError(f"more than one file of {', '.join(twice)}: keep the first of each")
    groups = {name: [each for each in people if each.group == name] for name in GROUPS}
    subjects: dict[str, Any] = {}
    for subject in SUBJECTS:
        names = [task["name"] for task in tasks if task["subject"] == subject]
        scores = {
            group: np.array([np.mean([each.right[name] for name in names]) for each in inside])
            for group, inside in groups.items()
        }
        row: dict[str, Any] = {
            group: _mean(values) if values.size else None for group, values in scores.items()
        }
        row["difference"] = _difference(*(scores[group] for group in GROUPS))
        subjects[subject] = row
    shares = {
        task["name"]: {
            group: _share([each.right[task["name"]] for each in inside])
            for group, inside in groups.items()
        }
        for task in tasks
    }
    counts = {group: len(inside) for group, inside in groups.items()}
    return {"version": VERSION, "people": counts, "subjects": subjects, "tasks": shares}


def _mean(values: np.ndarray[Any, Any]) -> dict[str, float | None]:
    mean = mean_interval(values)
    # One person has no interval.
    low, high = (None if math.isnan(end) else end for end in (mean.low, mean.high))
    return {"mean": mean.mean, "low": low, "high": high}


def _difference(
    first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]
) -> dict[str, float] | None:
    if min(first.size, second.size) < 2:
        return None
    level = 1 - (1 - LEVEL) / len(SUBJECTS)
    error = math.sqrt(first.var(ddof=1) / first.size + second.var(ddof=1) / second.size)
    half = student_quantile(min(first.size, second.size) - 1, level) * error
    mean = float(first.mean() - second.mean())
    return {"mean": mean, "low": mean - half, "high": mean + half}


def _share(marks: Sequence[bool]) -> dict[str, float] | None:
    if not marks:
        return None
    count = sum(marks)
    low, high = clopper_pearson(count, len(marks), (1 - LEVEL) / 2)
    return {"share": count / len(marks), "low": low, "high": high}


def _table(result: dict[str, Any]) -> str:
    def cell(row: dict[str, Any] | None, name: str) -> str:
        if row is None:
            return "–"
        if row["low"] is None:
            return f"{row[name]:.2f}"
        return f"{row[name]:.2f} ({row['low']:.2f} to {row['high']:.2f})"

    people = ", ".join(f"{count} {group}" for group, count in result["people"].items())
    lines = [f"Right answers, of 1, with intervals of 95 %; people: {people}", ""]
    lines += ["| subject | pages | text | pages − text |", "|---|---|---|---|"]
    for name, row in result["subjects"].items():
        cells = " | ".join(cell(row[key], "mean") for key in (*GROUPS, "difference"))
        lines.append(f"| {SUBJECTS[name]} | {cells} |")
    lines += ["", "| task | pages | text |", "|---|---|---|"]
    for name, row in result["tasks"].items():
        lines.append(f"| {name} | {' | '.join(cell(row[key], 'share') for key in GROUPS)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of the three actions and return the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("build", help="write tasks.json and form.html")
    actions.add_parser("assign", help="draw codes and groups").add_argument("people", type=int)
    evaluating = actions.add_parser("evaluate", help="evaluate a folder of answers")
    evaluating.add_argument("folder", type=Path)
    evaluating.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    if options.action == "build":
        tasks = computed()
        text = json.dumps(tasks, indent=1, ensure_ascii=False) + "\n"
        (HERE / "tasks.json").write_text(text, encoding="utf-8")
        (HERE / "form.html").write_text(form(tasks), encoding="utf-8")
        return 0
    if options.action == "assign":
        print("code,group", *(",".join(row) for row in assign(options.people)), sep="\n")
        return 0
    tasks = json.loads((HERE / "tasks.json").read_text(encoding="utf-8"))
    try:
        files = sorted(options.folder.glob("*.json"))
        if not files:
            raise AnswersError(f"there is no file of answers (*.json) in {options.folder}")
        result = evaluate([read(path, tasks) for path in files], tasks)
    except AnswersError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(result) if options.json else _table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
