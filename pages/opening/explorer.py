"""Any word of the vocabulary on a page without a server: neighbours and laws, computed there.

`explorer.js` has the formulas of `dpcore.mechanisms.closed`.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

from dpcore.lexicon.catalogue import load
from dpcore.lexicon.lexicon import Lexicon
from dpcore.mechanisms.closed import (
    LEVELS,
    Closed,
    Rounded,
    closed_laws,
    differences,
    rounded_vectors,
)
from pages.shared.language import numeral, say
from pages.shared.session import admissible

_TRIED = 200  # words whose numbers are compared with the engine's when the pages are written
_SHOWN = 12  # nearest words of a word


def explorer(asset: Callable[[str, str], str]) -> tuple[str, str]:
    """Return fields for any word, its nearest words and what a mechanism makes of it, as HTML.

    Args:
        asset: writes a file of all pages, by its name and text, and returns its address.

    Returns:
        The fields, and the address of their script.
    """
    lexicon = load()
    vectors, closed, apart, shares = _measured(lexicon)
    code = {
        "words": "\n".join(lexicon.words),
        "codes": vectors.codes,
        "steps": vectors.steps.tolist(),
        "least": vectors.least.tolist(),
        "excess": vectors.excess,
    }
    address = asset("vectors.js", f"lab.vectors = {json.dumps(code, ensure_ascii=False)};\n")
    script = Path(__file__).with_name("explorer.js").read_text(encoding="utf-8")
    texts = {
        "unknown": say("This word is not among the {count} of the vocabulary: try another one."),
        "stays": say(
            "Under {mechanism} at ε = {epsilon}, “{word}” comes out unchanged in {stays} of 100 "
            "draws. Its nearest words:"
        ),
        "waiting": say("Loading the words…"),
    }
    laws = {
        each.mechanism.short: each.numbers
        | {
            "formula": each.formula,
            "epsilons": each.epsilons.tolist(),
            "off": [100.0 * off for off in shares[each.mechanism.short]],
        }
        for each in closed
    }
    numbers = {"laws": laws, "texts": texts, "shown": _SHOWN, "apart": apart}
    heads = (say("word"), say("distance"), say("comes out, of 100"))
    head = "".join(f"<th>{html.escape(each)}</th>" for each in heads)
    options = "".join(f"<option>{html.escape(short)}</option>" for short in laws)
    written = {short: numeral(format(100 * max(off), ".2g")) for short, off in shares.items()}
    about = say(
        "Computed in this page, from vectors of {levels} levels a coordinate. For {count} words "
        "spread over the vocabulary, at every step, distances were at most {apart:.2g} from the "
        "engine's, and shares, of 100, at most: {shares}.",
        levels=LEVELS,
        count=_TRIED,
        apart=apart,
        shares=", ".join(f"{short} {most}" for short, most in written.items()),
    )
    data = html.escape(json.dumps(numbers, ensure_ascii=False))
    fields = (
        f'<section data-explorer="{data}" data-vectors="{address}"><h2>{say("Any word")}</h2>'
        f'<div class="row"><label>{say("A word of the vocabulary")} '
        '<input type="text" autocomplete="off" maxlength="80"></label>'
        f"<label>{say('Mechanism')} <select>{options}</select></label>"
        f'<label>{say("ε, from small to large")} <input type="range" min="0"></label></div>'
        f'<p role="status"></p><div class="table"><table><thead><tr>{head}</tr></thead>'
        f'<tbody></tbody></table></div><p class="small">{html.escape(about)}</p></section>'
    )
    return fields, asset("explorer.js", script)


@cache
def _measured(lexicon: Lexicon) -> tuple[Rounded, list[Closed], float, dict[str, list[float]]]:
    """Return what the page computes with, and the largest differences, as `differences` does."""
    vectors, laws = rounded_vectors(lexicon), closed_laws(lexicon, admissible)
    return vectors, laws, *differences(lexicon, vectors, laws, _TRIED)
