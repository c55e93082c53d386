"""View of the limits of the protection, and of the difference between a view and a release."""

from __future__ import annotations

import streamlit as st

from pages.rewrite.scene import Scene
from pages.shared.language import say


def protection_view(scene: Scene) -> None:
    """List the content that is released unchanged under the chosen options."""
    encoding = scene.bench.sentence.encoding
    lines = encoding.treatment.released(encoding.language)
    protected = scene.bench.sentence.protected
    unknown = len(encoding.unknown)
    st.markdown(
        say(
            "The promise covers **{protected} words** of this text; {unknown} of them are not "
            "in the vocabulary. Every word gets noise of its own, so the losses add up over the "
            "text: open “what it promises” in a row to see the sum, and how much less it is "
            "together where that is known. **Not protected:**",
            protected=protected,
            unknown=unknown,
        )
    )
    st.markdown("\n".join(f"- {say(line)}" for line in lines))
    st.markdown(
        say(
            "**This page is for looking.** It shows one draw of the noise at many ε. Whoever "
            "holds two outputs of one draw may be able to solve for the words, so publish at "
            "most one text, made with fresh noise and an unpredictable seed: `python -m dpcore "
            "rewrite` without `--seed`."
        )
    )
