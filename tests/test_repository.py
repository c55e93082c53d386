"""The whole repository keeps the rules of the house, whichever folders it has by now."""

import datetime
import operator
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import pytest
import yaml

from dpcore import __version__
from tests import rooms, rules
from tests.needs import ROOT

TOP_LEVEL = {
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "LICENSE",
    "LIMITATIONS.md",
    "README.md",
    "SECURITY.md",
    "app.py",
    "data",
    "docs",
    "dpcore",
    "pages",
    "pyproject.toml",
    "requirements-dask.txt",
    "requirements-dev.txt",
    "requirements-learn.txt",
    "requirements-redact.txt",
    "requirements-write.txt",
    "requirements.lock",
    "requirements.txt",
    "tests",
}
INSTALL_AND_RUN = "pip install -r requirements.txt && streamlit run app.py"
INSTALL_AND_TEST = (
    "pip install -r requirements.txt -r requirements-dev.txt && python -m pytest -n logical"
)
LARGE = {"torch", "transformers"}
LONGEST_FILE = 700
IMPORT_SECONDS = 0.3
# Distribution names of modules that are called otherwise.
DISTRIBUTION = {
    "axe_playwright_python": "axe-playwright-python",
    "faiss": "faiss-cpu",
    "sklearn": "scikit-learn",
    "umap": "umap-learn",
    "markdown_it": "markdown-it-py",
    "yaml": "pyyaml",
}
# Words that a newcomer searches for, and the file that holds each.
SOUGHT = {
    "default ε": "pages/shared/epsilon_dial.py",
    "limits": "dpcore/limits.py",
    "upload": "dpcore/limits.py",
    "seed": "dpcore/noise/streams.py",
    "each document": "dpcore/noise/streams.py",
    "madlib": "dpcore/mechanisms/additive/euclidean.py",
    "laplace": "dpcore/noise/samplers.py",
    "masked language model": "dpcore/lexicon/masked_model.py",
    "header": "dpcore/tables/detection.py",
    "can cross": "dpcore/attack/bounds/__init__.py",
    "unknown word": "dpcore/rewrite/policy.py",
    "tokeniser": "dpcore/rewrite/tokens.py",
    "dp-prompt": "dpcore/rewrite/write/writers.py",
    "personal data": "dpcore/rewrite/redact/__init__.py",
    "verdict": "dpcore/papers/claim.py",
    "hockey-stick": "dpcore/audit/profiles/profile.py",
    "composed": "dpcore/audit/composition.py",
    "prior": "dpcore/attack/output/prior.py",
    "membership": "dpcore/attack/membership.py",
    "umap": "dpcore/measure/maps/fit.py",
    "colour": "dpcore/plots/style.py",
    "label of": "dpcore/privatize/label.py",
    "rouge": "dpcore/measure/similarity.py",
    "calibration": "dpcore/mechanisms/certificate.py",
    "stop) words": "dpcore/rewrite/languages.py",
    "resume": "dpcore/privatize/run.py",
    "dask": "dpcore/jobs/cluster.py",
    "plugin": "dpcore/mechanisms/registry.py",
    "rate limit": "pages/shared/server.py",
    "translated": "pages/shared/language.py",
    "bibtex": "dpcore/papers/overview.py",
}
# What a module of the engine may import when it is itself imported; all else is imported late.
LIGHT = {"dpcore", "numpy", "scipy"}
LIGHT_IN = {"cli": {"click"}, "plots": {"pandas", "plotly"}, "sklearn": {"sklearn"}}


def listed() -> list[str]:
    """Paths from the root of every file that is tracked, or new and not ignored."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        answer = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
        paths = answer.stdout.rstrip("\0").split("\0")
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive, or no git
        hidden = re.compile(r"(^|/)(\.(?!ci/|streamlit/)|__pycache__|.*\.egg-info/|venv/)")
        files = (str(path.relative_to(ROOT)) for path in ROOT.rglob("*"))
        paths = [name for name in files if not hidden.search(name)]
    return sorted({name for name in paths if (ROOT / name).is_file()})


FILES = listed()
SOURCES = {
    name: (ROOT / name).read_text(encoding="utf-8") for name in FILES if name.endswith(".py")
}
ENGINE = {name: text for name, text in SOURCES.items() if name.startswith("dpcore/")}
APP = {name: text for name, text in SOURCES.items() if re.match(r"app\.py$|pages/", name)}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
EXTRAS = PROJECT["project"]["optional-dependencies"]


def breaches(sources: dict[str, str], rule: Callable[[str], list[str]]) -> list[str]:
    """Every breach of a rule, with the file it is in."""
    return [f"{name}:{breach}" for name, text in sources.items() for breach in rule(text)]


def requirements(name: str) -> list[str]:
    """The requirements of a file, without comments."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return sorted(line for line in lines if line and not line.startswith("#"))


def third_party(name: str) -> str:
    """The distribution that a module belongs to, or nothing for our own and the library's."""
    top = name.split(".")[0]
    if top in sys.stdlib_module_names or top in {"", "docs", "dpcore", "pages", "tests"}:
        return ""
    return DISTRIBUTION.get(top, top)


def declared(specifiers: list[str]) -> set[str]:
    """Names without version ranges."""
    return {re.match(r"[\w-]+", entry).group() for entry in specifiers}


def test_top_level_holds_nothing_else() -> None:
    tops = {name.split("/")[0] for name in FILES}
    assert {top for top in tops if not top.startswith(".")} <= TOP_LEVEL


def test_no_pickle_raw_html_or_global_random_state() -> None:
    assert not breaches(SOURCES, rules.forbidden)


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from joblib import load",
        "np.load(p, allow_pickle=True)",
        "np.load(p, allow_pickle=trusted)",
        "st.markdown(t, unsafe_allow_html=True)",
        "np.random.seed(1)",
        "numpy.random.rand(3)",
        "from numpy.random import normal",
        "from numpy import random",
        "import numpy.random as draws",
        "import random\nrandom.shuffle(words)",
        "from random import choice",
        "pd.read_pickle(p)",
        "table.to_pickle(p)",
        "st.html(text)",
        "st.html(f'<b>{text}</b>')",
        "st.components.v1.html(text)",
        "st.iframe(address)",
    ],
)
def test_the_rule_finds_what_is_forbidden(source: str) -> None:
    assert len(rules.forbidden(source)) == 1
    for name in ("app.py", "dpcore/noise/samplers.py", "pages/rewrite/page.py"):
        planted = f"{SOURCES[name]}\n\ndef planted():\n    " + source.replace("\n", "\n    ")
        assert len(breaches({name: planted}, rules.forbidden)) == 1  # planted anywhere, it is found


def test_the_rule_allows_generators_and_safe_loading() -> None:
    source = (
        "import random\nimport numpy as np\nr = np.random.default_rng(1)\nq = random.Random(1)\n"
        "np.load(p, allow_pickle=False)\nst.html(f'<style>{STYLE}</style>')"
    )
    assert rules.forbidden(source) == []


def test_no_machine_path_and_no_registry_host() -> None:
    texts = {
        name: (ROOT / name).read_text(encoding="utf-8")
        for name in FILES
        if re.search(r"\.(pyi?|ipynb|md|toml|txt|ya?ml|json|cfg|sh|cff|lock)$|^\.ci/", name)
        and (ROOT / name).stat().st_size < 1_000_000
    }
    assert not breaches(texts, rules.machine_paths)


@pytest.mark.parametrize("folder", ["tmp", "work", "home/someone", "root"])
def test_the_rule_finds_machine_paths(folder: str) -> None:
    assert rules.machine_paths(f'open("/{folder}/x")')
    assert not rules.machine_paths(f"https://example.org/{folder}/x and ./{folder}/x")


def test_files_are_short() -> None:
    lengths = {name: text.count("\n") for name, text in (ENGINE | APP).items()}
    assert not {name: lines for name, lines in lengths.items() if lines >= LONGEST_FILE}


@pytest.mark.slow
def test_the_engine_never_imports_the_app_or_its_framework() -> None:
    barred = {"streamlit", "app", "pages", "tests"}
    assert not breaches(
        ENGINE, lambda text: [n for n in rules.imports(text) if n.split(".")[0] in barred]
    )


@pytest.mark.slow
def test_the_engine_imports_heavy_packages_late() -> None:
    heavy = []
    for name, text in ENGINE.items():
        allowed = LIGHT | LIGHT_IN.get(rules.room(rules.module_name(name)), set())
        tops = {entry.split(".")[0] for entry in rules.imports_at_load(text)}
        heavy += [f"{name}: {top}" for top in sorted(tops - allowed) if third_party(top)]
    assert not heavy


def test_imports_point_down_the_floors() -> None:
    assert not rules.upward(ENGINE)


def test_the_rule_finds_upward_imports_and_unknown_rooms() -> None:
    sources = {
        "dpcore/noise/radial.py": "from dpcore.lexicon import cache",
        "dpcore/lexicon/cache.py": "from ..noise import radial\nfrom dpcore import limits",
        "dpcore/limits.py": "def f():\n    import dpcore.noise.radial",
    }
    upward = rules.upward(sources)
    climbing = {entry.split(" ")[0] for entry in upward}
    assert climbing == {"dpcore/noise/radial.py", "dpcore/limits.py"}
    assert not any("imports dpcore.limits" in entry for entry in upward)
    with pytest.raises(KeyError, match="on no floor"):
        rules.upward({"dpcore/attic/box.py": "import dpcore.attic.box"})


@pytest.mark.slow
def test_the_picture_of_the_rooms_is_that_of_the_imports() -> None:
    assert rooms.PICTURE.read_text(encoding="utf-8") == rooms.picture(ENGINE)
    assert rooms.reduced({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {
        "a": {"b"}, "b": {"c"}, "c": set(),
    }  # fmt: skip


@pytest.mark.slow
def test_rooms_form_no_circle() -> None:
    list(TopologicalSorter(rules.room_graph(ENGINE)).static_order())  # raises CycleError


@pytest.mark.slow
def test_files_form_no_circle() -> None:
    """Names for the type checker may: a protocol and what has it, a hook and who answers it."""
    list(TopologicalSorter(rules.file_graph(ENGINE | APP)).static_order())  # raises CycleError


def test_the_rule_finds_circles_of_files() -> None:
    typed = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from dpcore.noise import radial"
    )
    below = {"dpcore/noise/radial.py": "from dpcore.noise.towards import step"}
    TopologicalSorter(rules.file_graph(below | {"dpcore/noise/towards.py": typed})).prepare()
    for back in (
        "from dpcore.noise.radial import draw",
        "from . import radial",
        "def step():\n    with lock:\n        import dpcore.noise.radial",
        "class Step:\n    def draw(self):\n        from dpcore.noise import radial",
    ):
        with pytest.raises(CycleError):
            TopologicalSorter(rules.file_graph(below | {"dpcore/noise/towards.py": back})).prepare()


def test_what_pages_share_imports_no_page() -> None:
    def climbing(text: str) -> list[str]:
        return [name for name in rules.imports(text) if re.match(r"pages\.(?!shared\b)", name)]

    below = {name: text for name, text in APP.items() if name.startswith("pages/shared/")}
    assert below
    assert not breaches(below, climbing)
    assert climbing("def draw():\n    from pages.lesson.steps import step")
    assert not climbing("from pages.shared.sharing import share")


def test_pages_use_no_primary_button() -> None:
    assert not breaches(APP, rules.primary_buttons)


def test_no_table_of_a_page_shows_the_word_none() -> None:
    assert not breaches(APP, rules.tables_with_none)
    assert rules.tables_with_none("st.dataframe(table, hide_index=True)")
    assert not rules.tables_with_none('left.dataframe(table, placeholder="")')


def test_every_package_that_is_imported_is_required() -> None:
    runtime = PROJECT["project"]["dependencies"] + [
        entry for extra, entries in EXTRAS.items() if extra != "dev" for entry in entries
    ]
    for sources, names in (
        (ENGINE | APP, declared(runtime)),
        (SOURCES, declared(runtime + EXTRAS["dev"])),
    ):
        used = {third_party(n) for text in sources.values() for n in rules.imports(text)}
        assert used - {""} <= names


def test_requirement_files_agree_with_the_package() -> None:
    assert requirements("requirements.txt") == sorted(
        PROJECT["project"]["dependencies"] + EXTRAS["app"]
    )
    assert requirements("requirements-dask.txt") == EXTRAS["dask"]
    assert requirements("requirements-learn.txt") == sorted({*EXTRAS["learn"], *EXTRAS["encoder"]})
    assert requirements("requirements-dev.txt") == sorted(EXTRAS["dev"])


def numbers(version: str) -> tuple[int, ...]:
    """A version as numbers that can be compared."""
    return tuple(int(part) for part in version.split("."))


def test_the_lock_file_pins_every_requirement_within_its_range() -> None:
    lines = requirements("requirements.lock")
    matches = re.findall(r"^([\w.-]+)==([\d.]+)", "\n".join(lines), re.MULTILINE)
    pins: dict[str, str] = dict(matches)
    assert len(matches) == len(lines)
    compare = {">=": operator.ge, "<": operator.lt, "==": operator.eq}
    for entry in requirements("requirements.txt") + requirements("requirements-dev.txt"):
        name = re.match(r"[\w-]+", entry).group()
        if name != "torch":  # its builds differ between platforms
            bounds = re.findall(r"(>=|<|==)([\d.]+)", entry)
            assert bounds, entry
            for sign, bound in bounds:
                assert compare[sign](numbers(pins[name]), numbers(bound)), (entry, pins[name])


# Keys of schema 1.2.0 of the Citation File Format, and of one that is a team there.
CITED = {
    "abstract", "authors", "cff-version", "commit", "contact", "date-released", "doi",
    "identifiers", "keywords", "license", "license-url", "message", "preferred-citation",
    "references", "repository", "repository-artifact", "repository-code", "title", "type", "url",
    "version",
}  # fmt: skip
TEAM = {
    "address", "alias", "city", "country", "date-end", "date-start", "email", "fax", "location",
    "name", "orcid", "post-code", "region", "tel", "website",
}  # fmt: skip
PERSON = {
    "address", "affiliation", "alias", "city", "country", "email", "family-names", "fax",
    "given-names", "name-particle", "name-suffix", "orcid", "post-code", "region", "tel", "website",
}  # fmt: skip


def faults_of_a_citation(citation: dict[str, Any], heading: str) -> list[str]:
    """Breaches of the schema, and of agreement with the changelog's heading of this version."""
    texts = ("cff-version", "message", "title", "version")
    faults = [key for key in texts if not isinstance(citation.get(key), str) or not citation[key]]
    faults += sorted(citation.keys() - CITED)
    if citation.get("cff-version") != "1.2.0":
        faults.append("another schema")
    if citation.get("type", "software") not in {"software", "dataset"}:
        faults.append("type")
    authors = citation.get("authors") or [{}]
    if not all(one and (one.keys() <= TEAM or one.keys() <= PERSON) for one in authors):
        faults.append("authors")
    words = citation.get("keywords", ["a"])
    if not words or len(set(words)) < len(words) or not all(isinstance(w, str) for w in words):
        faults.append("keywords")
    # A version that is not released has no date; one that is has that of the changelog.
    released = re.fullmatch(rf"{re.escape(__version__)}, (\d{{4}}-\d\d-\d\d)", heading)
    date = citation.get("date-released")
    if (date is None) == bool(released) or (released and str(date) != released[1]):
        faults.append("date-released")
    return faults


def test_the_citation_follows_its_schema_and_names_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.search(rf"^## ({re.escape(__version__)}\b.*)$", log, re.MULTILINE)[1]
    assert not faults_of_a_citation(citation, heading)
    assert citation["version"] == __version__
    assert citation["license"] == PROJECT["project"]["license"].split(" AND ")[0]
    assert "docs/sources.md" in citation["message"]


def test_faults_of_a_citation_are_found() -> None:
    good = {
        "cff-version": "1.2.0", "message": "Cite.", "title": "A", "version": __version__,
        "authors": [{"name": "A team"}],
    }  # fmt: skip
    day = datetime.date(2030, 1, 2)
    open_, dated = f"{__version__}, not yet released", f"{__version__}, {day}"
    assert faults_of_a_citation(good, open_) == []
    assert faults_of_a_citation(good | {"date-released": day}, dated) == []
    for bad, heading, fault in (
        ({"date-released": day}, open_, "date-released"),
        ({}, dated, "date-released"),
        ({"date-released": "2030-01-03"}, dated, "date-released"),
        ({"message": ""}, open_, "message"),
        ({"version": 0.2}, open_, "version"),
        ({"cff-version": "1.1.0"}, open_, "another schema"),
        ({"year": 2030}, open_, "year"),
        ({"authors": []}, open_, "authors"),
        ({"authors": [{"name": "A", "given-names": "B"}]}, open_, "authors"),
        ({"keywords": ["a", "a"]}, open_, "keywords"),
        ({"type": "program"}, open_, "type"),
    ):
        assert faults_of_a_citation(good | bad, heading) == [fault]


def test_the_oldest_python_of_the_package_is_the_first_that_is_tested() -> None:
    text = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    tested = re.findall(r'"([\d.]+)"', re.search(r"python: \[(.*)\]", text)[1])
    assert f">={tested[0]}" == PROJECT["project"]["requires-python"]
    assert tested == sorted(tested, key=lambda version: int(version.split(".")[1]))
    assert len(tested) >= 2


WORKFLOWS = {
    path.name: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in (ROOT / ".github/workflows").glob("*.yml")
}


def faults_of_a_workflow(workflow: dict[Any, Any]) -> list[str]:
    """Doors that a workflow leaves open, and what would run without an end."""
    events = workflow[True]  # YAML reads the key `on` as a truth value
    faults = [event for event in events if event not in {"push", "pull_request"}]
    if workflow.get("permissions") != {"contents": "read"}:
        faults.append("permissions")
    if not workflow.get("concurrency", {}).get("group"):
        faults.append("concurrency")
    for name, job in workflow["jobs"].items():
        if not job.get("timeout-minutes"):
            faults.append(f"{name}: no time limit")
        if "permissions" in job:
            faults.append(f"{name}: permissions")
        if "self-hosted" in job["runs-on"] and "event_name == 'push'" not in job.get("if", ""):
            faults.append(f"{name}: code of strangers on a machine of ours")
        for step in job["steps"]:
            action = step.get("uses", "actions/none@v1")
            if not re.fullmatch(r"actions/[a-z-]+@v\d+", action):
                faults.append(f"{name}: {action}")
            keeps = action.startswith("actions/checkout@")
            if keeps and step.get("with", {}).get("persist-credentials") is not False:
                faults.append(f"{name}: keeps the token in the checkout")
            # What someone else writes, such as a title, must not become part of a script.
            if re.search(r"\${{(?! *(matrix|runner)\.)", step.get("run", "")):
                faults.append(f"{name}: a foreign text in a script")
    if "secrets" in str(workflow):
        faults.append("secrets")
    return faults


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_reads_and_ends_and_trusts_nobody(name: str) -> None:
    assert not faults_of_a_workflow(WORKFLOWS[name])


def test_faults_of_a_workflow_are_found() -> None:
    steps = [
        {"uses": "somebody/action@v1"},
        {"uses": "actions/checkout@main", "with": {"token": "${{ secrets.TOKEN }}"}},
        {"run": "echo ${{ github.event.issue.title }}"},
    ]
    jobs = {"a": {"runs-on": "self-hosted", "steps": steps, "permissions": "write-all"}}
    assert faults_of_a_workflow({True: {"pull_request_target": None}, "jobs": jobs}) == [
        "pull_request_target", "permissions", "concurrency", "a: no time limit", "a: permissions",
        "a: code of strangers on a machine of ours", "a: somebody/action@v1",
        "a: actions/checkout@main", "a: keeps the token in the checkout",
        "a: a foreign text in a script", "secrets",
    ]  # fmt: skip


def test_tests_run_on_three_systems_and_without_what_github_has_not() -> None:
    workflow = WORKFLOWS["tests.yml"]
    jobs = workflow["jobs"]
    systems = ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert jobs["quick"]["strategy"]["matrix"]["system"] == systems
    assert jobs["wheel"]["strategy"]["matrix"]["system"] == systems
    assert workflow["env"]["CI"] == "false"  # else each missing part of `tests/needs.py` fails
    lines = [step.get("run", "") for job in jobs.values() for step in job["steps"]]
    assert "pip install -r requirements.txt -r requirements-dev.txt" in lines
    assert any(line.endswith("word-privacy-lab meter --epsilon 1") for line in lines)
    assert lines[-1] == ".ci/run"
    for file in re.findall(r"-r (\S+)", " ".join(lines)):
        assert (ROOT / file).is_file(), file


FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
# Fields that a form must ask for, by the word of its id.
ASKED = {
    "bug": {"happened", "steps", "doctor"},
    "number": {"shown", "mechanism", "epsilon", "lexicon", "prior", "calculation"},
    "mechanism": {"source", "guarantee", "law"},
}


def faults_of_a_form(form: Any) -> list[str]:
    """Faults for which GitHub would not show a form."""
    faults = [key for key in ("name", "description", "body") if not form.get(key)]
    ids = [part["id"] for part in form["body"] if part["type"] != "markdown"]
    faults += [f"{name} twice" for name in ids if ids.count(name) > 1]
    for part in form["body"]:
        texts = part.get("attributes", {})
        kinds = {"markdown", "textarea", "input", "dropdown", "checkboxes"}
        if part["type"] not in kinds or set(part) - {"type", "id", "attributes", "validations"}:
            faults.append(f"{part.get('id')}: type or keys")
        elif not texts.get("value" if part["type"] == "markdown" else "label"):
            faults.append(f"{part.get('id')}: nothing to read")
        if part["type"] == "checkboxes" and not all(one.get("label") for one in texts["options"]):
            faults.append(f"{part['id']}: a box without a label")
    return faults


@pytest.mark.parametrize("path", [p for p in FORMS if p.stem != "config"], ids=lambda p: p.stem)
def test_a_form_for_issues_is_one_and_asks_for_what_is_needed(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert not faults_of_a_form(form)
    required = {
        part["id"] for part in form["body"] if part.get("validations", {}).get("required") is True
    }
    assert required == ASKED[path.stem]
    text = path.read_text(encoding="utf-8")
    assert ("SECURITY.md" in text) == (path.stem != "mechanism")
    assert "@" not in text  # no address of anyone
    security = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert path.stem != "number" or f"*{form['name']}*" in security


def test_there_is_a_form_for_each_kind_of_issue() -> None:
    assert {path.stem for path in FORMS} == {*ASKED, "config"}
    config = yaml.safe_load((ROOT / ".github/ISSUE_TEMPLATE/config.yml").read_text("utf-8"))
    assert config == {"blank_issues_enabled": False}
    assert faults_of_a_form({"name": "A", "description": "", "body": [{"type": "text", "id": "a"}]})


def test_contributing_asks_a_question_for_every_room_and_names_its_loop() -> None:
    row = re.compile(r"^\| `([\w./]+?)/?` \| [^|]*\?[^|]* \| (`[^|]*) \|$", re.MULTILINE)
    named = row.findall(CONTRIBUTING)
    folders = {name.split("/")[1] for name in ENGINE if name.count("/") > 1}
    rooms = {f"dpcore/{folder}" for folder in folders}
    assert {room for room, _ in named} == rooms | {"app.py", "pages", "data", "tests", "docs"}
    assert len(named) == len(rooms) + 5
    for pattern in re.findall(r"\btests/[\w./*]+", "".join(loop for _, loop in named)):
        assert list(ROOT.glob(pattern)), f"CONTRIBUTING.md names {pattern}"


def test_files_that_contributing_names_exist() -> None:
    assert len(CONTRIBUTING.splitlines()) <= 120
    named = re.findall(r"`((?:\.ci|data|docs|dpcore|pages|tests)/[\w./-]+)`", CONTRIBUTING)
    assert named
    for path in named:
        assert (ROOT / path).exists(), path
    for module in re.findall(r"python -m (tests\.\w+)", CONTRIBUTING):
        assert (ROOT / f"{module.replace('.', '/')}.py").is_file(), module


@pytest.mark.parametrize(("word", "place"), SOUGHT.items())
def test_names_and_first_lines_of_files_answer_where_something_is(word: str, place: str) -> None:
    """The search that CONTRIBUTING recommends finds the place, among few others."""
    assert "--include=*.py dpcore pages | grep -i WORD`" in CONTRIBUTING
    firsts = [f"{name}: {text.splitlines()[0]}" for name, text in (ENGINE | APP).items()]
    found = [line.split(":")[0] for line in firsts if word in line.lower()]
    assert place in found
    assert len(found) <= 7


def test_a_newcomer_tests_without_gigabytes() -> None:
    asked = declared([*requirements("requirements.txt"), *requirements("requirements-dev.txt")])
    assert not asked & LARGE


def test_requirement_files_and_extras_that_are_named_exist() -> None:
    for name, text in (ENGINE | APP).items():
        for file in re.findall(r"requirements[\w-]*\.txt", text):
            assert (ROOT / file).is_file(), f"{name} names {file}"
        for extra in re.findall(r"pip install [\"']?(?:dpcore|\.)\[([\w-]+)\]", text):
            assert extra in EXTRAS, f"{name} names the extra {extra}"


def test_readme_says_how_to_run_and_how_to_test() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert lines.count(INSTALL_AND_RUN) == 1
    assert lines.count(INSTALL_AND_TEST) == 1


@pytest.mark.undisturbed
def test_importing_the_engine_is_light_and_quick() -> None:
    program = (
        "import sys, time, numpy; before = set(sys.modules); start = time.perf_counter();"
        "import dpcore; print(time.perf_counter() - start);"
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}))"
    )
    seconds, loaded = [], set()
    for _ in range(3):  # the fastest of three: a busy machine slows a run, nothing hastens one
        answer = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=True, text=True
        )
        first, second = answer.stdout.splitlines()
        seconds.append(float(first))
        loaded |= set(second.split())
    assert loaded - set(sys.stdlib_module_names) == {"dpcore"}
    assert min(seconds) <= IMPORT_SECONDS
