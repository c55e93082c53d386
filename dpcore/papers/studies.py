"""The studies that are recorded, by name."""

from __future__ import annotations

from dpcore.errors import StudyError
from dpcore.papers.huang2024 import deniability as huang2024
from dpcore.papers.ours import deniability as bundled
from dpcore.papers.xu2021 import deniability as xu2021
from dpcore.study.parts import Study

STUDIES: dict[str, Study] = {
    study.name: study for study in (*xu2021.STUDIES, *huang2024.STUDIES, *bundled.STUDIES)
}
"""By name, in the order in which they are shown."""


def study_of(name: str) -> Study:
    """The study of a name.

    Raises:
        StudyError: there is none; the message names those that there are.
    """
    if name not in STUDIES:
        raise StudyError(f"no study {name[:60]!r}; there are: {', '.join(STUDIES)}")
    return STUDIES[name]
