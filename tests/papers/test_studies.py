"""Studies need only mechanisms of the registry and available vocabularies."""

from typing import Any

import pytest

from dpcore.errors import StudyError
from dpcore.measure.deniability import Method
from dpcore.mechanisms.registry import MECHANISMS, resolve
from dpcore.papers.huang2024.plans import DELTA, EPSILONS, TOTALS, figure_nw
from dpcore.papers.studies import STUDIES, study_of
from dpcore.study.plan import Arm, Study
from dpcore.study.vocabularies import BUNDLED, CORPORA


def option(arm: Arm, name: str) -> Any:
    return dict(arm.options)[name]


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.name)
def test_a_study_is_sound(study: Study) -> None:
    names = [series.name for series in study.plan.arms]
    assert len(set(names)) == len(names)
    assert len(study.plan.lexicons) == 1
    assert study.plan.lexicons[0] in {BUNDLED, *CORPORA}
    for series in study.plan.arms:
        declared = resolve(series.mechanism).parameters()
        assert {name for name, _ in series.settings} <= set(declared)
        assert list(series.epsilons) == sorted(set(series.epsilons))
        assert series.epsilons[0] > 0
        assert Method(option(series, "method"))
    curves = {option(series, "curve") for series in study.plan.arms}
    assert all(set(panel.curves) <= curves for panel in study.panels)
    for panel in study.panels:
        kinds = {
            series.mechanism
            for series in study.plan.arms
            if option(series, "curve") in panel.curves
        }
        axes = {str(resolve(kind).meaning).replace("-approximate", "") for kind in kinds}
        assert panel.quantity == "trade" or len(axes) == 1


def test_the_bundled_lexicon_is_measured_under_the_registry_with_default_settings() -> None:
    """A mechanism that was added since the study was recorded has no place in the record yet."""
    (study,) = (study for study in STUDIES.values() if study.plan.lexicons == (BUNDLED,))
    measured = [resolve(arm.mechanism).key for arm in study.plan.arms]
    assert len(set(measured)) == len(measured)
    assert set(measured) <= set(MECHANISMS)
    assert not any(arm.settings for arm in study.plan.arms)


def test_mechanisms_are_drawn_with_those_whose_epsilon_means_the_same() -> None:
    (study,) = (study for study in STUDIES.values() if study.plan.lexicons == (BUNDLED,))
    for quantity in ("nw", "sw"):
        drawn = [c for panel in study.panels if panel.quantity == quantity for c in panel.curves]
        assert drawn == [series.name for series in study.plan.arms]


def test_the_paper_s_epsilons_and_delta_are_those_of_trlaplace() -> None:
    study = study_of("huang2024-figure-2-yelp")
    series = [s for s in study.plan.arms if option(s, "curve") == "trlaplace"]
    assert tuple(e for s in series for e in s.epsilons) == EPSILONS
    for arm, (total, top) in zip(series, TOTALS, strict=True):
        settings = dict(arm.settings)
        assert settings["dummy_dimensions"] == total - 300
        assert settings["delta_root"] ** 300 == pytest.approx(0.25**total, rel=1e-9, abs=0)
        assert arm.epsilons[-1] == top
    assert pytest.approx(4.0**-300, rel=1e-12, abs=0) == DELTA
    assert set(figure_nw(study.name, "laplace")) == set(EPSILONS)
    assert figure_nw(study.name, "l2-laplace") == {}


def test_an_unknown_study_names_the_known_ones() -> None:
    with pytest.raises(StudyError, match=r"'other'; there are: xu2021-figure-1-imdb, "):
        study_of("other")
