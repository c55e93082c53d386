"""Texts that are hard to read: numbers of too many digits, odds without end, captions.

Cells of a table are drawn on a canvas, and numbers in code, fields and files may be exact:
these are left out, and so are the texts below, where every digit is what it is about.
"""

import re

from playwright.sync_api import Page

from dpcore.plots.style import MOST_WORDS
from pages.curves.papers import FIGURE

EXACT_VIEWS = ("Paper against ours", "Paper against measurement")
"""Tabs that hold what a paper prints against what is measured, as printed."""

EXACT_TEXTS = (
    "fingerprint",  # provenance: the geometry of a vocabulary, as it is recorded
    "Algorithm 2 is ε·d-private",  # a claim at the ε of its setting, and the smallest that exists
    "(ε, δ) = (",
    "tells 'haven' from 'entire'",  # the pair that refutes a claim
)
"""Parts of texts that state numbers exactly."""

_DIGITS = 3
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*\.\d+(?:e[-+]?\d+)?|\b\d+e[-+]\d+")
_HUGE = re.compile(r"\d·10[⁰¹²³⁴⁵⁶⁷⁸⁹]+")

_TEXTS = """() => {
  const texts = [], left = 'code, pre, input, textarea, script, style, footer, .js-plotly-plot, '
    + '[data-testid=stDataFrame]';
  const walk = (root) => {
    for (const node of root.querySelectorAll('*')) {
      if (node.shadowRoot) walk(node.shadowRoot);
      if (node.closest(left) || !node.checkVisibility({ visibilityProperty: true })) continue;
      for (const child of node.childNodes)
        if (child.nodeType === 3 && child.textContent.trim()) texts.push(child.textContent.trim());
    }
  };
  walk(document.querySelector('.stMain'));
  return texts;
}"""


def illegible(text: str) -> list[str]:
    """Numbers of a text with more than three digits and a point, with an e, or 10⁷ and more."""
    if any(part in text for part in EXACT_TEXTS):
        return []
    faults = []
    for number in _NUMBER.findall(text):
        digits = re.sub(r"[.,]", "", number.partition("e")[0]).lstrip("0")
        if number.startswith("99."):  # nines tell how near it is to all
            digits = digits.lstrip("9")
        if "e" in number or len(digits) > _DIGITS:
            faults.append(number)
    return faults + _HUGE.findall(text)


def illegible_texts(page: Page) -> list[str]:
    """Return the faults of the visible numbers and of the captions of figures."""
    exact = _open_tabs(page) & set(EXACT_VIEWS) or f"{FIGURE}=" in page.url
    texts = [] if exact else page.evaluate(_TEXTS)
    faults = [f"{fault}: {text[:90]}" for text in texts for fault in illegible(text)]
    for caption in page.locator("[class*=st-key-finding_]").all_inner_texts():
        words = [part for part in caption.split() if any(map(str.isalnum, part))]
        if len(words) > MOST_WORDS:
            faults.append(f"{len(words)} words: {caption}")
    return faults


def _open_tabs(page: Page) -> set[str]:
    return set(page.locator(".stMain [role=tab][aria-selected=true]").all_inner_texts())
