"""What is accepted as a text, with a message for everything that is not."""

from __future__ import annotations

import codecs
import re

from dpcore.arguments import a_kind, a_whole
from dpcore.errors import TextError
from dpcore.limits import MAX_TEXT_CHARACTERS, MAX_TEXT_TOKENS
from dpcore.rewrite.tokens import tokenize

# Tabs, line and form feeds are white space; the other control characters stand in binary files.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\ufffd"
_WORST_SHARE = 0.05  # of replacement characters: beyond it, a text was decoded wrongly


def check_text(
    text: str,
    *,
    max_characters: int = MAX_TEXT_CHARACTERS,
    max_tokens: int = MAX_TEXT_TOKENS,
) -> None:
    """Refuse a text that cannot be rewritten.

    Args:
        text: What a user typed or uploaded.
        max_characters: Largest number of code points accepted.
        max_tokens: Largest number of tokens accepted.

    Raises:
        TextError: The text is blank, too long, binary or wrongly decoded. The message holds
            numbers and positions (characters counted from 1) but none of the words.
    """
    a_kind(text, str, "a text is needed", TextError)
    if len(text) > a_whole(max_characters, "max_characters"):
        raise TextError(
            f"the text has {len(text):,} characters; at most {max_characters:,} are allowed"
        )
    if control := _CONTROL.search(text):
        raise TextError(
            f"the text holds the control character U+{ord(control[0]):04X} at character "
            f"{control.start() + 1:,}: it looks like a binary file; plain text is needed"
        )
    if surrogate := _SURROGATE.search(text):
        raise TextError(
            f"the text holds half of a surrogate pair, U+{ord(surrogate[0]):04X}, at character "
            f"{surrogate.start() + 1:,}: it was decoded wrongly; valid Unicode is needed"
        )
    lost = text.count(_REPLACEMENT)
    if lost > _WORST_SHARE * len(text):
        raise TextError(
            f"{lost:,} of the {len(text):,} characters of the text are the replacement character "
            f"U+FFFD: it was decoded wrongly; save it as UTF-8 and try again"
        )
    count = len(tokenize(text))
    if not count:
        raise TextError("the text is empty; at least one word is needed")
    if count > a_whole(max_tokens, "max_tokens"):
        raise TextError(
            f"the text has {count:,} words and punctuation marks; at most {max_tokens:,} "
            f"are allowed"
        )


def decode(data: bytes, first: int = 0) -> str:
    """Decode the bytes of a text file.

    Args:
        data: UTF-8, with or without a byte order mark.
        first: bytes of the file before these.

    Returns:
        The text, without the byte order mark.

    Raises:
        TextError: The bytes are not UTF-8; the message names the first offending byte, counted
            from 1.
    """
    if first == 0 and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise TextError("the file begins like UTF-16 text; UTF-8 is needed: save it as UTF-8")
    try:
        return data.decode("utf-8" if first else "utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder counts from behind a byte order mark.
        marked = first == 0 and data.startswith(codecs.BOM_UTF8)
        skipped = len(codecs.BOM_UTF8) if marked else 0
        position = error.start + (skipped if len(error.object) < len(data) else 0)
        raise TextError(
            f"the file is not UTF-8 text: byte 0x{data[position]:02X} at position "
            f"{first + position + 1:,} does not fit; save it as UTF-8 and try again"
        ) from None
