"""Every line of the registry loads, and says of its engine what the command line needs."""

from __future__ import annotations

import pytest

from learnable.data.errors import UnknownNameError
from learnable.rollouts.registry import ENGINES, EngineSettings, find_engine, list_engines
from learnable.rollouts.settings import ServerSettings


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_is_found_by_the_name_that_its_settings_have(name: str) -> None:
    kind = find_engine(name)
    settings = kind(("http://one/v1",)) if kind is ServerSettings else kind()  # type: ignore[call-arg]
    assert settings.name == name
    assert issubclass(kind, EngineSettings)
    assert kind.title.startswith(name)


def test_an_engine_that_is_none_is_refused() -> None:
    assert list(list_engines()) == list(ENGINES)
    with pytest.raises(UnknownNameError):
        find_engine("vlm")
