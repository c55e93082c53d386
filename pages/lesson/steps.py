"""The steps of the lesson in everyday words, each with its formula and a page to go to."""

from __future__ import annotations

from dataclasses import dataclass, field

from pages.shared.language import later


@dataclass(frozen=True)
class Step:
    """One step; its exercise is `dpcore.papers.lesson.EXERCISES[key]`.

    Attributes:
        key: of the exercise, and in links.
        short: on the list of steps.
        title: a sentence.
        story: in everyday words, Markdown of ours.
        formula: the same for those who read formulas, Markdown of ours.
        page: file of the page that shows it.
        look: what to look at there.
        link: the settings of that page.
    """

    key: str
    short: str
    title: str
    story: str
    formula: str
    page: str
    look: str
    link: dict[str, str] = field(default_factory=dict)


STEPS = (
    Step(
        "names",
        later("Names"),
        later("A text without names is not private"),
        later(
            "It seems enough to black out names, dates and places. But what makes a text yours "
            "is not its names alone: few other people put just these words together. Whoever "
            "knows two or three of them from elsewhere, from a talk, a photo or another post, "
            "can often find the text again, and with it everything else that it says."
        ),
        later(
            "Let $T_1, …, T_m$ be the sets of ordinary words of the texts. A set $K ⊂ T_i$ of "
            "$k$ known words singles $T_i$ out if $K ⊄ T_j$ for every $j ≠ i$. The share is "
            "taken over all $K$ with $k$ words, then over the texts."
        ),
        "pages/rewrite/page.py",
        later(
            "Take a letter with names in it and see what becomes of all its words, not of names "
            "alone"
        ),
        {"preset": "letter"},
    ),
    Step(
        "draw",
        later("One draw"),
        later("One word, one draw of noise"),
        later(
            "So every word is exchanged, at random. Each word is a point on a map of meanings, "
            "where words that are used alike lie close together. The point is pushed in a "
            "random direction by a random distance, and the word that lies nearest to where it "
            "lands comes out. Little noise, and it is often the word itself; much noise, and it "
            "is some word far away. The parameter **ε** sets how much: small ε, much noise."
        ),
        later(
            "Madlib: $M(w) = \\arg\\min_v \\lVert φ(w) + η − φ(v) \\rVert$ with noise of "
            "density $∝ e^{-ε\\lVert η \\rVert}$: a uniform direction, and a length that is "
            "Gamma distributed with shape $d$ and scale $1/ε$."
        ),
        "pages/rewrite/page.py",
        later("Move the slider of ε under your own sentence; draw again and again"),
        {"preset": "hospital", "eps_metric": "12"},
    ),
    Step(
        "odds",
        later("Odds"),
        later("What ε promises: odds"),
        later(
            "The promise is not that the word changes. It limits how sure the output makes "
            "anybody. Somebody thought it equally likely that you wrote one word or another; "
            "then sees what came out. The odds may now be 5 to 1, and the promise says: the "
            "output of this one place multiplies the odds by so much at most, whatever came out "
            "and whatever was believed before. How much follows from ε and from how far apart "
            "the two words lie, and it grows quickly with both. It is a promise about one "
            "output of one word: who sees the word released twice, or the words around it, gets "
            "a factor for each, and they multiply."
        ),
        later(
            "For all words $w, w'$ and outputs $y$: $\\Pr[M(w) = y] ≤ e^{ε\\,d(w, w')} "
            "\\Pr[M(w') = y]$. By Bayes' rule posterior odds are prior odds times that ratio. "
            "For $k$ independent outputs of $w$ or $w'$ the ratio is at most $e^{kε\\,d(w, "
            "w')}$; for two texts it is the product over their places."
        ),
        "pages/attacker/page.py",
        later("Set the attacker's prior belief, and see what one output makes of it"),
        {"eps_metric": "2.5"},
    ),
    Step(
        "crowd",
        later("Crowds"),
        later("Words in a crowd, and lonely words"),
        later(
            "Some words have many near neighbours on the map: days of the week, colours, towns. "
            "Others stand alone. On average the same noise hides a word better in a crowd than "
            "where the next word is far away. One ε for all words therefore protects them "
            "unequally; what is promised, odds that grow with the distance, is kept for both."
        ),
        later(
            "With $δ(w)$ the distance to the nearest other word, $N_w = \\Pr[M(w) = w]$ grows "
            "with $ε$, and at one $ε$ is on average the larger, the larger $δ(w)$ is. For this "
            "reason the truncated Gumbel mechanism (Xu et al. 2021) chooses among the $K$ "
            "nearest words, however far away they are; $K$ is random, Poisson with mean $\\ln "
            "n$ for $n$ words."
        ),
        "pages/words/page.py",
        later("Give a crowded and a lonely word the same ε, and compare where their outputs fall"),
        {"eps_metric": "12"},
    ),
    Step(
        "price",
        later("Price"),
        later("The price: what can still be learned"),
        later(
            "Noise costs something. A text of exchanged words reads badly, but a computer that "
            "only counts words can still learn from many such texts: some words stay, and what "
            "comes in for the others, mostly of quite another use, partly averages out. How "
            "much it still learns, and how much its answers then tell about the texts that it "
            "learned from, is measured, not believed."
        ),
        later(
            "Accuracy on new, unchanged texts of a classifier that was trained on $M$ of the "
            "training texts, with a 95 % interval over trials that draw noise and texts anew; "
            "membership inference is judged by the area under the ROC curve."
        ),
        "pages/papers/page.py",
        later(
            "See how accuracy falls as ε gets smaller, for six mechanisms, and what the "
            "attacker gains"
        ),
        {"experiment": "teaching-corpus"},
    ),
    Step(
        "claim",
        later("Claims"),
        later("A promise can be false"),
        later(
            "That a paper says “ε = 1” does not make it so. The promise follows from a proof, "
            "and proofs have mistakes: two kinds of distance mixed up, a case left out, a sum "
            "taken for its largest term. Outputs look the same either way. So each published "
            "claim is calculated again here, and some do not hold."
        ),
        later(
            "Clipping bounds $\\lVert r \\rVert_2 ≤ C$. Laplace noise of scale $2C/ε$ needs "
            "$\\lVert r − r' \\rVert_1 ≤ 2C$; but $\\lVert r − r' \\rVert_1$ can be "
            "$2\\sqrt{n}\\,C$, so the loss can be $\\sqrt{n}\\,ε$ (Habernal 2021)."
        ),
        "pages/papers/page.py",
        later("Read the verdicts on all claims, with the step of each proof that fails"),
        {"claim": "adept-published"},
    ),
    Step(
        "proof",
        later("Proofs"),
        later("Noise as a proof"),
        later(
            "Privacy says: the output tells little of which of two near inputs went in. Turn it "
            "round: whoever changes the input a little cannot change the chances of the outputs "
            "much. So for many inputs of a classifier with noise built in there is a proof that "
            "small changes do not change its answer, however clever the attacker is. An "
            "ordinary classifier may withstand as much; mostly nobody has proved it."
        ),
        later(
            "If $A$ is $(ε, δ)$-private for inputs within length $L$, expected scores (each "
            "from 0 to 1) obey $\\mathbb{E}f_k(x') ≤ e^ε\\,\\mathbb{E}f_k(x) + δ$. The vote "
            "stands if the lower bound of the winner exceeds $e^{2ε}$ times the upper bound of "
            "every other class plus $(1 + e^ε)\\,δ$ (Lecuyer et al. 2019, Proposition 1)."
        ),
        "pages/robustness/page.py",
        later("See how far the proofs reach as the noise grows, and what attacks do to words"),
        {},
    ),
    Step(
        "choose",
        later("Choose"),
        later("Choose your own ε"),
        later(
            "There is no right ε. There is a question that you answer first: what may an "
            "attacker get? How often may a word be guessed, how many to one may the odds "
            "become? From the answer, the mechanism and your words, ε follows; then look "
            "whether the text is still of use. If it is not with any mechanism here, you should "
            "not publish it."
        ),
        later(
            "Solve $\\frac{1}{n}\\sum_w N_w(ε) ≤ x$ for ε: under a uniform prior, the attacker "
            "who names TEM's output is right with that probability."
        ),
        "pages/tradeoff/page.py",
        later("Choose ε from a goal, on words of your own too"),
        {"part": "Choose ε"},
    ),
)
"""In their order; the keys are those of the exercises."""

BY_PAGE = {
    "": ("names",),
    "start": ("names",),
    "rewrite": ("draw",),
    "deniability": ("draw",),
    "tradeoff": ("choose",),
    "words": ("crowd",),
    "release": ("price",),
    "papers": ("claim",),
    "attacker": ("odds",),
    "robustness": ("proof",),
}
"""Address of a page (the first one has none) -> the steps whose explanations belong to it."""


def step(key: str) -> Step:
    """The step of this key."""
    return next(each for each in STEPS if each.key == key)
