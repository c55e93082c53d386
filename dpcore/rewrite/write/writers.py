"""The mechanisms that write, and one call that writes a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.arguments import a_kind, a_name, a_real, a_whole
from dpcore.errors import EpsilonError, ParameterError, TextError
from dpcore.lexicon.progress import Progress, silent
from dpcore.limits import MAX_WRITTEN_TOKENS
from dpcore.noise.streams import generator
from dpcore.rewrite.write.dp_masked import DpMasked
from dpcore.rewrite.write.dp_prompt import DpPrompt
from dpcore.rewrite.write.writer import written

if TYPE_CHECKING:
    from dpcore.rewrite.write.writer import Writer, Writing

WRITERS = (DpPrompt, DpMasked)
"""The mechanisms; one whose packages are not installed says so when it is used."""


def writer_of(name: str, form: str = "published") -> Writer:
    """The mechanism of a name.

    Args:
        name: short name, such as "dp-prompt".
        form: "published", "calibrated" or "response".

    Raises:
        ParameterError: there is no such mechanism or form; the message names those that there are.
    """
    a_name(name, "a mechanism that writes")
    writers = {writer.name: writer for writer in WRITERS}
    if name not in writers:
        raise ParameterError(
            f"the mechanism must be one of {', '.join(writers)}, got {name[:40]!r}; a mechanism "
            "for words rewrites with `rewrite`"
        )
    return writers[name](form=form)


def write(
    text: str,
    mechanism: str = "dp-prompt",
    *,
    epsilon: float,
    tokens: int | None = None,
    form: str = "published",
    seed: int | None = None,
    progress: Progress = silent,
) -> Writing:
    """A new text in the place of a private one, drawn token by token.

    Each token keeps ε between any two private texts (of as many words, if `tokens` is left to
    "dp-masked"), and n tokens keep n·ε: `composed()` says how much less that is for a δ. Text that
    reads well takes an ε of the whole text in the hundreds (`docs/writers.md`).

    Args:
        text: the private text.
        mechanism: "dp-prompt", where a language model rephrases the text in tokens of its own, or
            "dp-masked", where a small network puts a word in the place of each word.
        epsilon: of a token.
        tokens: n, how many are drawn; choose it in public, never by the private text. If it is not
            given, 30 for "dp-prompt" and the number of its words, which is then told, for
            "dp-masked".
        form: "published" (a temperature of 2Δ/ε), "calibrated" (one at which the loss is at most
            ε, by the bound for any scores) or "response" (randomised response on what the model
            draws).
        seed: None draws fresh noise for a text to publish; a number repeats an experiment, whose
            text must not be published.
        progress: called with ("tokens", done, total).

    Returns:
        The text, which may be published; its tokens with their probabilities, which may not.

    Raises:
        EpsilonError: ε is not a finite number above 0.
        ParameterError: there is no such mechanism or form, or so many tokens are not allowed.
        TextError: the text is empty, too long, or not text.
        MissingPackageError: the mechanism's model is not installed.
    """
    a_kind(text, str, "a text is needed", TextError)
    epsilon = a_real(epsilon, "epsilon", EpsilonError)
    if tokens is not None:
        tokens = a_whole(tokens, "tokens", 1, MAX_WRITTEN_TOKENS)
    rng = generator(seed, "write", mechanism)
    return written(writer_of(mechanism, form), text, epsilon, tokens, rng, progress)
