"""One sign for each status and outcome; no page writes signs of its own beside them."""

from dpcore.audit.verdict import Outcome
from dpcore.guarantee import Status
from pages.shared.messages import SIGNS


def test_every_status_and_outcome_has_a_sign_and_unlike_words_have_unlike_signs() -> None:
    assert set(SIGNS) == {str(word) for word in (*Status, *Outcome)}
    checked = {Status.CERTIFIED, Outcome.CHECKED}  # one thing, found for one vocabulary
    rest = [sign for word, sign in SIGNS.items() if word not in checked]
    assert len(set(rest)) == len(rest)
    assert len({SIGNS[word] for word in checked}) == 1
