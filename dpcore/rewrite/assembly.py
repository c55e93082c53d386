"""From output words to a text that reads like one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.errors import ParameterError
from dpcore.rewrite.casing import apply
from dpcore.rewrite.english import CLITICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dpcore.rewrite.vocabulary import Encoding, Slot

# A word never follows these directly: where it did, it was a symbol or a slip, and the missing
# space would tell which.
_SPACE_AFTER = frozenset(".,;:!?)]}") | {"…", "..."}


def write_slots(encoding: Encoding, outputs: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Write every slot, with its case restored.

    Args:
        encoding: The k open places and everything around them.
        outputs: One output word for each of the k open slots, in order.

    Returns:
        White space and text of each slot of `encoding.slots`, in order.

    Raises:
        ParameterError: There are not k outputs.
    """
    needed = len(encoding.open_slots)
    if len(outputs) != needed:
        raise ParameterError(f"{needed:,} output words are needed, got {len(outputs):,}")
    words = iter(outputs)
    written: list[tuple[str, str]] = []
    previous: Slot | None = None
    for slot in encoding.slots:
        word = next(words) if slot.is_open else slot.text
        # The white space before a text is not kept.
        gap = "" if previous is None else slot.before or _missing_space(previous, slot, word)
        written.append((gap, apply(slot.case, word)))
        previous = slot
    return tuple(written)


def _missing_space(previous: Slot, slot: Slot, word: str) -> str:
    """Return the space to put where the original had none.

    Two words that touch (a word beside a symbol, the parts of a contraction) are kept apart,
    except for an ending such as "n't".
    """
    if not slot.is_word or (slot.joined and word in CLITICS):
        return ""
    return " " if previous.is_word or previous.text in _SPACE_AFTER else ""


def assemble(encoding: Encoding, outputs: Sequence[str]) -> str:
    """Put output words into the text.

    Args:
        encoding: The k open places and everything around them.
        outputs: One output word for each of the k open slots, in order.

    Returns:
        The rewritten text. It is computed from the encoding's released part and the outputs
        alone, so it is post-processing of what the mechanism and the released part give away.

    Raises:
        ParameterError: There are not k outputs.
    """
    return "".join(gap + text for gap, text in write_slots(encoding, outputs))
