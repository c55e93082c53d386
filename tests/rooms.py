"""Draw the rooms of the engine and list its studies: `python -m tests.rooms` writes docs/rooms.md.

An arrow points from a room to one that it imports. An import that other arrows already imply is
left out, so that the picture shows the order of the house.
"""

from __future__ import annotations

from types import ModuleType

from dpcore.papers import studies
from dpcore.study.plan import Study
from tests.needs import ROOT
from tests.rules import room_graph

PICTURE = ROOT / "docs/rooms.md"
_HEAD = """# The rooms of the engine

Drawn from the imports by `python -m tests.rooms`. An arrow points to a room that is imported;
arrows that others imply are left out. Every room also imports the ground: `guarantee.py`,
`outwards.py`, `written.py`, `limits.py`, `errors.py`, `arrays.py`, `arguments.py`, `optional.py`.
The question that each room answers is in [CONTRIBUTING.md](../CONTRIBUTING.md).

"""

_STUDIES = """
# What only made the data

No page runs these studies: pages read what `python -m dpcore study run NAME` has recorded in
`data/results/`. The file that declares a study holds its measurements or imports them from
`dpcore/study/`.

| study | declared in | what is measured |
|---|---|---|
"""


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the graph without the edges that longer paths imply.

    Args:
        graph: room -> rooms that it imports; without circles.
    """

    def reach(room: str) -> set[str]:
        below = graph.get(room, set())
        return below.union(*map(reach, below))

    return {
        room: {to for to in below if not any(to in reach(other) for other in below - {to})}
        for room, below in graph.items()
    }


def picture(sources: dict[str, str]) -> str:
    """Return the page with the graph of rooms, as Markdown with a Mermaid diagram.

    Args:
        sources: source texts of the engine by their path from the root.
    """
    rooms = {path.split("/")[1] for path in sources if path.count("/") > 1}
    graph = {room: below & rooms for room, below in room_graph(sources).items() if room in rooms}
    edges = [
        f"    {room} --> {to}"
        for room, below in sorted(reduced(graph).items())
        for to in sorted(below)
    ]
    diagram = "\n".join(["```mermaid", "flowchart TD", *edges, "```", ""])
    known = studies.STUDIES | studies.EXPERIMENTS
    rows = [
        f"| `{name}` | `{path}` | {known[name].title} |" for name, path in declared_in().items()
    ]
    return _HEAD + diagram + _STUDIES + "\n".join([*rows, ""])


def declared_in() -> dict[str, str]:
    """Return the file that declares each study, by the study's name in display order."""
    modules = [studies, *(each for each in vars(studies).values() if isinstance(each, ModuleType))]
    files = {
        study.name: module.__name__.replace(".", "/") + ".py"
        for module in modules
        for value in vars(module).values()
        for study in (value if isinstance(value, tuple) else (value,))
        if isinstance(study, Study)
    }
    return {name: files[name] for name in studies.STUDIES | studies.EXPERIMENTS}


if __name__ == "__main__":
    engine = sorted((ROOT / "dpcore").rglob("*.py"))
    texts = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in engine}
    PICTURE.write_text(picture(texts), encoding="utf-8")
