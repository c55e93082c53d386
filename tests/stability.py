"""Names that others build on, recorded so that none goes away unnoticed.

    python -m tests.stability        # writes tests/stability.txt

The first part of the file has every name that is public now. Below it stand the names that are
gone, each with the version under which it went; `CHANGELOG.md` must name it there, in backticks as
the file writes it, under the heading "### Gone or changed". What semantic versioning covers is in
docs/stability.md.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

import dpcore
from dpcore import __version__
from dpcore.cli.main import COMMANDS
from dpcore.mechanisms.registry import MECHANISMS
from dpcore.papers.claims import CLAIMS
from pages.shared.dial import GROUPS
from tests.needs import ROOT

RECORD = ROOT / "tests/stability.txt"
HEADING = "### Gone or changed"
GONE = "gone in "
_HEAD = (
    "# Public names, written by `python -m tests.stability`; docs/stability.md says what they are."
)


# Python: names that can be imported, and what they are called with.


def front_door() -> Iterator[str]:
    """Names of `dpcore/__init__.pyi`, with the parameters of each."""
    stub = ast.parse(Path(dpcore.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    for node in stub.body:
        if not isinstance(node, ast.ImportFrom):
            continue
        for alias in node.names:
            value = getattr(importlib.import_module(str(node.module)), alias.name)
            yield from called(f"dpcore.{alias.asname or alias.name}", value)


def exported(module: str) -> Iterator[str]:
    """Public names of a module: functions and classes, with parameters, methods and attributes."""
    there = importlib.import_module(module)
    own = [name for name in vars(there) if _public(name) and _is_of(vars(there)[name], module)]
    for name in getattr(there, "__all__", own):
        value = getattr(there, name)
        yield from called(f"{module}.{name}", value)
        # What another package gives a class is not ours to keep.
        ours = [base for base in getattr(value, "__mro__", ()) if _is_of(base, "dpcore")]
        members = {member: each for base in reversed(ours) for member, each in vars(base).items()}
        for member, each in members.items():
            here = str(getattr(each, "__module__", "dpcore")).startswith("dpcore")
            if _public(member) and not member.startswith("test_") and here:
                whole = f"{module}.{name}.{member}"
                yield from called(whole, each) if inspect.isfunction(each) else (whole,)


def _public(name: str) -> bool:
    return not name.startswith("_")


def _is_of(value: object, package: str) -> bool:
    defined = str(getattr(value, "__module__", ""))
    return callable(value) and (defined == package or defined.startswith(f"{package}."))


def called(name: str, value: Any) -> Iterator[str]:
    """Yield the name of a function and its parameters: place, name and default.

    A parameter without a place is taken by name alone.
    """
    yield name
    parameters = [
        each for each in inspect.signature(value).parameters.values() if each.name != "self"
    ]
    for place, each in enumerate(parameters, start=1):
        stars = "*" * ((each.kind == each.VAR_POSITIONAL) + 2 * (each.kind == each.VAR_KEYWORD))
        # In a call the order of parameters that are taken by name does not count.
        where = "" if stars or each.kind == each.KEYWORD_ONLY else f"{place}: "
        usual = "" if each.default is each.empty else f"={_default(each.default)}"
        yield f"{name}({where}{stars}{each.name}{usual})"


def _default(value: object) -> str:
    if isinstance(value, str):  # and not as a member of an enumeration
        return repr(str(value))
    return repr(value) if value is None or isinstance(value, int | float | tuple) else "…"


# The shell: commands, their options, and fields of their JSON.


def options(command: click.Command = COMMANDS, name: str = "") -> Iterator[str]:
    """Commands and their options."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for action in command.list_commands(context):
            below = command.get_command(context, action)
            assert below is not None, action
            yield from options(below, f"{name} {action}".strip())
        return
    yield f"command {name}"
    for each in command.params:
        for flag in each.opts if isinstance(each, click.Option) else [f"({each.name})"]:
            yield f"command {name} {flag}"


def fields(page: str) -> Iterator[str]:
    """Fields in the table of docs/commands.md; tests/test_readme.py compares it with answers."""
    table = page.partition("## Fields of the JSON")[2]
    rows = re.findall(r"^\| (`[a-z][^|]*?) \| (.*) \|$", table, re.MULTILINE)
    for command, cell in rows:
        first, *others = re.findall(r"`([^`]+)`", cell)
        # Behind the first list a cell has fields of some options, and sentences with values.
        lists = [first, *(each for each in others if re.match(r"\w+ \[?\{", each))]
        for each in lists:
            for path in _paths(each):
                yield f"json {command.replace('`', '')}: {path}"


def _paths(text: str, above: str = "") -> Iterator[str]:
    """Yield the fields of a list such as `a, rows [{b, c}]`: `a`, `rows`, `rows.b`, `rows.c`."""
    for name, inside in _split(text):
        yield above + name
        yield from _paths(inside, f"{above}{name}.")


def _split(text: str) -> Iterator[tuple[str, str]]:
    """Yield the outermost names of a list of fields, each with what its braces hold."""
    depth, pieces = 0, [""]
    for sign in text:
        depth += (sign in "[{") - (sign in "]}")
        if sign == "," and not depth:
            pieces.append("")
        else:
            pieces[-1] += sign
    for piece in pieces:
        lines_of = re.fullmatch(r"\s*(\w+):?\s*(?:\[?\{(.*)\}\]?)?\s*", piece, re.DOTALL)
        if lines_of:
            inside = lines_of[2] or ""
            # `{file: SHA-256}` says what keys are, and `{by kind}` too.
            yield lines_of[1], "" if re.match(r"\w+: [^{]*$|by ", inside) else inside


# Links: parameters of the address, read out of the code of the pages.

_FIELDS = {
    "segments": "key", "pick": "key", "steps": "key", "whole_number": "key", "tabs": "key",
    "short_tabs": "key", "choose_one": "field", "choose_some": "field", "write": "name",
    "read_whole": "name", "permalink": "field",
}  # fmt: skip
"""Functions of pages/shared/link.py that take the name of a parameter, and how they call it."""

_OF_SEVERAL = {
    # Where a name depends on a variable of a loop: the name, the variable, and all its values.
    ("crowd/scene.py:_step", "name"): ("name", "name", "_START"),
    ("crowd/scene.py:_write", "name"): ("name", "name", "_START"),
    ("papers/board.py:_choose", "f'board_level_{sense}'"): ("", "sense", "_SENSES"),
    ("papers/controls.py:_control", "f'audit_{name}'"): ("", "name", "_CONTROLS"),
    ("release/board.py:_set", "goal.field"): ("", "goal", "GOALS.values()"),
    ("release/board.py:step_of", "goal.field"): ("", "goal", "GOALS.values()"),
    ("release/running.py:_arms", "f'use_ends_{group.name}'"): ("", "group", "GROUPS"),
    ("shared/epsilon_dial.py:set_epsilon", "_key(group)"): ("", "group", "GROUPS"),
    ("shared/epsilon_dial.py:_present", "key"): ("_key(group)", "group", "GROUPS"),
    ("shared/sidebar.py:choose_mechanisms", "key"): (
        "f'{prefix}{group.name}'",
        "group",
        "GROUPS",
    ),
    ("shared/sidebar.py:_field", "key"): (
        "_key(*setting)",
        "setting",
        "[(kind.short, name) for kind in OURS for name in kind.parameters()]",
    ),
    ("shared/words.py:write_pair", "_FIELDS[slot]"): ("", "slot", "_FIELDS"),
    ("shared/words.py:_chosen", "_FIELDS[slot]"): ("", "slot", "_FIELDS"),
    ("tradeoff/goal.py:_choose_goal", "field"): ("f'goal_{goal.key}'", "goal", "GOALS"),
}
_LISTS = {
    "GROUPS": GROUPS,
    "OURS": [kind for key, kind in MECHANISMS.items() if key not in MECHANISMS.packages],
}


class UnreadParameterError(Exception):
    """A parameter of a link whose name this file cannot read out of the code."""


class Links:
    """Parameters that pages read from a link or write into one.

    Args:
        sources: source texts of the pages by their path from the root.
    """

    def __init__(self, sources: dict[str, str]) -> None:
        self._trees = {path: ast.parse(text) for path, text in sources.items()}
        self._scripts: dict[str, dict[str, Any]] = {}
        self._shared: list[tuple[str, ast.Dict, ast.FunctionDef | None]] = []
        self._calls: dict[str, list[tuple[str, ast.Call, ast.FunctionDef | None]]] = {}
        for path, tree in self._trees.items():
            for call, around in _calls(tree):
                if isinstance(call, ast.Dict):
                    self._shared.append((path, call, around))
                    continue
                last = ast.unparse(call.func).rpartition(".")[2]
                self._calls.setdefault(last, []).append((path, call, around))

    def names(self) -> Iterator[str]:
        """Yield `link PAGE: NAME` for each parameter; fields of pages/shared are of any page."""
        for path, keyword, around in self._given():
            if path != "pages/shared/link.py":
                page = path.split("/")[1].replace("shared", "any page")
                yield from (
                    f"link {page}: {name}" for name in self._resolved(path, keyword, around)
                )

    def _given(self) -> Iterator[tuple[str, ast.expr, ast.FunctionDef | None]]:
        """Yield each expression that names a parameter, with its file and its function."""
        link = importlib.import_module("pages.shared.link")
        for path, shared, around in self._shared:
            settings = {
                ast.literal_eval(k): v
                for k, v in zip(shared.keys, shared.values, strict=True)
                if isinstance(k, ast.Constant)
            }
            if "bind" in settings and "key" in settings:
                yield path, settings["key"], around
        for last, calls in self._calls.items():
            for path, call, around in calls:
                keywords = {each.arg: each.value for each in call.keywords}
                whole = ast.unparse(call.func)
                if "bind" in keywords:
                    # The preset of a text is drawn with settings that two drawings share.
                    yield path, keywords.get("key", ast.Name("_PRESET")), around
                elif whole.endswith("query_params.get"):
                    yield path, call.args[0], around
                elif last in _FIELDS and self._is(path, whole, getattr(link, last)):
                    value = _argument(call, getattr(link, last), _FIELDS[last])
                    if value is not None:
                        yield path, value, around

    def _known(self, path: str) -> dict[str, Any]:
        """Return the names of a file, without running the script of a page."""
        if not path.endswith("/page.py"):
            return vars(importlib.import_module(path.removesuffix(".py").replace("/", ".")))
        if path not in self._scripts:
            body: list[ast.stmt] = [
                node
                for node in self._trees[path].body
                if isinstance(node, ast.Import | ast.ImportFrom)
                or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).isupper())
            ]
            names: dict[str, Any] = {}
            exec(compile(ast.Module(body, []), path, "exec"), names)
            self._scripts[path] = names
        return self._scripts[path]

    def _is(self, path: str, named: str, function: object) -> bool:
        """Return True if a name in a file is a function, and not a namesake of it."""
        value: object = None
        first, *rest = named.split(".")
        if first.isidentifier():
            value = self._known(path).get(first)
            for part in rest:
                value = getattr(value, part, None)
        return value is not None and value is function

    def _resolved(
        self, path: str, given: ast.expr, around: ast.FunctionDef | None
    ) -> Iterator[str]:
        """Yield the names that an expression can have, in the file and function where it is."""
        module = self._known(path)
        place = f"{path.removeprefix('pages/')}:{around.name if around else ''}"
        several = _OF_SEVERAL.get((place, ast.unparse(given)))
        if several is None:
            yield from self._named(path, given, around, module)
            return
        expression, variable, values = several
        parsed = ast.parse(expression, mode="eval").body if expression else given
        for value in eval(values, module | _LISTS):
            yield from self._named(path, parsed, around, module | {variable: value})

    def _named(
        self, path: str, given: ast.expr, around: ast.FunctionDef | None, known: dict[str, Any]
    ) -> Iterator[str]:
        text = ast.unparse(given)
        free = {node.id for node in ast.walk(given) if isinstance(node, ast.Name)}
        if free <= set(known):
            yield str(eval(text, known))
            return
        if around is not None and len(free - set(known)) == 1:
            (loop,) = free - set(known)
            values = list(_looped(around, loop))
            if values:
                yield from (str(eval(text, known | {loop: value})) for value in values)
                return
        arguments = [*around.args.args, *around.args.kwonlyargs] if around else []
        (*passed,) = free - set(known)
        if around is None or len(passed) != 1 or passed[0] not in {a.arg for a in arguments}:
            raise UnreadParameterError(
                f"{path}: the parameter {text} of a link cannot be read out of the code; write a "
                "constant, or add a line to _OF_SEVERAL, tests/stability.py"
            )
        # The callers of the function name it.
        for place, call, outer in self._calls.get(around.name, ()):
            value = _argument(call, _Signature(around), passed[0])
            if not self._is(place, ast.unparse(call.func), self._known(path).get(around.name)):
                continue
            if value is not None:
                for name in self._resolved(place, value, outer):
                    yield str(eval(text, known | {passed[0]: name}))


def _looped(function: ast.FunctionDef, name: str) -> Iterator[str]:
    """Yield the texts that a variable has in a loop over rows written in place."""
    for loop in ast.walk(function):
        if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Tuple):
            targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
            for place, target in enumerate(targets):
                if ast.unparse(target) == name:
                    for row in loop.iter.elts:
                        yield ast.literal_eval(
                            row.elts[place] if isinstance(row, ast.Tuple) else row
                        )


class _Signature:
    """Parameters of a function that is only parsed."""

    def __init__(self, function: ast.FunctionDef) -> None:
        arguments = function.args
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter(a.arg, inspect.Parameter.POSITIONAL_OR_KEYWORD)
                for a in arguments.args
            ]
            + [
                inspect.Parameter(a.arg, inspect.Parameter.KEYWORD_ONLY)
                for a in arguments.kwonlyargs
            ]
        )
        usual = arguments.args[len(arguments.args) - len(arguments.defaults) :]
        self.defaults = dict(zip((a.arg for a in usual), arguments.defaults, strict=True))
        self.defaults |= {
            a.arg: value
            for a, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if value is not None
        }


def _argument(call: ast.Call, function: Any, name: str) -> ast.expr | None:
    """Return the expression that a call gives to a parameter, else its default if it is parsed."""
    for each in call.keywords:
        if each.arg == name:
            return each.value
    signature = getattr(function, "__signature__", None) or inspect.signature(function)
    place = [*signature.parameters].index(name)
    if place < len(call.args):
        return call.args[place]
    defaults: dict[str, ast.expr] = getattr(function, "defaults", {})
    return defaults.get(name)


def _calls(
    node: ast.AST, around: ast.FunctionDef | None = None
) -> Iterator[tuple[ast.Call | ast.Dict, ast.FunctionDef | None]]:
    """Yield calls, and settings of several calls, each with the function around it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call | ast.Dict):
            yield child, around
        yield from _calls(child, child if isinstance(child, ast.FunctionDef) else around)


# The record.


@functools.cache
def public_names() -> tuple[str, ...]:
    """Every public name there is now, in order and once."""
    pages = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "pages").rglob("*.py"))
    }
    page = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    sources: tuple[Callable[[], Iterator[str]], ...] = (
        front_door,
        lambda: exported("dpcore.testing"),
        lambda: exported("dpcore.sklearn"),
        options,
        lambda: fields(page),
        Links(pages).names,
        registered,
    )
    all_names = [sorted(set(source())) for source in sources]
    return tuple(name for names in all_names for name in names)


def registered() -> Iterator[str]:
    """Keys of mechanisms and claims, and parameters of mechanisms."""
    for key, kind in MECHANISMS.items():
        if kind in _LISTS["OURS"]:
            yield f"mechanism {key}"
            yield from (f"mechanism {key}: {name}" for name in kind.parameters())
    yield from (f"claim {key}" for key in CLAIMS)


def read(text: str) -> tuple[list[str], dict[str, str]]:
    """Return the recorded names, and those that are gone with the version under which they went."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    gone = [line.removeprefix(GONE).partition(": ") for line in lines if line.startswith(GONE)]
    names = [line for line in lines if not line.startswith(GONE)]
    return names, {name: version for version, _, name in gone}


def written(names: tuple[str, ...], before: str, version: str = __version__) -> str:
    """Return the new record, which notes as gone what only the record before has."""
    recorded, gone = read(before)
    gone |= dict.fromkeys((name for name in recorded if name not in set(names)), version)
    notes = sorted(f"{GONE}{at}: {name}" for name, at in gone.items() if name not in set(names))
    return "\n".join([_HEAD, *names, *notes, ""])


def unexplained(record: str, log: str) -> list[str]:
    """Return the names that are gone and that the changelog does not name where it should.

    Args:
        record: text of the record.
        log: text of CHANGELOG.md. A name counts only in backticks, as the record writes it, in a
            bullet under `HEADING` of its version: a mention elsewhere is about something else.
    """
    versions = dict(
        re.findall(r"^## ([\w.]+)[^\n]*\n(.*?)(?=^## |\Z)", log, re.DOTALL | re.MULTILINE)
    )
    missing = []
    for name, version in read(record)[1].items():
        part = re.search(
            rf"^{HEADING}\n(.*?)(?=^### |\Z)", versions.get(version, ""), re.DOTALL | re.MULTILINE
        )
        if f"`{name}`" not in " ".join(part[1].split() if part else ()):
            missing.append(f"{name} ({version})")
    return missing


def main() -> int:
    """Write the record and say what came and what went."""
    before = RECORD.read_text(encoding="utf-8") if RECORD.is_file() else ""
    now = public_names()
    text = written(now, before)
    RECORD.write_text(text, encoding="utf-8")
    recorded = read(before)[0]
    for mark, names in (
        ("+", [n for n in now if n not in set(recorded)]),
        ("-", [n for n in recorded if n not in set(now)]),
    ):
        print(*(f"{mark} {name}" for name in names), sep="\n", end="\n" if names else "")
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for name in unexplained(text, log):
        print(f"CHANGELOG.md must name it under {HEADING}: {name}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
