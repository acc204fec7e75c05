"""Settings as Prefect reads them from the parameters of a deployment."""

from __future__ import annotations

import json
from dataclasses import asdict

from pydantic import TypeAdapter

from learnable.filters.stopping.budget import SamplingBudget
from learnable.flows.settings import CurateSettings


def test_the_parameters_of_an_earlier_deployment_are_read() -> None:
    settings = CurateSettings(budget=SamplingBudget(want=3))
    parameters = json.loads(json.dumps(asdict(settings)))
    earlier = {"effort" if key == "budget" else key: value for key, value in parameters.items()}
    reader = TypeAdapter(CurateSettings)
    assert reader.validate_python(earlier) == reader.validate_python(parameters) == settings
