"""Lower bounds on the variance of counts under any ε-local guarantee, with their proofs.

Setting: N words pass, each by itself, through channels P(y | w) with outputs of any kind, each of
which is ε-locally private: P(y | w) ≤ e^ε·P(y | v) for all words v, w and outputs y. An estimate Ĝ
of G = Σ g(w_i), g being 0 or 1, is unbiased if its mean is G for every text. The words of the text
are drawn independently, with shares μ; f is the share of the words with g = 1. Bounded is V, the
mean over such texts of Var(Ĝ | text)/N.

**Reduction to one word.** Let φ_i(y) = E[Ĝ | y_i = y] − N·f. The words are independent, so the y_i
are, and Var Ĝ ≥ Σ Var φ_i(y_i) (Hoeffding's projection). Given w_i = w the mean of φ_i(y_i) is
E[Ĝ | w_i = w] − N·f = g(w) − f. So h_i = φ_i + f has P h_i = g: an unbiased estimate from one word.
Since Var Ĝ = E Var(Ĝ | text) + N·f·(1 − f), V is at least the mean over i of E h_i(y_i)² − f. It is
enough to bound E h² − f for one word and every h with P h = g.

**One query** (`least_variance`). Let P₁ and P₀ be the mixtures of P(· | w) over the words with
g = 1 and with g = 0, in proportion to μ, and m = f·P₁ + (1 − f)·P₀. P h = g gives
∫ h·(P₁ − P₀) = 1 and ∫ h·m = f. By Cauchy and Schwarz Var_m h ≥ 1/D with D = ∫ (P₁ − P₀)²/m. The
integrand φ(a, b) = (a − b)²/(f·a + (1 − f)·b) is convex and homogeneous, and both mixtures keep
a ≤ e^ε·b, b ≤ e^ε·a. So (a, b) = α·(e^ε, 1) + β·(1, e^ε) with α, β ≥ 0, and
φ(a, b) ≤ α·φ(e^ε, 1) + β·φ(1, e^ε). As P₁ and P₀ have mass 1, α and β have mass 1/(1 + e^ε) each.
Hence D is at most that of Warner's response with p = e^ε/(1 + e^ε) and q = 1 − p, which is
(p − q)²/(M·(1 − M)), M = q + f·(p − q). And M·(1 − M)/(p − q)² = p·q/(p − q)² + f − f². Therefore

    V = E h² − f = Var_m h + f² − f ≥ p·q/(p − q)² = e^ε/(e^ε − 1)²,

for every μ and f. Warner's response to "is it this word?" attains it, and answers nothing else.

**All n words at once, all equally common** (`least_mean_variance`). Let r_w(y) = P(y | w)/m(y) and
G_vw = E_m[r_v·r_w]. For the query of word v the constraints are E_m[h_v·r_w] = [v = w], so the
least E_m h_v² is (G⁻¹)_vv; without an inverse some word has no unbiased estimate. Σ_w r_w = n gives
G·1 = n·1: one eigenvalue is n, and by the inequality of the harmonic mean the others give

    Σ_v E h_v² ≥ 1/n + (n − 1)²/(tr G − n).

tr G = E_m Σ_w r_w². At each y the r_w sum to n and their ratios are at most e^ε; the convex sum
Σ r_w² is largest at a vertex, where d of them are e^ε times the others:
tr G ≤ T = max over d of n²·(d·e^{2ε} + n − d)/(d·e^ε + n − d)². So the mean of V over the words is
at least ((n − 1)²/(T − n) − (n − 1)/n)/n. Subset selection with the best d attains it.

Both are proved here and rest on nothing else. They agree with the abstracts of three papers on the
squared loss of the whole distribution, at its worst: k-ary response and RAPPOR are optimal in order
in two regimes of ε (Kairouz, Bonawitz and Ramage 2016, arXiv:1602.07387); subset selection is where
e^ε is much smaller than the number of words (Ye and Barg 2018, arXiv:1702.00610); and for every
number of words and ε its loss is the least possible up to a factor that goes to 1 as N grows (Ye
and Barg 2017, arXiv:1708.00059).
"""

from __future__ import annotations

import math

import numpy as np

from dpcore.errors import ParameterError


def least_variance(epsilon: float) -> float:
    """Return e^ε/(e^ε − 1)², the least variance for each word of text of any 0–1 query.

    Args:
        epsilon: ε of the local guarantee, above 0.

    Raises:
        ParameterError: ε is not above 0.
    """
    inverse = math.exp(-_positive(epsilon))
    return inverse / math.expm1(-epsilon) ** 2


def least_mean_variance(epsilon: float, n: int) -> float:
    """Return the least mean variance over all n words, equally common, for each word of text.

    Args:
        epsilon: ε of the local guarantee, above 0.
        n: number of words, at least 2.

    Raises:
        ParameterError: ε is not above 0, or there are fewer than two words.
    """
    inverse = math.exp(-_positive(epsilon))
    if n < 2:
        raise ParameterError(f"a bound needs at least 2 words, got {n}")
    d = np.arange(1, n)
    # T − n = n·d·(n − d)·(e^ε − 1)²/(d·e^ε + n − d)², without the cancellation.
    spread = float(
        (n * d * (n - d) * math.expm1(-epsilon) ** 2 / (d + (n - d) * inverse) ** 2).max()
    )
    # At d = 1 and ε = ∞ the spread is n·(n − 1), and the bound 0.
    return max(((n - 1) ** 2 / spread - (n - 1) / n) / n, 0.0)


def _positive(epsilon: float) -> float:
    if not epsilon > 0:
        raise ParameterError(f"epsilon must be above 0, got {epsilon}")
    return float(epsilon)
