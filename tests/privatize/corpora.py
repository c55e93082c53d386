"""Small corpora in every format, orders to privatise them, and expected outputs."""

import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dpcore.mechanisms.mechanism import Mechanism
from dpcore.mechanisms.registry import create
from dpcore.noise.streams import document_generator
from dpcore.privatize.order import Order
from dpcore.rewrite.policy import Treatment
from dpcore.rewrite.sentence import prepare, release
from dpcore.tables.files import Columns
from tests.mechanisms import lexicons

LEXICON = lexicons.cloud(300, 6)
TEM = create("tem", LEXICON)
EPSILON = 2.0
TEXTS = [
    *(f"W{i} w{i + 1}, w{i + 2}! Secretword{i}" for i in range(120)),
    "", "w1 \u2028 w2", "“w3”\tw4, w5", 'w6 "w7" w8', "w9 " * 400,
    *(f"w{i % 7}" for i in range(60)),
]  # fmt: skip
KINDS = ("txt", "csv", "tsv", "jsonl", "parquet")


def write(path: Path, texts: list[str] = TEXTS) -> Path:
    """A corpus of these texts, with labels where the format has columns."""
    rows = [{"id": i, "text": text, "label": f"l{i % 3}"} for i, text in enumerate(texts)]
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=50)
    elif path.suffix == ".jsonl":
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        path.write_text("".join(lines), encoding="utf-8", newline="\n")
    elif path.suffix == ".txt":
        lines = (text.replace("\n", " ") + "\n" for text in texts)
        path.write_text("".join(lines), encoding="utf-8", newline="\n")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writerow(rows[0])
            writer.writerows(row.values() for row in rows)
    return path


def read(path: Path) -> list[Any]:
    """Rows of a file as dictionaries; text lines have one column."""
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    if path.suffix == ".txt":
        lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
        return [{"text": line} for line in lines]
    if path.suffix == ".jsonl":
        lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
        return [json.loads(line) for line in lines]
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


def order(source: Path, out: Path, **changed: Any) -> Order:
    fields: dict[str, Any] = {
        "source": source,
        "out": out,
        "mechanism": TEM,
        "epsilon": EPSILON,
        "columns": Columns(),
        "treatment": Treatment(),
        "seed": 7,
    }
    return Order(**fields | changed)


SEVEN = hashlib.sha256(b"experiment, seed 7").digest()


def twin(
    texts: list[str] = TEXTS,
    mechanism: Mechanism = TEM,
    epsilon: float = EPSILON,
    secret: bytes = SEVEN,
) -> list[str]:
    """Document by document, with nothing shared: what a run with this secret must give."""
    rewritten = []
    for number, text in enumerate(texts):
        if not text.strip():
            rewritten.append("")
            continue
        sentence = prepare(text, mechanism.lexicon, max_characters=10**6, max_tokens=10**6)
        rng = document_generator(secret, number)
        rewritten.append(release(sentence, mechanism, epsilon, rng).text)
    return rewritten
