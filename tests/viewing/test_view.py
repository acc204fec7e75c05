"""`learnable view`: the store over the loopback, to those who have the token, for reading alone."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
import uvicorn
from playwright.sync_api import expect
from starlette.testclient import TestClient

from learnable.data.curated.curated_set import open_curated
from learnable.data.store import Store
from learnable.viewing.library import Library
from learnable.viewing.server import make_app
from tests.flows.scripted_shell_for_tests import ScriptedShell
from tests.support.domains import needs_poems
from tests.viewing.pages_for_tests import (
    HOSTILE,
    POEM,
    SCRIPT,
    find_serious,
    needs_axe,
    needs_chromium,
    open_browser,
    read_column,
    read_parts,
    write_run,
)

pytestmark = needs_poems  # their pool mixes poems with other prompts

TOKEN, SET = "a-token", "set/v0001"


@pytest.fixture
def client(report: Path) -> TestClient:
    app = make_app(Library(Store("store").open(), Path("runs")), TOKEN)
    return TestClient(app, base_url="http://127.0.0.1", headers={"x-token": TOKEN})


def ask(client: TestClient, path: str, **given: object) -> Any:
    answer = client.get(f"/api/{path}", params={name: str(value) for name, value in given.items()})
    assert answer.status_code == 200, answer.text
    return answer.json()


def list_ids(client: TestClient, **given: object) -> list[str]:
    while (found := ask(client, "count", set=SET, **given))["searched"] < 1:
        pass  # a search of completions goes on
    rows = ask(client, "rows", set=SET, **given, **{"from": 0, "to": 500})
    assert found["total"] == len(rows)
    return [row["prompt_id"] for row in rows]


def test_nobody_without_the_token_and_no_other_host_is_answered(client: TestClient) -> None:
    for path in ("/api/sets", f"/api/summary?set={SET}", "/api/live"):
        assert client.get(path, headers={"x-token": "another"}).status_code == 403
        assert client.get(path, headers={"host": "evil.example"}).status_code == 400
    assert client.get("/").status_code == 403
    assert client.get("/?token=another").status_code == 403
    page = client.get(f"/?token={TOKEN}")
    assert page.status_code == 200
    assert "connect-src 'self'" in page.text
    assert page.headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in page.headers


def test_it_only_reads(client: TestClient) -> None:
    before = {file: file.stat().st_mtime_ns for file in Path("store").rglob("*")}
    for path in ("/", "/api/sets", "/api/rows", "/api/prompt"):
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            assert client.request(method, path).status_code == 405
    ask(client, "live")
    list_ids(client, text="yes", scope="completions")
    assert {file: file.stat().st_mtime_ns for file in Path("store").rglob("*")} == before


def test_it_says_what_the_report_says(client: TestClient, report: Path) -> None:
    parts = read_parts(report.read_text())
    [told] = ask(client, "sets")
    assert told["set"] == SET
    assert told["kept"] == parts["summary"]["totals"]["kept"]
    summary = ask(client, "summary", set=SET)
    for name in ("totals", "spend", "means", "certificates", "forms", "forecast", "policy"):
        assert summary[name] == parts["summary"][name]
    assert list_ids(client) == read_column(parts, "prompt_id")


def test_rows_are_found_as_in_the_report(client: TestClient, report: Path) -> None:
    parts = read_parts(report.read_text())
    columns = {name: read_column(parts, name) for name in ("prompt_id", "form", "decision", "mean", "head")}
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    assert list_ids(client, form="Odd") == [row["prompt_id"] for row in rows if row["form"] == "Odd"]
    assert list_ids(client, decision="rejected") == [row["prompt_id"] for row in rows if row["decision"] != "keep"]
    middle = [row["prompt_id"] for row in rows if 0.3 <= row["mean"] <= 0.5]
    assert list_ids(client, measure="mean", min=0.3, max=0.5) == middle
    by_mean = sorted(range(len(rows)), key=lambda at: (-rows[at]["mean"], at))
    assert list_ids(client, sort="mean", descending="true") == [rows[at]["prompt_id"] for at in by_mean]
    tens = [row["prompt_id"] for row in rows if "is 10" in row["head"].lower()]
    assert list_ids(client, text="IS 10", scope="prompts") == tens
    assert [row["head"] for row in rows if row["prompt_id"] in list_ids(client, text="RETURN N + 8")] == [
        "Write increase(n)."
    ]
    assert ask(client, "find", set=SET, sort="mean", descending="true", id=rows[by_mean[5]]["prompt_id"]) == {
        "place": 5
    }
    assert ask(client, "find", set=SET, form="Odd", id=rows[by_mean[-1]]["prompt_id"] + "0") == {"place": -1}


def test_a_prompt_has_every_completion_and_a_poem_is_explained_on_request(client: TestClient) -> None:
    [hostile] = list_ids(client, text="hostile", scope="prompts")
    texts = {one["text"] for one in ask(client, "prompt", set=SET, id=hostile)["completions"]}
    assert HOSTILE in texts
    [poem] = list_ids(client, text="quatrain", scope="prompts")
    best = ask(client, "prompt", set=SET, id=poem)["completions"][0]
    told = ask(client, "explain", set=SET, id=poem, index=best["index"])
    assert [line["text"] for line in told["lines"]] == POEM.split("\n")
    assert ask(client, "prompt", set=SET, id="nothing") is None


def test_bad_requests_say_what_is_wrong(client: TestClient) -> None:
    for path, says in (
        ("summary?set=sat/v0001", "the store has no 'sat/v0001': it has set/v0001"),
        (f"count?set={SET}&min=much", "parameter 'min' is 'much': give a number"),
    ):
        answer = client.get(f"/api/{path}")
        assert answer.status_code == 400
        assert answer.json() == {"error": says}


def test_what_a_run_adds_is_there_at_once(
    client: TestClient, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    stamp, [before] = ask(client, "stamp"), ask(client, "live")
    assert before["rollouts"] == 8 * len(SCRIPT)
    assert len(before["latest"]) == 24
    assert all(one["reward"] is not None for one in before["latest"])
    shell = ScriptedShell(tmp_path, capfd, {"Anything more?": ["yes", "no"]})
    shell.write_rows([{"prompt": "Anything more?", "answer": "yes"}], "more.jsonl")
    assert (
        shell.find("--store", "store", "--prompts", "more.jsonl", "--verifier", "choice", "--name", "more").status == 0
    )
    assert ask(client, "stamp") != stamp
    [after] = ask(client, "live")
    assert after["rollouts"] > before["rollouts"]
    assert after["latest"][0]["completion"] in ("yes", "no")
    assert [row["name"] for row in ask(client, "sets")] == ["more", "set"]


def test_training_runs_stand_beside_their_set(client: TestClient) -> None:
    write_run(Path("runs/set-1"))
    write_run(Path("runs/other-1"))
    [run] = ask(client, "summary", set=SET)["runs"]
    assert run["name"] == "set-1"
    assert run["steps"] == 29
    assert next(one for one in run["curves"] if one["name"] == "reward")["values"][:2] == [0.5, 0.51]
    assert "entropy" in {alarm["metric"] for alarm in run["alarms"]}


@contextmanager
def serving(library: Library) -> Iterator[str]:
    """Serve a library on a free port; gives the address of its page."""
    server = uvicorn.Server(uvicorn.Config(make_app(library, TOKEN), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}/?token={TOKEN}"
    server.should_exit = True
    thread.join()


@needs_chromium
@needs_axe
@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("tab", ["overview", "prompts", "training", "live"])
def test_axe_finds_nothing_serious_over_the_server(report: Path, tab: str, scheme: Literal["light", "dark"]) -> None:
    write_run(Path("runs/set-1"))
    with serving(Library(Store("store").open(), Path("runs"))) as address, open_browser() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme=scheme)
        page.goto(f"{address}#tab={tab}")
        page.wait_for_selector({"prompts": ".list .row .cell", "live": ".live .card"}.get(tab, "figure svg"))
        assert find_serious(page) == []
        page.close()


@needs_chromium
@pytest.mark.slow
def test_a_text_of_completions_is_found_and_the_live_view_leads_to_its_prompt(report: Path) -> None:
    with serving(Library(Store("store").open(), Path("runs"))) as address, open_browser() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(f"{address}#tab=prompts&q=return n %2B 8")
        expect(page.locator(".status")).to_have_text(f"1 of {len(SCRIPT)} prompts")
        expect(page.locator(".list .cell.of-head")).to_have_text(["Write increase(n)."])
        page.get_by_role("button", name="Live").click()
        page.get_by_role("button", name="open prompt").first.click()
        expect(page.locator(".detail .asked")).to_be_visible()
        page.close()


@needs_chromium
@pytest.mark.slow
def test_the_page_works_over_the_server_too(report: Path) -> None:
    with serving(Library(Store("store").open(), Path("runs"))) as address, open_browser() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        page.wait_for_selector("h1")
        assert re.search(rf"of {len(SCRIPT)} prompts", page.locator("h1").inner_text())
        page.keyboard.press("/")
        page.keyboard.type("quatrain")
        expect(page.locator(".list .row")).to_have_count(1)
        page.locator(".list .row").click()
        page.wait_for_selector(".card")
        assert page.locator(".marks").count() == 0
        page.get_by_role("button", name="explain").first.click()
        page.wait_for_selector(".marks")
        page.get_by_role("button", name="Live").click()
        page.wait_for_selector(".live .card")
        shutil.copytree("store/curated/set/v0001", "store/curated/set/v0002")
        assert open_curated("store/curated/set").path.name == "v0002"
        page.reload()
        page.wait_for_selector("h1, .live")
        page.get_by_label("Set and version").select_option("set/v0002")
        expect(page).to_have_url(re.compile("v0002"))
        page.close()
        assert errors == []
