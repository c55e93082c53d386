"""One output at every step of the dial: odds before and after, and a hundred squares of each.

What moves with ε is sent once, a few kilobytes, and moves in the browser alone. Steps that take
long to compute (a mechanism may have to solve for its law) are sent when the dial has rested there.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st

from dpcore.attack.output.hundred import of_hundred
from dpcore.attack.output.posterior import RareOutputError
from dpcore.plots.attack.captions import change_text, others_sentence
from dpcore.plots.attack.icons import MARKS, OTHER, colours
from dpcore.plots.attack.odds import pair_sentence
from dpcore.plots.attack.words import chance_at_most, chance_text
from dpcore.plots.style import INK
from pages.attacker.tables import LETTERS, belief_table
from pages.attacker.weighing import look, prepare
from pages.shared.language import for_component, language, later, numeral, say
from pages.shared.memo import session_memo

if TYPE_CHECKING:
    from pages.attacker.believing import Belief
    from pages.attacker.scene import Scene
    from pages.attacker.weighing import Look

NAME = "posterior"
"""Of the drawing, in files."""
_WORDS = {
    "none": later("No word fills a square: each is too unlikely."),
    "waiting": later("Let go of the dial: this step takes a moment to compute."),
    "cases": later("{word}: {count} in 100"),
    "spoken": later("Of 100 cases, before: {before}. After: {after}."),
    "best": later("now: it was “{word}”"),
    "any": later("now: any possible word"),
    "before it": later("before it was seen"),
    "change": later("the change"),
    "before": later("before"),
    "seen": later("“{word}” was seen"),
}
"""What the component says itself; it fills the gaps."""

_HERE = Path(__file__).parent
# For the steps beside the one where the dial stands, of this thread's processor: a machine on which
# others work too sends as many steps, only later.
_PATIENCE_SECONDS = 0.5
_TOGETHER = 8  # steps that share the work of an output


@cache
def _component() -> Callable[..., Any]:
    shared = _HERE.parent / "shared"
    scripts = shared / "spoken.js", shared / "svg_files.js", _HERE / "believed.js"
    js = "\n".join(script.read_text(encoding="utf-8") for script in scripts)
    css = (_HERE / "believed.css").read_text(encoding="utf-8")
    return st.components.v2.component("word_privacy_lab.believed", css=css, js=js)


def show_believed(
    group: str, step: int, steps: list[dict[str, Any] | None], output: str, before: str
) -> None:
    """Draw the card and the squares.

    Args:
        group: whose dial moves them.
        step: where it stands.
        steps: of `steps_of`.
        output: the word that came out.
        before: what was known before, in words.
    """
    _component()(
        key="believed",
        data={
            "group": group,
            "step": step,
            "name": NAME,
            "output": output,
            "known": say(before),
            "steps": steps,
            "marks": list(MARKS[:LETTERS]),
            "rest": say(OTHER),
            "colours": colours(LETTERS),
            "ink": INK,
        }
        | for_component(_WORDS),
    )


def steps_of(
    scenes: list[Scene], step: int, output: int, belief: Belief, pair: tuple[int, int]
) -> list[dict[str, Any] | None] | None:
    """What is shown at each step; None at those that are not computed yet.

    Args:
        scenes: one a step.
        step: where the dial stands: it is computed whatever it takes, then those beside it.
        output: index of the word that came out.
        belief: before.
        pair: the two words that are told apart.

    Returns:
        None while the mechanism is being prepared, which is drawn.

    Raises:
        DpcoreError: the prior is refused.
    """
    key = (language(), scenes[0].mechanism, output, belief, pair)
    known: dict[int, dict[str, Any]] = session_memo("attack_steps", key, dict, 12)

    def fill(place: int) -> bool:
        scene = scenes[place]
        try:
            view = look(scene, output, belief, pair)
        except RareOutputError:
            known[place] = _rare(scene, output)
            return True
        if view is not None:
            known[place] = _shown(scene, view, output)
        return view is not None

    if step not in known and not fill(step):
        return None
    missing = [i for i in range(len(scenes)) if i not in known]
    missing.sort(key=lambda i: abs(i - step))
    start = time.thread_time()
    for count, place in enumerate(missing):
        if time.thread_time() - start > _PATIENCE_SECONDS:
            break
        if count % _TOGETHER == 0:
            together = missing[count : count + _TOGETHER]
            prepare([scenes[i] for i in together], output, belief, pair)
        fill(place)
    return [known.get(place) for place in range(len(scenes))]


def _shown(scene: Scene, view: Look, output: int) -> dict[str, Any]:
    names = scene.words.words
    named = view.top[:LETTERS]
    best = named[0]
    shares = [each.prior for each in named], [each.posterior for each in named]
    # Rounding may leave the sum a little above 1; nobody is less than impossible.
    panels = [of_hundred([*share, max(0.0, 1.0 - sum(share))]).tolist() for share in shares]
    bound = numeral(chance_at_most(view.bound))
    lines = [say("At most, by the promise: {bound}.", bound=bound)]
    lines.append(others_sentence(belief_table(scene.words, view), view.perplexity))
    if view.odds is not None:
        ratio = view.odds
        first, second = names[ratio.first], names[ratio.second]
        lines.append(pair_sentence(first, second, ratio.log_ratio, ratio.claimed))
    return {
        "title": say("“{word}” came out of {reading}.", word=names[output], reading=scene.reading),
        "best": names[best.word],
        "now": numeral(chance_text(best.posterior, certain=best.prior >= 1)),
        "before": numeral(chance_text(best.prior, certain=True)),
        "change": numeral(change_text(best.prior, best.posterior)),
        "lines": lines,
        "words": [names[each.word] for each in named],
        "panels": panels,
    }


def _rare(scene: Scene, output: int) -> dict[str, Any]:
    return {
        "title": say(
            "“{word}” came out of {reading}.", word=scene.words.words[output], reading=scene.reading
        ),
        "best": "",
        "now": say("0 to 100 in 100"),
        "before": say("as before"),
        "change": say("cannot be computed"),
        "lines": [
            say(
                "This output is too rare here: under every possible word its chance is below "
                "what can be computed, so each of them may have been it."
            )
        ],
        "words": [],
        "panels": [[100], [100]],
    }
