"""Drawer "Save and cite": it lists the figures that are on the page, and no others."""

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import fragments
from pages.shared.fragments import _DRAWN
from tests.pages.app import figures, methods, open_link, shown_text


def listed(test: AppTest) -> list[str]:
    return list(test.session_state[_DRAWN])


def on_page(test: AppTest) -> set[str]:
    keys = {str(chart.proto.id).rsplit("figure_", 1)[-1] for chart in test.get("plotly_chart")}
    assert len(keys) == len(figures(test))
    return keys


@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("curves", {}),
        ("curves", {"figure": "Xu 2021, Figure 1 (IMDb)"}),
        ("crowd", {"part": "In numbers"}),
        ("words", {"more": "Curves"}),
        ("robustness", {}),
        ("papers", {"claim": "adept-published"}),
        ("attacker", {}),
        ("attacker", {"view": "A budget"}),
    ],
)
def test_every_figure_is_in_the_drawer(page: str, link: dict[str, str]) -> None:
    test = open_link(page, **link)
    test.session_state["taking"] = True
    test.run()
    assert listed(test)
    assert on_page(test) == set(listed(test))
    shown = shown_text(test)
    if len(listed(test)) == 1:
        assert methods(test) in shown
        return
    for name in listed(test)[:2]:
        test.selectbox(key="figure_to_take").set_value(name).run()
        _, figure = test.session_state[_DRAWN][name]
        assert figure.caption.how in shown_text(test)
        assert any(list(d.value.columns) == list(figure.table.columns) for d in test.dataframe)


def test_a_fragment_forgets_what_it_and_those_inside_it_drew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state: dict[str, Any] = {}
    monkeypatch.setattr("streamlit.session_state", state)

    def inner(name: str) -> None:
        fragments.remember(name, name)

    def outer(names: tuple[str, ...]) -> None:
        for name in names:
            fragments.remember(name, name)
            fragments._draw(inner, (*fragments._PATH.get(), "inner"), (f"in {name}",))

    fragments.begin_page()
    fragments.remember("page", "page")
    fragments._draw(outer, ("outer",), (("a",),))
    fragments._draw(inner, ("other",), ("b",))
    assert list(fragments.remembered()) == ["page", "a", "in a", "b"]
    fragments._draw(inner, ("outer", "inner"), ("c",))
    assert list(fragments.remembered()) == ["page", "a", "b", "c"]
    fragments._draw(outer, ("outer",), ((),))
    assert list(fragments.remembered()) == ["page", "b"]
    fragments.begin_page()
    assert fragments.remembered() == {}
