"""Parameters of deployments that an earlier version stored, brought to the fields of today's settings.

A deployment keeps its parameters as JSON on the Prefect server, so the names of all fields of all settings are a format
on disk. Whoever renames one adds a row to `RENAMED`.
"""

# No postponed annotations here: the files that deployments load take their types from this one.

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, get_type_hints

from pydantic import BeforeValidator

from learnable.data.records import JsonObject
from learnable.flows.settings.curation import CurateSettings, RefreshSettings
from learnable.flows.settings.engines import ENGINES, check_addresses, find_engine
from learnable.flows.settings.loop import LoopSettings
from learnable.train.settings import TrainSettings

RENAMED: Mapping[type, Mapping[str, str]] = {
    CurateSettings: {"effort": "budget"},
}
"""For a class of settings, or of what they hold: a field's earlier name, and its name today."""


def with_current_names(kind: Any, stored: Any) -> Any:
    """Return stored parameters under the names that the fields of `kind` have today, at every depth.

    What is no stored mapping, such as settings given in Python, comes back as it is. Raises `LearnableError` for an
    `engine` that is not known, or that has the address of another one.
    """
    if not isinstance(stored, Mapping):
        return stored
    kinds, current = get_type_hints(kind), {}
    for name, value in stored.items():
        renamed = RENAMED.get(kind, {}).get(name, name)
        today = renamed if renamed in kinds else name
        current[today] = with_current_names(kinds[today], value) if is_dataclass(kinds.get(today)) else value
    if isinstance(current.get("engine"), Mapping):
        current["engine"] = with_own_fields(current["engine"])
    return current


def with_own_fields(engine: JsonObject) -> JsonObject:
    """Return an engine's stored settings without the fields of the other engines, which earlier versions stored too.

    Raises `LearnableError` for an engine that is not known, and for an address that it does not use.
    """
    name = str(engine.get("name", "vllm"))
    own = {field.name for field in fields(find_engine(name))}
    check_addresses(name, engine.get("base_urls"), engine.get("ray_address"))
    others = {field.name for kind in ENGINES.values() for field in fields(kind)} - own
    return {field: value for field, value in engine.items() if field not in others}


StoredCuration = Annotated[CurateSettings, BeforeValidator(lambda stored: with_current_names(CurateSettings, stored))]
StoredRefresh = Annotated[RefreshSettings, BeforeValidator(lambda stored: with_current_names(RefreshSettings, stored))]
StoredTraining = Annotated[TrainSettings, BeforeValidator(lambda stored: with_current_names(TrainSettings, stored))]
StoredLoop = Annotated[LoopSettings, BeforeValidator(lambda stored: with_current_names(LoopSettings, stored))]
