"""Rules of the repository as functions of a source text: each returns what breaks it."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import PurePosixPath

# The floors of the house, lowest first. An import may point down, or to another room on the same
# floor as long as no circle arises.
FLOORS: tuple[frozenset[str], ...] = (
    frozenset(
        {
            "",
            "arguments",
            "arrays",
            "display",
            "errors",
            "guarantee",
            "limits",
            "optional",
            "outwards",
            "written",
        }
    ),
    frozenset({"jobs"}),
    frozenset({"noise", "plots"}),
    frozenset({"lexicon"}),
    frozenset({"mechanisms"}),
    frozenset({"audit", "learn", "measure", "rewrite", "tables"}),
    frozenset({"attack"}),
    frozenset({"crowd", "privatize"}),
    frozenset({"study"}),
    frozenset({"papers"}),
    frozenset({"__main__", "cli", "front", "sklearn", "testing"}),
)
# What draws its first argument, and by which names its other texts are given.
DRAWING = {
    "badge", "button", "caption", "checkbox", "choose_one", "choose_some", "csv_button",
    "download_button", "error", "expander", "file_uploader", "header", "heading", "info",
    "link_button", "markdown", "metric", "multiselect", "name_ends", "note", "number_input",
    "page_link", "pick", "pills", "popover", "refuse", "segmented_control", "segments",
    "select_slider", "selectbox", "show_table", "slider", "spinner", "status", "steps",
    "subheader", "success", "text", "text_area", "text_input", "title", "toggle", "warning",
    "whole_number",
}  # fmt: skip
DRAWN_BY_NAME = {"alt", "body", "explained", "help", "label", "placeholder"}
# The same in every language: addresses, colours and marks of Markdown, names of programs.
UNTRANSLATED = re.compile(r"\bpages/\w*|/\w+\.py\b|:\w+\[|:material/\w+:|\bPython\b|\bdpcore\b")
PICKLERS = {"pickle", "_pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}
FORBIDDEN_TRUE = {"allow_pickle", "unsafe_allow_html", "unsafe_allow_javascript"}
RANDOM_ALLOWED = {
    "BitGenerator", "Generator", "PCG64", "PCG64DXSM", "Philox", "SFC64", "SeedSequence",
    "default_rng",
}  # fmt: skip
# Names of any object that read or write pickles, or put foreign HTML on a page.
PICKLE_CALLS = {"read_pickle", "to_pickle"}
HTML_CALLS = {"iframe"}
OWN_RANDOM = {"Random", "SystemRandom"}  # of Python's module: other generators
# A source without any of these breaks no rule of `forbidden`: most are not even parsed.
_SUSPECT = re.compile(
    "|".join(sorted({"random", "html", *PICKLERS, *FORBIDDEN_TRUE, *PICKLE_CALLS, *HTML_CALLS}))
)
# A path of one machine: an absolute folder that no reader has. URLs do not match.
MACHINE_PATH = re.compile(r"(?<![\w.:/$}-])/(?:tmp|work|farm|root|home/\w+|Users/\w+)/")
REGISTRY_HOST = re.compile(r"\b(?:pypi|npmjs|pythonhosted|anaconda)\.(?:org|com)\b")


def floor(room: str) -> int:
    """The floor of a room of dpcore.

    Raises:
        KeyError: the room is on no floor.
    """
    for height, rooms in enumerate(FLOORS):
        if room in rooms:
            return height
    raise KeyError(f"dpcore.{room} is on no floor: give it one in FLOORS, with a reason")


def room(module: str) -> str:
    """The room of a module of dpcore: `dpcore.lexicon.cache` is in `lexicon`, `dpcore` in ``."""
    return module.partition(".")[2].partition(".")[0]


def module_name(path: str) -> str:
    """The dotted name of a source file given by its path from the root."""
    parts = PurePosixPath(path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache  # several rules ask for the same
def imports(source: str, module: str = "", package: bool = False) -> list[str]:
    """Every module that a source imports, anywhere in it, as dotted names.

    Args:
        source: Python text.
        module: its own dotted name, against which relative imports are resolved.
        package: whether it is the `__init__` of a package.

    Returns:
        Names as written; `from a import b` counts as both `a` and `a.b`.
    """
    return [name for node in ast.walk(ast.parse(source)) for name in _named(node, module, package)]


def imports_at_load(source: str) -> list[str]:
    """Return the imports that run with the module: none of functions or of types only."""
    statements = _run(ast.parse(source).body, functions=False)
    return [name for node in statements for name in _named(node, "", False)]


def _run(body: list[ast.stmt], *, functions: bool) -> Iterator[ast.stmt]:
    """Statements at every depth but those for the type checker, and perhaps those of functions."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not functions:
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _run(node.orelse, functions=functions)
            continue
        yield node
        for part in ("body", "orelse", "finalbody"):
            yield from _run(getattr(node, part, []), functions=functions)
        for branch in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            yield from _run(branch.body, functions=functions)


def _named(node: ast.AST, module: str, package: bool) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            parts = module.split(".")
            above = parts[: len(parts) - node.level + package]
            base = ".".join([*above, base] if base else above)
        yield base
        yield from (f"{base}.{alias.name}" for alias in node.names)


def forbidden(source: str) -> list[str]:
    """Pickles, raw HTML and the global random state in a source, as `line: what`."""
    if not _SUSPECT.search(source):
        return []
    breaches: list[tuple[int, str]] = []
    tree, standard = ast.parse(source), "random" in imports(source)
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        for name in _named(node, "", False):
            if _whole_random(node, name) or (
                re.fullmatch(r"random\.\w+", name) and name.split(".")[1] not in OWN_RANDOM
            ):
                breaches.append((line, f"global random state {name}"))
            if name.split(".")[0] in PICKLERS:
                breaches.append((line, f"import of {name.split('.')[0]}"))
            elif re.fullmatch(r"numpy\.random\.\w+", name) and not _random_allowed(name):
                breaches.append((line, f"global random state {name}"))
        if isinstance(node, ast.keyword) and node.arg in FORBIDDEN_TRUE:
            if not (isinstance(node.value, ast.Constant) and node.value.value is False):
                breaches.append((node.value.lineno, f"{node.arg}={ast.unparse(node.value)}"))
        elif isinstance(node, ast.Attribute):
            name = _dotted(node)
            numpys = re.fullmatch(r"(np|numpy)\.random\.\w+", name) and not _random_allowed(name)
            seeded = standard and re.fullmatch(r"random\.\w+", name) and node.attr not in OWN_RANDOM
            if numpys or seeded:
                breaches.append((node.lineno, f"global random state {name}"))
            elif node.attr in PICKLE_CALLS:
                breaches.append((node.lineno, f"pickle by {name}"))
            elif node.attr in HTML_CALLS or re.search(r"components(\.v1)?\.html$", name):
                breaches.append((node.lineno, f"raw HTML by {name}"))
        elif isinstance(node, ast.Call) and _raw_html(node):
            breaches.append((node.lineno, f"raw HTML by {ast.unparse(node.func)}"))
    return [f"{line}: {what}" for line, what in dict.fromkeys(sorted(breaches))]


def _dotted(node: ast.expr) -> str:
    """Return the dotted name of an attribute; `?` is what is not a name. Faster than unparsing."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "?")
    return ".".join(reversed(parts))


def _whole_random(node: ast.AST, name: str) -> bool:
    """Return True if NumPy's module of random numbers gets a name that no rule knows."""
    if isinstance(node, ast.ImportFrom):
        return name == "numpy.random" and node.module == "numpy"
    return name == "numpy.random"


def _raw_html(node: ast.Call) -> bool:
    """Return True if anything but one style sheet is put on the page as HTML."""
    if _dotted(node.func) != "st.html":
        return False
    written = ast.unparse(node.args[0]).lstrip("f").strip("'\"")
    return not (written.startswith("<style>") and written.endswith("</style>"))


def _random_allowed(name: str) -> bool:
    return name.rsplit(".", 1)[1] in RANDOM_ALLOWED


def without_encoding(source: str) -> list[str]:
    """Calls that read or write text in the encoding of the system: files, and programs' pipes."""
    calls = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        keywords = {keyword.arg: keyword.value for keyword in node.keywords}
        own = isinstance(node.func, ast.Name)
        name = ast.unparse(node.func).rpartition(".")[2]
        place = {"read_text": 0, "write_text": 1}.get(name)
        if name == "open":
            # A method takes the mode first; with another argument it opens a part of an archive.
            arguments = node.args[1:] if own else node.args
            mode = arguments[0] if arguments else keywords.get("mode", ast.Constant("r"))
            text = bool(re.fullmatch("'[rwxat+]+'", ast.unparse(mode)))
        elif place is not None:
            text = len(node.args) <= place
        else:
            text = name in {"run", "Popen", "check_output"} and "text" in keywords
        if text and "encoding" not in keywords:
            calls.append(f"{node.lineno}: {ast.unparse(node)}")
    return calls


def primary_buttons(source: str) -> list[str]:
    """Calls with `type="primary"`: white on the accent of the dark theme cannot be read."""
    return [
        f"{node.value.lineno}: type={node.value.value!r}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.keyword)
        and node.arg == "type"
        and isinstance(node.value, ast.Constant)
        and node.value.value == "primary"
    ]


def tables_with_none(source: str) -> list[str]:
    """Calls of `dataframe` that do not say what an empty cell shows: it would show "None"."""
    return [
        f"{node.lineno}: {ast.unparse(node)[:60]}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"dataframe", "data_editor"}
        and not any(keyword.arg == "placeholder" for keyword in node.keywords)
    ]


def untold(source: str) -> list[str]:
    """Captions and hover texts of the engine that no catalogue can hold, as `line: what`.

    A caption or a template of hover texts is put together by an f-string with words, or the
    template of a sentence is computed.
    """
    breaches = []
    for node in ast.walk(ast.parse(source)):
        found: list[ast.expr] = []
        if isinstance(node, ast.FunctionDef) and (
            ast.unparse(node.returns or node.args) == "Caption"
            or node.name.endswith(("_alt", "_reading", "_sentence"))
        ):
            inside = (part for part in ast.walk(node) if isinstance(part, ast.JoinedStr))
            found += [text for text in inside if any(" " in each for each in _written(text))]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Filled":
            found += [text for text in node.args[:1] if not isinstance(text, ast.Constant)]
        elif isinstance(node, ast.JoinedStr) and any("%{" in each for each in _written(node)):
            found.append(node)
        breaches += [f"{text.lineno}: {ast.unparse(text)[:80]}" for text in found]
    return breaches


def unsaid(source: str) -> list[str]:
    """Sentences that a page draws verbatim from the code, past the catalogue of languages.

    Where a drawing is handed over, as to `choose_one(st.pills, "Goal", …)`, the label comes second.
    """
    breaches = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = _dotted(node.func).rpartition(".")[2]
        texts = [each.value for each in node.keywords if each.arg in DRAWN_BY_NAME]
        if name in DRAWING:
            texts += node.args[: 2 if name in {"choose_one", "name_ends", "show_table"} else 1]
        breaches += [
            f"{text.lineno}: {ast.unparse(text)[:80]}"
            for text in texts
            for written in _written(text)
            if re.search(r"[A-Za-z]{2}", UNTRANSLATED.sub("", written))
        ]
    return breaches


def _written(node: ast.expr) -> list[str]:
    """Return the literal pieces of a text, on either branch of a condition."""
    if isinstance(node, ast.IfExp):
        return [*_written(node.body), *_written(node.orelse)]
    if isinstance(node, ast.BinOp):
        return [*_written(node.left), *_written(node.right)]
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return [
        each.value
        for each in parts
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    ]


def upward(sources: dict[str, str]) -> list[str]:
    """Imports of dpcore that point up the floors, or into a room that has none.

    Args:
        sources: source texts by their path from the root, all below `dpcore/`.
    """
    climbing = []
    for path, names in _inner_imports(sources).items():
        importer = room(module_name(path))
        climbing += [
            f"{path} (floor {floor(importer)}) imports {name} (floor {floor(room(name))})"
            for name in names
            if floor(room(name)) > floor(importer)
        ]
    return climbing


def room_graph(sources: dict[str, str]) -> dict[str, set[str]]:
    """Return the rooms that each room imports."""
    graph: dict[str, set[str]] = {}
    for path, names in _inner_imports(sources).items():
        importer = room(module_name(path))
        graph.setdefault(importer, set()).update({room(name) for name in names} - {importer, ""})
    return graph


def file_graph(sources: dict[str, str]) -> dict[str, set[str]]:
    """Return the modules that each module needs at run time: late imports too, no types only.

    Args:
        sources: source texts by their path from the root.
    """
    modules = {module_name(path): path for path in sources}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        package = path.endswith("__init__.py")
        statements = _run(ast.parse(sources[path]).body, functions=True)
        named = {name for node in statements for name in _named(node, module, package)}
        graph[module] = (named & modules.keys()) - {module}
    return graph


def _inner_imports(sources: dict[str, str]) -> dict[str, list[str]]:
    modules = {module_name(path) for path in sources}
    places = modules | {f"dpcore.{room(module)}" for module in modules}
    inner = {}
    for path, source in sources.items():
        named = imports(source, module_name(path), path.endswith("__init__.py"))
        known = (name if name in places else name.rpartition(".")[0] for name in named)
        inner[path] = [name for name in dict.fromkeys(known) if name in places]
    return inner


def machine_paths(text: str) -> list[str]:
    """Lines that hold a path of one machine or the host name of a package registry."""
    return [
        f"{number}: {line.strip()[:100]}"
        for number, line in enumerate(text.splitlines(), start=1)
        if MACHINE_PATH.search(line) or REGISTRY_HOST.search(line)
    ]
