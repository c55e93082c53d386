"""What is said of a map, from the numbers that it is drawn from."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def map_caption(
    projection: str,
    words: int,
    of: int,
    kept: float,
    k: int,
    density: float,
    masses: pd.DataFrame | None = None,
    at: str = "",
    drawn: pd.DataFrame | None = None,
) -> str:
    """What a map shows and what it hides, from the numbers that it is drawn from.

    Args:
        projection: umap, densmap or pca.
        words: mapped words.
        of: words of the lexicon.
        kept: mean share of the k nearest words that are nearest on the map.
        k: neighbours compared.
        density: rank correlation of crowdedness in truth and on the map; NaN if undefined.
        masses: columns word, on_map (probability that the output is a mapped word); one row an
            input word.
        at: mechanism and ε in words.
        drawn: the columns `dpcore.plots.maps.maps.MASS_COLUMNS`, as in the figure: how much of the
        mass
            it draws.
    """
    name = {"umap": "UMAP", "densmap": "densMAP", "pca": "PCA"}.get(projection, projection)
    said = [
        f"{name} of {words:,} of {of:,} words: of the {k} nearest words of a word, this map keeps "
        f"{kept:{'.0%' if kept >= 0.02 else '.1%'}} among the {k} nearest."
    ]
    if not math.isnan(density):
        said.append(
            f"Crowded places stay crowded with a rank correlation of {density:.2f} "
            "(1: all, 0: nothing of it)."
        )
    if masses is not None and len(masses):
        shares = ", ".join(
            f"{share:.1%} of the outputs of “{word}”"
            for word, share in zip(masses["word"], masses["on_map"].tolist(), strict=True)
        )
        said.append(f"{at}: {shares} fall on words of this map.")
    if drawn is not None:
        sources, mass = drawn["source"].to_numpy(), drawn["mass"].to_numpy()
        held = [f"{mass[sources == one].sum():.1%}" for one in sorted(set(sources.tolist()))]
        said.append(
            f"The {len(drawn):,} output words that are drawn hold {' and '.join(held)}."
            if held
            else "No output is likely enough to be drawn: the mass is spread over too many words."
        )
    return " ".join(said)
