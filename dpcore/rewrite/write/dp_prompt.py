"""DP-Prompt: a language model is asked to rephrase a text, and every token that it says is drawn.

Utpala, Hooker and Chen 2023: logits are clipped to a range, and a token is drawn at the temperature
2·(high − low)/ε. The private text enters through the question alone, and what was drawn is public,
so each token keeps ε between any two texts and n tokens keep n·ε, as long as all tokens may come
out and n is public. That is what is done here: no cut to the likeliest tokens, and n draws always;
a text is over at its first end mark, which is a rule for what was drawn already.

`published` clips the logits as they are, at h = ε/2. `calibrated` clips the logarithms of the
model's own probabilities, which lie below 0 after any text while logits lie elsewhere after each,
and takes the h at which the bound on the loss of a token is ε, which scores of this kind cannot
reach. `response`, which is ours, lets the model draw as it likes and gives each token to randomised
response, which takes about half the ε for the same text (`scores.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from dpcore.errors import TextError
from dpcore.limits import MAX_WRITER_TOKENS
from dpcore.rewrite.checks import check_text
from dpcore.rewrite.write.scores import check_form, drawing
from dpcore.rewrite.write.smollm import load_model
from dpcore.rewrite.write.writer import checked_count

if TYPE_CHECKING:
    from dpcore.arrays import FloatArray
    from dpcore.rewrite.write.scores import TokenDraw
    from dpcore.rewrite.write.smollm import LanguageModel
    from dpcore.rewrite.write.writer import Next

_INSTRUCTION = "Rephrase the following text in other words."
# Both ranges are public: they were chosen at 480 places of answers about 40 training texts of the
# teaching corpus. There the mean logit of a place is 4.7 in the median and the largest one 36.6 at
# most in 99 of 100 places; ten nats below 0 leave a hundred or so candidates apart from the rest.
_RANGE = (5.0, 37.0)
_DEPTH = 10.0
_TEMPERATURE = 0.7  # of the model's own draw; any is public and costs nothing
USUAL_TOKENS = 30


@dataclass(frozen=True)
class DpPrompt:
    """DP-Prompt with SmolLM2.

    Attributes:
        form: "published", "calibrated" or "response".
        model: the language model; None: the one of the optional package, loaded when it is needed.
    """

    form: str = "published"
    model: LanguageModel | None = None
    name: ClassVar[str] = "dp-prompt"
    title: ClassVar[str] = "DP-Prompt"
    summary: ClassVar[str] = (
        "A small language model rephrases the text; every token is drawn from clipped scores"
    )
    texts: ClassVar[str] = "any two texts"

    def __post_init__(self) -> None:
        check_form(self.form)

    @property
    def _language(self) -> LanguageModel:
        return self.model or load_model()

    def draw(self, epsilon: float) -> TokenDraw:
        """How a token is drawn, all of them possible.

        Raises:
            EpsilonError: ε is not a finite number above 0.
            MissingPackageError: the model is not installed.
        """
        return drawing(
            self.form,
            epsilon,
            self._language.vocabulary,
            limits=_RANGE,
            depth=_DEPTH,
            temperature=_TEMPERATURE,
            texts=self.texts,
        )

    def count(self, text: str, tokens: int | None) -> int:
        """How many tokens are drawn: a public number, whatever the text is.

        Raises:
            ParameterError: so many are not allowed.
            TextError: the text is empty, too long, or not text.
        """
        check_text(text)
        return checked_count(USUAL_TOKENS if tokens is None else tokens)

    def begin(self, text: str, tokens: int) -> Next:
        """Ask the model; what it then says is scored token by token.

        Raises:
            TextError: the text is too long for the model.
            MissingPackageError: the model is not installed.
        """
        model = self._language
        private = model.encode(text)
        if len(private) > MAX_WRITER_TOKENS:
            raise TextError(
                f"the text has {len(private):,} tokens of the language model; at most "
                f"{MAX_WRITER_TOKENS:,} are allowed"
            )
        question = model.question(_INSTRUCTION, private)
        reading = model.reading(len(question) + tokens)

        def scored(drawn: Sequence[int]) -> FloatArray:
            return np.asarray(reading.scores(drawn or question), dtype=np.float64)

        return scored

    def decode(self, tokens: Sequence[int]) -> str:
        """The text up to the first end mark, without white space around it."""
        return self._language.decode(tokens).strip()

    def named(self, token: int) -> str:
        """One token as a person reads it; a mark by its name."""
        return self._language.named(token)
