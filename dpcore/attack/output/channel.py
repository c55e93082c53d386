"""The channel of a mechanism: two ways to the likelihoods of its outputs.

For a short list of words their laws are computed, exactly, for any mechanism that has one. For a
whole lexicon one *column* P(y | ·) is computed instead of n laws: what it needs of every word, its
distance to y and its normaliser, comes from one product with the `Spectrum` of the lexicon, which
is prepared once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import IntArray
from dpcore.attack.output.columns import ExponentialColumns, PlainColumns, RepairedColumns
from dpcore.attack.output.gumbel_columns import GumbelColumns
from dpcore.attack.output.rows import Rows
from dpcore.errors import ParameterError
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_ATTACK_PRIOR_WORDS, MAX_ATTACK_WORDS
from dpcore.mechanisms.hooks import ColumnForm, ExponentialForm, NearestForm

if TYPE_CHECKING:
    from dpcore.attack.output.likelihood import Channel
    from dpcore.mechanisms.mechanism import Mechanism


def open_channel(
    mechanism: Mechanism, words: Sequence[int] | IntArray | None = None, progress: Progress = silent
) -> Channel:
    """The channel of a mechanism with a finite exact law.

    Args:
        mechanism: over any lexicon.
        words: the only possible words, at most `limits.MAX_ATTACK_PRIOR_WORDS`; None for all
            words of the lexicon: at once for the bundled one, for another one prepared once (25,000
            words: some fifteen seconds) and kept in the cache folder.
        progress: of that preparation.

    Raises:
        ParameterError: the mechanism has no exact law, or there are too many words.
    """
    if not mechanism.exact_law:
        raise ParameterError(
            f"{mechanism.short} has no exact law, so no exact posterior: take the "
            "nearest-neighbour attacker (`attack --nearest`), or a mechanism such as tem"
        )
    n = len(mechanism.lexicon)
    if words is None and n <= MAX_ATTACK_PRIOR_WORDS:
        words = np.arange(n)
    if words is not None:
        return Rows(mechanism, mechanism.check_words(words))
    if not n <= MAX_ATTACK_WORDS:
        raise ParameterError(
            f"the lexicon has {n:,} words, and all of them can be weighed up to "
            f"{MAX_ATTACK_WORDS:,}: list the possible words instead "
            f"(at most {MAX_ATTACK_PRIOR_WORDS})"
        )
    form = mechanism.column_form
    if form is None:
        raise ParameterError(
            f"{mechanism.short} cannot be attacked over a whole lexicon of {n:,} words: list the "
            f"possible words (at most {MAX_ATTACK_PRIOR_WORDS})"
        )
    if isinstance(form, ColumnForm):
        return PlainColumns(mechanism, form)
    if isinstance(form, ExponentialForm):
        return ExponentialColumns(mechanism, form, progress)
    if isinstance(form, NearestForm):
        return RepairedColumns(mechanism, form, progress)
    return GumbelColumns(mechanism, form, progress)
