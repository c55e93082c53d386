"""Huang et al. 2024 on text: rewriting quality (Tables 1 to 3) and accuracy (Figure 4).

The paper's numbers are of text that an auto-encoder writes, or of a network that was fine-tuned
with the noise inside. Here every word is rewritten on its own by Algorithm 1, and the rewritten
text is what is compared and learned from: that is what the guarantee is about.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpcore.noise.streams import generator
from dpcore.study.reading_corpora import labelled_rows, plain_rows
from dpcore.study.rewriting import rewriting
from dpcore.study.rows import Row, prepare
from dpcore.study.utility import baseline, trial

if TYPE_CHECKING:
    from dpcore.study.plan import Cell
    from dpcore.study.sources import Sources


def measure(cell: Cell, sources: Sources) -> list[Row]:
    """One trial of one mechanism at all its ε, or of the baseline.

    Options: `train` and `test` (texts), `test_split`, `most` (words of a text), `learners`,
    `rewritten` (test texts whose rewriting is compared).
    """
    lexicon, path = sources.lexicon(cell.lexicon), sources.file(cell.data)
    most = cell.option("most")
    training, testing = (
        labelled_rows(path, split, int(cell.option(size)), cell.shared_generator("texts", split))
        for split, size in (("train", "train"), (str(cell.option("test_split")), "test"))
    )
    train_on, test_on = prepare(training, lexicon, most), prepare(testing, lexicon, most)
    learners = tuple(cell.option("learners"))
    texts = testing.texts[: int(cell.option("rewritten"))]
    if not cell.mechanism:
        rows = list(baseline(train_on, test_on, lexicon, learners, cell.seed))
        return rows + list(rewriting(texts, lexicon, None, (), cell.seed))
    mechanism = sources.mechanism(cell)
    rows = list(trial(train_on, test_on, mechanism, cell.epsilons, learners, cell.seed))
    compared = rewriting(texts, lexicon, mechanism, cell.epsilons, cell.seed)
    return rows + [row for row in compared if row["quantity"] != "nw"]


def measure_rewriting(cell: Cell, sources: Sources) -> list[Row]:
    """Quality of rewritten sentences alone.

    Options: `split`, `rewritten` (sentences), `encoder` (lexicons with which similarity of meaning
    is measured too, on the first seed).
    """
    lexicon, path = sources.lexicon(cell.lexicon), sources.file(cell.data)
    rng = generator(cell.seed, "sentences", cell.data)
    texts = plain_rows(path, str(cell.option("split")), int(cell.option("rewritten")), rng)
    encoder = None
    if cell.lexicon in cell.option("encoder") and cell.seed == 0:
        from dpcore.measure.similarity.encoder import load_encoder

        encoder = load_encoder()
    mechanism = sources.mechanism(cell) if cell.mechanism else None
    return list(rewriting(texts, lexicon, mechanism, cell.epsilons, cell.seed, encoder))
