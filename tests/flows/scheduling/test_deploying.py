"""Deployments as users run them: one Prefect server and one worker of a pool, which all tests of this file share."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.exceptions import ObjectAlreadyExists, ObjectNotFound
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Failed

from learnable.data.errors import LearnableError
from learnable.flows.scheduling.deploying import make_pool
from learnable.flows.scheduling.steps import may_pass
from learnable.flows.scheduling.timetable import Timetable
from tests.flows.scheduling.prefect_processes_for_tests import PATIENCE, Command, home_of
from tests.support.warm_starts import Starter

POOL = "nights"
ENDS = ("COMPLETED", "FAILED", "CRASHED")
FIND = ("find", "--prompts", "rows.jsonl", "--engine", "simulated", "--store", "store", "--work-pool", POOL)


class Site:
    """The server, the folder in which the worker runs, and the worker."""

    def __init__(self, folder: Path, url: str, starter: Starter) -> None:
        self.folder, self.url, self._starter = folder, url, starter
        self.client = httpx.Client(base_url=url, trust_env=False, timeout=PATIENCE)
        self.worker = self.start_worker()

    def start_worker(self, *, cold: bool = False) -> Command:
        """Start a worker of the pool; the runs that it starts are cold or warm, as it is."""
        typed = ("-m", "prefect", "worker", "start", "--pool", POOL, "--type", "process", "--limit", "1")
        often = {"PREFECT_WORKER_QUERY_SECONDS": "1", "PREFECT_API_URL": self.url}
        return Command(None if cold else self._starter, self.folder, *typed, **often)

    def type(self, *words: str) -> None:
        """Type a command of ours to its end."""
        command = [sys.executable, "-m", "learnable", *words]
        done = self._starter.run(command, cwd=self.folder, env=home_of(self.folder) | {"PREFECT_API_URL": self.url})
        assert done.returncode == 0, done.stdout + done.stderr

    def send(self, method: str, path: str, said: object = None) -> httpx.Response:
        """Send a request, again while the server's database is locked, as Prefect's own client does."""
        end = time.monotonic() + PATIENCE
        while (answer := self.client.request(method, path, json=said)).status_code == httpx.codes.SERVICE_UNAVAILABLE:
            assert time.monotonic() < end, answer.text
            time.sleep(1)
        return answer

    def ask(self, path: str, **said: Any) -> Any:
        return self.send("POST", path, said).raise_for_status().json()

    def deployment(self, name: str) -> dict[str, Any]:
        return dict(self.send("GET", f"deployments/name/{name}").raise_for_status().json())

    def start_run(self, name: str, settings: Mapping[str, Any], **others: Any) -> httpx.Response:
        """Start a run as the form of the UI does: what the deployment has, with some of it changed."""
        there = self.deployment(name)
        parameters = there["parameters"] | others
        parameters["settings"] |= settings
        return self.send("POST", f"deployments/{there['id']}/create_flow_run", {"parameters": parameters})

    def runs(self, name: str) -> list[dict[str, Any]]:
        wanted = {"id": {"any_": [self.deployment(name)["id"]]}}
        return list(self.ask("flow_runs/filter", deployments=wanted))

    def run(self, run_id: str) -> dict[str, Any]:
        return dict(self.send("GET", f"flow_runs/{run_id}").raise_for_status().json())

    def wait(self, enough: Callable[[], object]) -> None:
        end = time.monotonic() + PATIENCE
        while not enough():
            assert time.monotonic() < end, self.worker.said[-6000:]
            time.sleep(0.3)


def write_rows(folder: Path, count: int) -> None:
    rows = [{"prompt": f"question {n}", "verifier": "simulated", "spec": {"rate": n % 10 / 10}} for n in range(count)]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))


def read_rollouts(store: Path) -> list[str]:
    return pl.read_parquet(store / "rollouts" / "**" / "*.parquet", columns=["rollout_id"])["rollout_id"].to_list()


def test_a_pool_that_a_worker_makes_at_the_same_moment_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    created: list[str] = []

    def fail_to_find(_: SyncPrefectClient, name: str) -> None:
        raise ObjectNotFound(KeyError(name))

    def find_it_there(_: SyncPrefectClient, pool: WorkPoolCreate) -> None:
        created.append(pool.name)
        raise ObjectAlreadyExists(KeyError(pool.name))

    monkeypatch.setattr(SyncPrefectClient, "read_work_pool", fail_to_find)
    monkeypatch.setattr(SyncPrefectClient, "create_work_pool", find_it_there)
    monkeypatch.setattr(SyncPrefectClient, "raise_for_api_version_mismatch", lambda _: None)
    with temporary_settings({PREFECT_API_URL: "http://127.0.0.1:9/api"}):
        make_pool("nights")
    assert created == ["nights"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, prefect_url: str, starter: Starter) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    write_rows(folder, 20)
    one = Site(folder, prefect_url, starter)
    with one.client:
        yield one
    one.worker.close()


@pytest.mark.e2e
def test_a_schedule_makes_versions_and_a_training_starts_on_each(site: Site) -> None:
    site.type(*FIND, "--name", "nightly", "--every", "4")
    versions = site.folder / "store" / "curated" / "nightly"
    site.wait(lambda: (versions / "v0001" / "report.html").exists())
    elsewhere = ("--work-pool", "trainers", "--on-published")  # that pool has no worker: what starts waits there
    site.type("train", "--curated", "store/curated/nightly", *elsewhere)
    assert site.runs("finetune/nightly") == []

    write_rows(site.folder, 40)  # as questions come in; nobody types
    site.wait(lambda: (versions / "v0002" / "report.html").exists())
    site.wait(lambda: site.runs("finetune/nightly"))
    (training,) = site.runs("finetune/nightly")
    assert training["created_by"]["type"] == "AUTOMATION"
    site.send("PATCH", f"deployments/{site.deployment('curate/nightly')['id']}", {"paused": True}).raise_for_status()

    done = [run for run in site.runs("curate/nightly") if run["state_type"] == "COMPLETED"]
    assert {run["name"] for run in done} == {"nightly by the usual policy"}
    assert all({"learnable", "nightly"} <= set(run["tags"]) for run in done)
    artifacts = site.ask("artifacts/filter", artifacts={"flow_run_id": {"any_": [run["id"] for run in done]}})
    kinds = {artifact["key"]: artifact["type"] for artifact in artifacts}
    assert kinds == {
        "curated": "markdown", "curated-forms": "table", "curated-report": "markdown", "rollouts": "progress",
    }  # fmt: skip
    assert any("v0002/report.html" in artifact["data"] for artifact in artifacts if artifact["key"] == "curated-report")


@pytest.mark.e2e
def test_a_run_starts_with_other_parameters_as_the_form_of_the_ui_sends_them(site: Site) -> None:
    site.type(*FIND, "--name", "typed")
    refused = site.start_run("curate/typed", {"group_size": 1})
    assert refused.status_code == httpx.codes.CONFLICT
    assert "minimum of 2" in refused.text

    started = site.start_run("curate/typed", {"name": "other", "group_size": 8}).raise_for_status().json()["id"]
    site.wait(lambda: site.run(started)["state_type"] in ENDS)
    assert site.run(started)["state_type"] == "COMPLETED", site.worker.said[-6000:]
    manifest = json.loads((site.folder / "store" / "curated" / "other" / "v0001" / "manifest.json").read_text())
    assert manifest["group_size"] == 8
    assert not (site.folder / "store" / "curated" / "typed").exists()


@pytest.mark.e2e
def test_a_step_that_hangs_is_tried_again_and_given_up(site: Site) -> None:
    site.type(*FIND, "--name", "hangs", "--store", "hangs", "--engine-arg", "group_seconds=600")
    refused = site.start_run("curate/hangs", {}, tries={"timeout_seconds": 0})
    assert refused.status_code == httpx.codes.CONFLICT
    tries = {"retries": 1, "retry_delay_seconds": 0.5, "timeout_seconds": 3}
    started = site.start_run("curate/hangs", {}, tries=tries).raise_for_status().json()["id"]
    site.wait(lambda: site.run(started)["state_type"] in ENDS)
    assert site.run(started)["state_type"] == "FAILED", site.worker.said[-6000:]

    def read_steps() -> list[dict[str, Any]]:
        found = site.ask("task_runs/filter", flow_runs={"id": {"any_": [started]}})
        return [step for step in found if step["name"].startswith("roll_out_and_score") and step["end_time"]]

    site.wait(read_steps)  # the server hears of steps a little later
    (step,) = read_steps()
    assert (step["state_name"], step["run_count"]) == ("TimedOut", 2)


def set_silence(site: Site, seconds: float) -> None:
    named = {"name": {"any_": ["learnable: a silent run has crashed"]}}
    (silent,) = site.ask("automations/filter", automations=named)
    silent["trigger"]["within"] = seconds
    changed = {key: silent[key] for key in ("name", "trigger", "actions")}
    site.send("PUT", f"automations/{silent['id']}", changed).raise_for_status()


@pytest.mark.e2e
def test_a_run_whose_worker_was_killed_comes_back_and_pays_nothing_twice(site: Site) -> None:
    slowly = ("--engine-arg", "group_seconds=0.2")
    site.type(*FIND, "--name", "killed", "--store", "killed", *slowly)
    set_silence(site, 90)  # ten minutes, as shipped, are long for a test
    started = site.start_run("curate/killed", {}).raise_for_status().json()["id"]
    site.wait(lambda: list((site.folder / "killed").glob("rollouts/**/*.parquet")))
    paid = read_rollouts(site.folder / "killed")
    assert site.run(started)["state_type"] == "RUNNING"
    site.worker.close()  # SIGKILL, to the run's process too
    site.worker = site.start_worker(cold=True)
    assert site.run(started)["state_type"] == "RUNNING"  # as far as the server knows

    def is_back() -> bool:
        """Whether the server has noticed, said that the run crashed, and scheduled it again: one after the other."""
        run = site.run(started)
        return run["state_type"] not in ("RUNNING", "CRASHED") or run["run_count"] == 2

    site.wait(is_back)
    set_silence(site, 600)  # for a heartbeat is due every 180 s alone
    site.wait(lambda: site.run(started)["state_type"] in ENDS)
    assert site.run(started)["state_type"] == "COMPLETED", site.worker.said[-6000:]
    assert site.run(started)["run_count"] == 2
    site.type(*FIND[:-2], "--name", "killed", "--store", "spared", "--no-prefect")
    there, straight = read_rollouts(site.folder / "killed"), read_rollouts(site.folder / "spared")
    assert len(there) == len(straight) > len(paid) > 0  # a rollout that was paid twice would be there twice
    assert set(paid) < set(there) == set(straight)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"on_published": True}, "`on_published` is for runs of a work pool"),
        ({"work_pool": "gpu", "cron": "0 3 * * *", "every": 3.0}, "`cron` and `every` are two ways"),
        ({"work_pool": " "}, "`work_pool` '' names nothing"),
    ],
)
def test_what_no_pool_can_do_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(LearnableError, match=message):
        Timetable(**given)


def test_what_publishes_versions_cannot_start_on_them() -> None:
    with pytest.raises(LearnableError, match="`on_published` is for training"):
        Timetable(work_pool="gpu", on_published=True).refuse_own_versions("a refresh")


def test_only_a_deployments_run_tries_again_and_not_what_a_message_explains(monkeypatch: pytest.MonkeyPatch) -> None:
    failed, explained = Failed(data=OSError("the disk was away")), Failed(data=LearnableError("no such file"))
    assert not may_pass(None, None, failed)
    monkeypatch.setenv("PREFECT__RUNTIME__DEPLOYMENT__ID", "a-deployment")
    assert may_pass(None, None, failed)
    assert not may_pass(None, None, explained)


def test_a_pool_needs_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    from learnable.flows.scheduling import deploying

    monkeypatch.setattr(deploying, "has_server", lambda: False)
    with pytest.raises(LearnableError, match="start one with `prefect server start`"):
        deploying.require_server()
