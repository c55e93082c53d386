"""ADePT: rewrites under the published and repaired noises, and a live attack on one vector."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from dpcore.attack.latent import Examples, examples, guess, success, success_bound
from dpcore.mechanisms.registry import resolve
from dpcore.outwards import at_most
from dpcore.plots.attack.words import chance_text
from dpcore.plots.robust.shares import ends_caption, lines_figure
from dpcore.study.recorded import Recorded
from dpcore.study.robust_curves import (
    COLUMNS,
    allowed_curve,
    refuted_at,
    rewriting_curves,
)
from dpcore.written import Filled, Named, listed
from pages.robustness.recorded_view import Parts
from pages.robustness.reproducing import computed_now, seeds
from pages.shared.figure import show_figure
from pages.shared.language import later, numeral, say
from pages.shared.latent import NOISES, choose_latent_epsilon, latent_rewrites
from pages.shared.link import choose_one, choose_seed
from pages.shared.once import once
from pages.shared.table import show_table

ADEPT = "adept"
_EPSILONS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)
_DRAWS, _SHOWN = 20, 8
_CORPORA = {"atis.parquet": "ATIS", "snips.parquet": "SNIPS"}
_QUANTITIES = {
    "bayes": later("how sure the attacker is of the utterance it names (mean)"),
    "first": later("share of noisy vectors whose utterance it names"),
    "rank": later("mean rank of the true utterance"),
    "true_epsilon": later("true ε beside the claimed one"),
    "accuracy": later("accuracy of intents after rewriting"),
    "rouge1": later("ROUGE-1 F1 of the rewritten utterances"),
    "bleu": later("BLEU of the rewritten utterances (0 to 100)"),
    "exact": later("share of utterances that come out word for word"),
}
_AXES = {
    "bayes": later("success of the attacker"),
    "first": later("success of the attacker"),
    "rank": later("mean rank"),
    "true_epsilon": later("true ε"),
    "rouge1": later("ROUGE-1 F1"),
    "bleu": later("BLEU"),
    "exact": later("share word for word"),
}
_BOUNDED = ("bayes", "first")
"""Quantities that the claimed ε bounds."""
_LEARNERS = {"averaged": later("averaged vectors"), "tf-idf": "tf-idf"}


def adept_parts(record: Recorded) -> Parts:
    """Return the parts of the record of ADePT, and the live attack."""
    return {
        later("Rewrites"): latent_rewrites,
        later("Find the utterance"): _attack,
        later("Curves"): lambda: _curves(record),
    }


def _attack() -> None:
    computed_now()
    private = examples()
    with st.container(horizontal=True, vertical_alignment="bottom"):
        number = choose_one(
            st.selectbox,
            say("Private utterance"),
            # Numbers in the link: an utterance would make it long.
            {str(i): text for i, text in enumerate(private.texts)},
            "latent_text",
            help=say(
                "The attacker sees its noisy vector and knows the 60 utterances, the network "
                "and the noise. The utterances are ours, the network was trained on ATIS."
            ),
        )
        noise = choose_one(
            st.selectbox,
            say("Noise of the vector"),
            {name: resolve(name).title for name in NOISES},
            "latent_noise",
            width=330,
            help=say("The first is the published one, the others are repairs."),
        )
        seed = choose_seed(say("Of the noise; one draw serves every ε."), 130)
    epsilon = choose_latent_epsilon(_EPSILONS, "latent_epsilon")
    belief = guess(private, int(number), noise, epsilon, seed)
    named = private.texts[int(belief.order[0])]
    right = say("right") if int(belief.order[0]) == int(number) else say("wrong")
    st.text(
        say(
            "The attacker names “{named}” (chance: {chance}): {right}. The true utterance has "
            "rank {rank:g} of {count}.\nClaimed ε = {claimed:g} allows an attacker to be right "
            "with probability {most:.3g} at most, on average over the utterances, all of them "
            "equally likely; the true ε = {true:.3g} allows {allowed:.3g}.",
            named=named,
            chance=chance_text(float(belief.probability.max())),
            right=right,
            rank=belief.rank,
            count=len(private.texts),
            claimed=belief.claimed_epsilon,
            # Bounds from above, so they are rounded up.
            most=float(at_most(belief.claimed_bound, 3)),
            true=belief.epsilon,
            allowed=float(at_most(belief.true_bound, 3)),
        )
    )
    top = [int(i) for i in belief.order[:_SHOWN]]
    show_table(
        pd.DataFrame(
            {
                "utterance": [private.texts[i] for i in top],
                "believed": [numeral(chance_text(float(belief.probability[i]))) for i in top],
                "true": ["✔" if i == int(number) else "" for i in top],
            }
        ),
        say("The likeliest utterances after the noisy vector"),
    )
    _successes(private, noise, seed)


def _successes(private: Examples, noise: str, seed: int) -> None:
    """Draw the attacker's success rate over all utterances, beside the bounds of the two ε."""

    def compute() -> pd.DataFrame:
        rows = []
        count = len(private.texts)
        for result in success(private, noise, _EPSILONS, _DRAWS, seed):
            claimed, (low, high) = result.claimed_epsilon, result.interval
            rows += [
                ("named correctly", claimed, result.success, low, high),
                ("the claimed ε allows", claimed, success_bound(claimed, count), None, None),
                ("the true ε allows", claimed, success_bound(result.epsilon, count), None, None),
            ]
        table = pd.DataFrame(rows, columns=["curve", "x", "mean", "low", "high"])
        # A column of `None` beside numbers would be of objects.
        return table.assign(mechanism="").astype({"low": float, "high": float})[list(COLUMNS)]

    # Shared by all sessions: the utterances are ours, and every ε of one noise is made at once.
    table = once("latent", (noise, seed), compute)
    measured, claimed = (
        table[table["curve"] == name].set_index("x")["mean"]
        for name in ("named correctly", "the claimed ε allows")
    )
    why = say(", as it must be: this noise keeps its claim")
    # The published noise is refuted, and yet not here: the page has to say why.
    if noise == ADEPT:
        why = say(
            ": among {count} utterances ε allows much. Among the thousands of the corpus it "
            "does; see “Curves”",
            count=len(private.texts),
        )
    lows = table[table["curve"] == "named correctly"].set_index("x")["low"]
    # The whole interval must lie above the bound: a mean above it may be chance.
    beyond = [numeral(f"{x:g}") for x in measured.index if lows[x] > claimed[x]]
    show_figure(
        lines_figure(table, "Claimed ε", "share that is named correctly", logarithm=True),
        ends_caption(
            table,
            Filled(
                "{count} utterances, {draws} draws of each", count=len(private.texts), draws=_DRAWS
            ),
            "ε",
        ),
        table,
        "latent_success",
    )
    st.text(
        say(
            "The attacker is right more often than the claim allows (its whole 95 % interval) "
            "at ε = {epsilons}: the draws contradict the claim on these utterances.",
            epsilons=", ".join(beyond),
        )
        if beyond
        else say(
            "Nowhere does the attacker's 95 % interval lie above what the claim allows{why}.",
            why=why,
        )
    )


def _curves(record: Recorded) -> None:
    there = set(record.table["quantity"])
    with st.container(horizontal=True):
        data = choose_one(
            st.selectbox,
            say("Corpus"),
            {name: _CORPORA.get(name, name) for name in dict.fromkeys(record.table["data"])},
            "adept_data",
            width=160,
            help=say(
                "Requests with intents: flights (ATIS), or seven tasks of a voice assistant "
                "(SNIPS)."
            ),
        )
        quantity = choose_one(
            st.selectbox,
            say("Measured"),
            {name: title for name, title in _QUANTITIES.items() if name in there},
            "adept_quantity",
            width=430,
            help=say("Attacker's success, and utility for a classifier and a reader."),
        )
        where = {"data": data}
        if quantity == "accuracy":
            where["learner"] = choose_one(
                st.selectbox,
                say("Classifier"),
                _LEARNERS,
                "adept_learner",
                width=200,
                help=say("Trained on rewritten utterances, tested on the unchanged test part."),
            )
    curves = rewriting_curves(record, quantity, **where)
    if quantity in _BOUNDED:
        curves = pd.concat((curves, allowed_curve(record, data)), ignore_index=True)
    # These are no shares, so their axis does not end at 1.
    share = quantity not in {"rank", "bleu", "true_epsilon"}
    show_figure(
        lines_figure(curves, "Claimed ε", _AXES.get(quantity, "accuracy"), logarithm=True,
                     share=share, small=quantity in _BOUNDED or quantity == "true_epsilon"),
        ends_caption(curves, listed((Named(_QUANTITIES[quantity]), seeds(record))), "ε"),
        curves,
        f"adept_{quantity}",
    )  # fmt: skip
    if quantity in _BOUNDED:
        beyond = ", ".join(
            f"{epsilon:g}" for epsilon in refuted_at(record, quantity, data, NOISES[0])
        )
        st.text(
            say(
                "Under the published noise it lies, with its whole interval in every seed, "
                "above what the claimed ε allows at ε = {beyond}: a refutation on real text.",
                beyond=beyond,
            )
            if beyond
            else say("Nowhere is it above what the claimed ε allows.")
        )
    rows = record.rows(quantity, **where)
    for variant, value in rows[rows["epsilon"].isna()].groupby("variant")["value"].mean().items():
        name = {"": say("unchanged"), "no noise": say("rewritten without noise")}.get(str(variant))
        if name is not None:
            st.text(say("Utterances {name}: {value:.3g}.", name=name, value=value))
