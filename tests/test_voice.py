"""Wordings that the project avoids: a list of words, and no judge of style."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

import pytest

from tests.needs import ROOT

AVOIDED = {
    "an archaic word": re.compile(
        r"\b(anew|the like|who(so|m)?ever|rightly|in truth|thereby|therein|whereof)\b|in its stead",
        re.I,
    ),
    "a preposition and 'who'": re.compile(r"\b(for|to|of|by|with|from|as|than) who\b", re.I),
    "'of one's own'": re.compile(r"\bof (one's|a person's|somebody's) own\b", re.I),
    "'what becomes of'": re.compile(r"\bwhat becomes? of\b", re.I),
    "an attacker who is 'he'": re.compile(
        r"\b(attacker|stranger)\b[^.\n]{0,60}\b(he|his|him)\b", re.I
    ),
}
QUESTIONS = {"what", "who", "whose", "which", "whether", "where", "how"}
BLOCKS = (ast.stmt, ast.ExceptHandler, ast.match_case)
WORD_LISTS = {
    "dpcore/lexicon/train/vocabulary.py",
    "dpcore/rewrite/languages.py",
    "tests/test_voice.py",
}


def faults(text: str, *, docstring: bool = False) -> list[str]:
    """Return the avoided wordings of a text."""
    found = [name for name, pattern in AVOIDED.items() if pattern.search(text)]
    first = re.search(r"\w+", text)
    if docstring and first and first[0].lower() in QUESTIONS:
        found.append("a docstring that begins with a question word")
    return found


def prose(source: str) -> Iterator[tuple[int, str, bool]]:
    """Docstrings, comments and strings of a program: line, text, and True for a docstring.

    Comments and strings are looked for only where the program has an avoided wording at all.
    """
    nodes: list[ast.AST] = [ast.parse(source)]
    for node in nodes:  # statements only: no expression has a docstring
        nodes += [child for child in ast.iter_child_nodes(node) if isinstance(child, BLOCKS)]
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text, True
    if not faults(source):
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield token.start[0], token.string, False


@pytest.mark.parametrize("room", ["dpcore", "pages", "tests"])
def test_programs_are_in_plain_english(room: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {fault}"
        for path in sorted((ROOT / room).rglob("*.py"))
        if str(path.relative_to(ROOT)) not in WORD_LISTS
        for line, text, docstring in prose(path.read_text(encoding="utf-8"))
        for fault in faults(text, docstring=docstring)
    ]
    assert not found, "\n".join(found)


def test_documentation_is_in_plain_english() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "dpcore").rglob("*.toml")]
    found = [
        f"{path.relative_to(ROOT)}:{line}: {fault}"
        for path in pages
        for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for fault in faults(text)
    ]
    assert not found, "\n".join(found)


def test_the_rule_finds_what_is_avoided() -> None:
    source = '"""What is told to who waits."""\n\n\ndef f():  # computed anew\n    return 1\n'
    named = {fault for _, text, doc in prose(source) for fault in faults(text, docstring=doc)}
    assert len(named) == 3
    assert not faults("Return the message for a queued job.", docstring=True)
