"""A language model of eleven tokens, whose laws can be written out."""

import numpy as np

from dpcore.rewrite.write.smollm import Block, LanguageModel, Network

NAMES = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", *"abcdef", " ", "\n")


class Read:
    def __init__(self, ids: list[int]) -> None:
        self.ids = ids


class Letters:
    """A token a letter; letters that it does not know are left out."""

    def encode(self, text: str, add_special_tokens: bool) -> Read:
        assert not add_special_tokens
        return Read([NAMES.index(letter) for letter in text if letter in NAMES])

    def decode(self, tokens: list[int]) -> str:
        return "".join(NAMES[token] for token in tokens)


def network(seed: int = 0, scale: float = 1.0) -> Network:
    """Two blocks with four queries and two keys of four numbers."""
    rng = np.random.default_rng(seed)

    def matrix(*shape: int) -> np.ndarray:
        return (scale * rng.normal(size=shape) / 3.0).astype(np.float32)

    blocks = tuple(
        Block(1 + matrix(8), matrix(32, 8), matrix(8, 16), 1 + matrix(8), matrix(24, 8),
              matrix(8, 12))
        for _ in range(2)
    )  # fmt: skip
    return Network(5 * matrix(len(NAMES), 8), blocks, 1 + matrix(8), heads=4, shared=2, base=100.0)


def model(seed: int = 0) -> LanguageModel:
    marks = {name: number for number, name in enumerate(NAMES[:3])}
    return LanguageModel(network(seed), marks, frozenset({0, 2}), Letters())
