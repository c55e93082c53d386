"""Words, their vectors and the metric between them.

The main names are in the modules `lexicon` (`Lexicon`), `metric` (`Metric`, `distances`), `extent`
(`Extent`), `nearest_word` (`nearest`), `neighbours` (`ExactIndex`, `ApproximateIndex`, `rank`) and
`catalogue` (`load`, `available`); they are imported from there, so that importing the package stays
light.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from dpcore.lexicon.lexicon import Lexicon
    from dpcore.lexicon.progress import Progress


class _CallableRoom(ModuleType):
    """Callable package: `dpcore.lexicon()` loads a lexicon.

    The name `dpcore.lexicon` can hold one object only, and the import of a package puts the
    package there, so the package itself is callable.
    """

    def __call__(
        self,
        name_or_path: str | Path | None = None,
        *,
        limit: int | None = None,
        language: str | None = None,
        progress: Progress | None = None,
    ) -> Lexicon:
        """Load a lexicon, as `dpcore.lexicon.catalogue.load` does."""
        # Not at the top: every module of this package would load the catalogue, a circle.
        from dpcore.lexicon.catalogue import load

        return load(name_or_path, limit=limit, language=language, progress=progress)


sys.modules[__name__].__class__ = _CallableRoom
