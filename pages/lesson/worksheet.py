"""The worksheet and the sheet of answers: pages of plain HTML that print."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import dpcore
from pages.lesson.steps import step
from pages.shared.language import language, say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.papers.lesson import Exercise

_STYLE = """
body { font: 12pt/1.45 Georgia, serif; max-width: 42em; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 20pt; } h2 { font-size: 14pt; margin: 1.2em 0 0.3em; }
.question { font-weight: bold; } li { list-style: none; } li::before { content: "\\2610  "; }
.line { border-bottom: 1px solid; display: inline-block; min-width: 9em; }
footer { font-size: 9pt; margin-top: 3em; } section { break-inside: avoid; }
@page { margin: 18mm; }
"""


def worksheet(tasks: Sequence[Exercise]) -> str:
    """Story, question and room for a guess of every step."""
    parts = []
    for place, task in enumerate(tasks, start=1):
        lesson = step(task.key)
        if task.options:
            guess = "<ul>" + "".join(f"<li>{escape(say(o))}</li>" for o in task.options) + "</ul>"
        else:
            guess = (
                f"<p>{escape(say('My guess:'))} <span class='line'>&nbsp;</span>"
                f"{escape(task.unit)}</p>"
            )
        parts.append(
            f"<section><h2>{place}. {escape(say(lesson.title))}</h2>"
            f"<p>{escape(say(lesson.story).replace('**', ''))}</p>"
            f"<p class='question'>{escape(say(task.question))}</p>{guess}"
            f"<p>{escape(say('What I found:'))} "
            "<span class='line' style='min-width: 26em'>&nbsp;</span></p>"
            "</section>"
        )
    return _page(say("Private words: worksheet"), parts)


def answers(tasks: Sequence[Exercise]) -> str:
    """Question and answer of every step."""
    parts = []
    for place, task in enumerate(tasks, start=1):
        right = task.options[int(task.answer)] if task.options else ""
        parts.append(
            f"<section><h2>{place}. {escape(say(step(task.key).title))}</h2>"
            f"<p class='question'>{escape(say(task.question))}</p>"
            + (f"<p>{escape(say(right))}</p>" if right else "")
            + f"<p>{escape(say(task.truth))}</p></section>"
        )
    return _page(say("Private words: answers"), parts)


def _page(title: str, parts: Sequence[str]) -> str:
    made = say(
        "Word Privacy Lab, dpcore {version}; every figure was computed on its bundled words and "
        "texts, or on pictures of handwritten digits.",
        version=dpcore.__version__,
    )
    return (
        f"<!doctype html><html lang='{language()}'><head><meta charset='utf-8'>"
        f"<title>{escape(title)}</title>"
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>{''.join(parts)}"
        f"<footer>{escape(made)}</footer></body></html>"
    )
