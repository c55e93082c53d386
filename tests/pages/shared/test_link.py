"""The address of a view: whatever it says, and whatever fields it is bound to, the page comes."""

from collections.abc import Iterator
from itertools import cycle

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.shared import link
from pages.shared.contents import CONTENTS
from tests.pages.app import open_link, open_page

WORTHLESS = ("", "inf", "-1e999", "nan")


def fields(test: AppTest) -> Iterator[str]:
    """Parameters of the address that a field of this page is bound to."""
    with test.session_state._state.query_params() as address:
        yield from list(address._bindings_by_param)


def test_streamlit_still_refuses_a_parameter_that_a_field_is_bound_to() -> None:
    page = AppTest.from_string("""
        import streamlit as st

        st.text_input("field", key="field", bind="query-params")
        st.query_params["field"] = "typed"
    """).run()
    assert page.exception, "`link.put` can use `st.query_params`"


def test_a_chosen_example_that_is_clicked_again_stays() -> None:
    test = open_page("rewrite", view="A new sentence")
    pills = test.button_group(key="preset")
    assert pills.proto.required
    test.query_params["preset"] = ""  # the browser of somebody who unchooses it by other means
    pills.unselect("hospital").run()
    assert not test.exception
    assert test.query_params.get("preset") in (None, [], ["hospital"])
    assert test.text_area(key="text").value.startswith("My doctor")


@pytest.mark.slow
@pytest.mark.parametrize("page", [content.address for content in CONTENTS])
def test_no_value_in_the_address_ends_a_page_that_is_open(page: str) -> None:
    """A field that is bound to a parameter refuses to have it taken away, so none may be asked."""
    test = open_link(page)
    assert not test.exception
    for values in (WORTHLESS[:1], WORTHLESS[1:]):
        for name, value in zip(fields(test), cycle(values), strict=False):
            test.query_params[name] = value
        test.run()
        assert not test.exception, (page, values)


def test_a_bound_parameter_is_set_and_taken_out() -> None:
    def script() -> None:
        import streamlit as st

        from pages.shared import link

        if "change" in st.session_state:  # the field of the run before is bound still
            link.put(st.session_state["change"])
        st.segmented_control("Kind", ["a", "b"], key="kind", bind="query-params")

    test = AppTest.from_function(script).run()
    for change, seen in (
        ({"kind": ["b"], "more": ["1", "2"]}, {"kind": "b", "more": ["1", "2"]}),
        ({"kind": []}, {"more": ["1", "2"]}),
        ({"more": ["3"], "absent": []}, {"more": "3"}),
    ):
        test.session_state["change"] = change
        test.run()
        assert not test.exception
        assert dict(test.query_params) == seen


def test_an_address_is_taken_to_another_page_while_a_field_is_bound_to_part_of_it() -> None:
    def script() -> None:
        import streamlit as st

        from pages.shared import link

        def first() -> None:
            if "turn" in st.session_state:  # the field of the run before is bound still
                del st.session_state["turn"]
                link.turn_to(second_page)
            st.segmented_control("Kind", ["a", "b"], key="kind", bind="query-params")

        def second() -> None:
            st.text(" ".join(sorted(st.query_params)))

        second_page = st.Page(second, url_path="second")
        st.navigation([st.Page(first, url_path="first"), second_page]).run()

    test = AppTest.from_function(script).run()
    test.session_state["turn"] = True
    test.query_params["kind"] = "b"
    test.query_params["seed"] = "7"
    test.run()
    assert not test.exception
    assert test.text[0].value == "kind seed"


def test_outside_a_page_no_address_is_changed() -> None:
    link.drop("kind")
    assert "kind" not in st.query_params
