"""Of the command `attack`: who wrote a released text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dpcore.attack.language.authors import Authors, beginnings, rank_authors
from dpcore.attack.language.language import word_frequencies
from dpcore.attack.output.channel import open_channel
from dpcore.cli import shared
from dpcore.cli.printer import Answer, table
from dpcore.cli.reading import read_rows
from dpcore.cli.shell import Options
from dpcore.learn.bags import bags_of
from dpcore.learn.table import labelled_pairs
from dpcore.mechanisms.mechanism import Mechanism

_AUTHORS = (
    "{mechanism:<19}{epsilon:>10.4g|ε}  {attacker:<10}{first:>24|first}{place:>24|place of author}"
)


def on_authors(options: Options, asked: Sequence[tuple[Mechanism, list[float]]]) -> Answer:
    """The answer of `attack --authors`."""
    lexicon = asked[0][0].lexicon
    rows = read_rows(options.authors, options, options.text_column, options.author_column)
    pairs, _, _ = labelled_pairs(rows, options.text_column, options.author_column)
    texts, names = [text for text, _ in pairs], sorted({name for _, name in pairs})
    wrote = np.array([names.index(name) for _, name in pairs], dtype=np.int64)
    authors = Authors(bags_of(texts, lexicon), wrote, word_frequencies(lexicon))
    tried = beginnings(authors, texts, lexicon, options.first_words, options.texts, options.seed)
    attacks = []
    for mechanism, grid in asked:
        channel = open_channel(mechanism, progress=options.progress)
        for epsilon in mechanism.check_epsilons(grid).tolist():
            ranked = rank_authors(
                channel, authors, tried, epsilon,
                reader=options.reader, seed=options.seed, progress=options.progress,
            )  # fmt: skip
            attacks += [
                shared.settings_fields(mechanism)
                | {
                    "epsilon": epsilon,
                    "attacker": attacker,
                    "first": ranked.first(attacker),
                    "place": shared.fields(ranked.mean(attacker), "mean low high"),
                }
                for attacker in ranked.places
            ]
    fields = {"authors": authors.count, "texts": len(texts), "tried": len(tried)}
    return Answer(
        shared.lexicon_fields(lexicon)
        | {"seed": options.seed, "reader": options.reader, "first_words": options.first_words}
        | fields
        | {"chance": {"first": 1 / authors.count, "place": (authors.count + 1) / 2}}
        | {"attacks": attacks},
        _author_lines(authors.count, attacks),
    )


def _author_lines(authors: int, attacks: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield (
        f"{authors} authors; by chance the right one is first in {1 / authors:.3f} of the texts, "
        f"and at place {(authors + 1) / 2:g}"
    )
    yield from table(
        _AUTHORS,
        [
            row
            | {
                "first": "{share:.3f} ({low:.3f} to {high:.3f})".format_map(row["first"]),
                "place": "{mean:.2f} ({low:.2f} to {high:.2f})".format_map(row["place"]),
            }
            for row in attacks
        ],
    )
