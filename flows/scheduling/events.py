"""What a run leaves on its Prefect server: its name, artifacts to look at, and an event for a version that is new."""

from __future__ import annotations

from collections.abc import Iterable

from prefect.artifacts import create_link_artifact, create_markdown_artifact, create_table_artifact
from prefect.events import emit_event
from prefect.runtime import flow_run

from learnable.data.curated.curated_set import CuratedSet, open_curated
from learnable.data.curated.manifest import SummaryRow
from learnable.data.curated.record import to_plain
from learnable.flows.scheduling.server import has_server
from learnable.viewing.report import REPORT

PUBLISHED = "learnable.set.published"
COLUMNS = ("form", "prompts", "kept", "rollouts", "tokens", "mean", "learnability", "zero_std_share", "errors")


def name_run() -> str:
    """Return a run's name: what it is about, a set or its forms, and the policy, as in `sonnet by qwen-7b`."""
    given = flow_run.parameters
    settings = given.get("settings") or given["curate"]
    settings = getattr(settings, "train", settings)  # a loop's
    about = getattr(settings, "set_name", "") or name_set(settings.curated)
    return f"{about} by {name_policy(settings.policy)}"


def name_set(curated: str) -> str:
    """Return the name of a set, given by its folder or by a version's.

    >>> name_set("store/curated/sonnet/v0002"), name_set("store/curated/sonnet/")
    ('sonnet', 'sonnet')
    """
    parts = [part for part in curated.split("/") if part]
    is_version = len(parts) > 1 and parts[-1][:1] == "v" and parts[-1][1:].isdigit()
    return parts[-2 if is_version else -1] if parts else "a set"


def name_policy(policy: str | None) -> str:
    """Return a short name of a policy: the end of its path or id.

    >>> name_policy("org/qwen-7b"), name_policy("runs/sonnet-1/policy"), name_policy(None)
    ('qwen-7b', 'sonnet-1/policy', 'the usual policy')
    """
    parts = [part for part in (policy or "").split("/") if part]
    return "/".join(parts[-2:] if parts[-1:] == ["policy"] else parts[-1:]) or "the usual policy"


def set_resource(name: str) -> str:
    """Return the id by which events name a curated set."""
    return f"learnable.set.{name}"


def show_version(curated: str, run_id: str, key: str, text: str, forms: Iterable[SummaryRow] = ()) -> None:
    """Leave a text, a table and a link to the report of a version, and tell where this run has published it.

    Args:
        curated: the version's folder.
        run_id: the run; a version that an earlier one published is not told again.
        key: the artifacts' name.
        text: Markdown.
        forms: the rows of a table, none for no table.

    Raises `LearnableError` where the version cannot be read.
    """
    version = open_curated(curated)
    create_markdown_artifact(text, key=key, description=curated)
    if table := [{name: row.get(name) for name in COLUMNS} for row in to_plain(tuple(forms))]:
        create_table_artifact(table, key=f"{key}-forms", description=f"Forms of {curated}")
    report = version.path / REPORT
    if report.exists():
        place = report.resolve().as_uri() if report.protocol in ("", "file") else str(report)
        create_link_artifact(place, link_text=REPORT, key=f"{key}-report", description=f"The report of {curated}")
    if version.manifest.run_id == run_id and has_server():  # a temporary one has no automations
        tell_published(version)


def tell_published(version: CuratedSet) -> None:
    """Emit the event of a version that is new: automations start runs by it."""
    name = version.path.parent.name
    parts = {part: record.rows for part, record in version.manifest.parts.items()}
    told = {"curated": str(version.path), "policy": version.manifest.policy.name, "rows": parts}
    resource = {"prefect.resource.id": set_resource(name), "prefect.resource.name": name}
    emit_event(PUBLISHED, resource, payload=told)
