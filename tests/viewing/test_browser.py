"""The page in Chromium: what people do with it, and what hostile text cannot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from learnable.data.curated.curated_set import open_curated
from learnable.data.storage.places import find_place
from learnable.viewing.report import write_report
from tests.viewing.pages_for_tests import (
    HOSTILE,
    SCRIPT,
    find_serious,
    make_report,
    needs_axe,
    needs_chromium,
    open_browser,
    write_run,
)

pytestmark = [needs_chromium, pytest.mark.slow]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the report of all tests here goes; the first one writes it."""
    return tmp_path_factory.mktemp("report") / "report.html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def page(
    report: Path,
    browser: Browser,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Page]:
    monkeypatch.chdir(tmp_path)
    if not report.is_file():
        make_report(tmp_path, capfd, report.parent)
        write_report(
            open_curated("store/curated/set"), find_place(report), runs=[write_run(tmp_path / "runs" / "set-1")]
        )
    page = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme="light")
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: errors.append(request.url) if not request.url.startswith("file:") else None)
    page.goto(report.as_uri())
    page.wait_for_selector("html[data-ready]")
    yield page
    page.close()
    assert errors == []


def listed(page: Page) -> list[str]:
    return page.locator(".list .cell.of-head").all_inner_texts()


def status(page: Page) -> str:
    return page.locator(".status").inner_text()


def go(page: Page, hash_: str) -> None:
    page.evaluate("hash => { location.hash = hash }", hash_)


def open_prompt(page: Page, text: str) -> None:
    go(page, f"#tab=prompts&scope=prompts&q={text}")
    expect(page.locator(".list .row")).to_have_count(1)
    page.locator(".list .row").click()
    page.wait_for_selector(".card")


def test_the_overview_says_what_was_kept_and_a_form_leads_to_its_prompts(page: Page) -> None:
    assert re.search(rf"\d+ of {len(SCRIPT)} prompts are worth training on", page.locator("h1").inner_text())
    for name in ("Rewards", "Learnability by form", "Certificates", "Forecast", "Spend by outcome", "Components"):
        assert page.get_by_role("heading", name=name).count() == 1
    assert page.locator("svg[role=img]").count() >= 4
    page.get_by_role("button", name="Even", exact=True).click()
    expect(page.locator(".status")).to_have_text(f"60 of {len(SCRIPT)} prompts")
    assert "form=Even" in page.url


def test_search_finds_prompts_and_completions(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("is 10")
    expect(page.locator(".status")).to_have_text(f"7 of {len(SCRIPT)} prompts")
    assert all("10" in text for text in listed(page))
    page.locator("#search").fill("RETURN N + 8")
    expect(page.locator(".list .cell.of-head")).to_have_text(["Write increase(n)."])
    page.get_by_label("Search in", exact=True).select_option("prompts")
    expect(page.locator(".status")).to_have_text(f"0 of {len(SCRIPT)} prompts")
    assert "scope=prompts" in page.url


def test_filters_and_order(page: Page) -> None:
    go(page, "#tab=prompts")
    page.get_by_label("Decision", exact=True).select_option("too_easy")
    expect(page.locator(".list .cell.of-decision").first).to_have_text("too easy")
    assert set(page.locator(".list .cell.of-decision").all_inner_texts()) == {"too easy"}
    page.get_by_label("Decision", exact=True).select_option("")
    page.get_by_label("from", exact=True).fill("0.3")
    page.get_by_label("to", exact=True).fill("0.5")
    expect(page.locator(".status")).to_contain_text(f" of {len(SCRIPT)} prompts")
    means = [float(text) for text in page.locator(".list .of-mean .figure").all_inner_texts()]
    assert means
    assert all(0.29 <= mean <= 0.51 for mean in means)
    page.get_by_role("button", name="mean reward").click()
    expect(page.get_by_role("columnheader", name="mean reward")).to_have_attribute("aria-sort", "descending")
    means = [float(text) for text in page.locator(".list .of-mean .figure").all_inner_texts()]
    assert means == sorted(means, reverse=True)
    page.get_by_role("button", name="mean reward").click()
    expect(page.get_by_role("columnheader", name="mean reward")).to_have_attribute("aria-sort", "ascending")
    go(page, "#tab=prompts&measure=component/tests&min=0")
    expect(page.locator(".list .cell.of-head")).to_have_text(["Write increase(n)."])


def test_columns_are_chosen_and_stand_in_the_address(page: Page) -> None:
    go(page, "#tab=prompts")
    page.locator(".chooser summary").click()
    page.get_by_label("learnability").check()
    page.get_by_label("tokens", exact=True).uncheck()
    expect(page.get_by_role("columnheader", name="learnability")).to_be_visible()
    expect(page.get_by_role("columnheader", name="tokens")).to_have_count(0)
    assert "expected_within_variance" in page.url


def test_the_address_opens_the_same_again(page: Page, browser: Browser) -> None:
    go(page, "#tab=prompts&q=even&form=Even&sort=mean&order=down")
    expect(page.locator(".status")).to_have_text(f"60 of {len(SCRIPT)} prompts")
    page.locator(".list .row").nth(2).click()
    page.wait_for_selector(".card")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".card.chosen")).to_have_count(1)
    again = browser.new_page()
    again.goto(page.url)
    again.wait_for_selector(".card.chosen")
    assert again.locator(".detail .asked").inner_text() == page.locator(".detail .asked").inner_text()
    assert again.locator("#search").input_value() == "even"
    assert again.locator(".card.chosen").get_attribute("data-completion") == page.locator(".card.chosen").get_attribute(
        "data-completion"
    )
    again.close()
    page.go_back()
    expect(page.locator(".detail")).to_be_hidden()


def test_the_keyboard_walks_prompts_and_completions(page: Page) -> None:
    page.keyboard.press("2")
    page.wait_for_selector(".list .row")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector(".detail header")
    first = page.url
    page.keyboard.press("j")
    page.wait_for_function("before => location.href !== before", arg=first)
    page.keyboard.press("k")
    page.wait_for_function("before => location.href === before", arg=first)
    page.keyboard.press("Escape")
    expect(page.locator(".detail")).to_be_hidden()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    expect(page.locator("h1")).to_be_visible()


def test_a_poem_has_marks_rhymes_and_the_lines_that_are_spoken_of(page: Page) -> None:
    open_prompt(page, "quatrain")
    best, worst = page.locator(".card").first, page.locator(".card").last
    assert best.locator(".marks").count() == 4
    assert "/" in best.locator(".marks").first.inner_text()
    rhymes = best.locator(".words .rhyme")
    assert rhymes.all_inner_texts() == ["sea", "rain", "me", "again"]
    colours = [rhyme.evaluate("one => getComputedStyle(one).color") for rhyme in rhymes.all()]
    assert colours[0] == colours[2] != colours[1] == colours[3]
    named = worst.locator("tr.named")
    assert named.count() >= 1
    assert named.first.locator("th").inner_text() == "1"
    assert "syllables" in worst.locator(".hints").inner_text()


def test_a_program_has_the_case_that_failed(page: Page) -> None:
    open_prompt(page, "increase")
    failed = page.locator(".card").last.locator(".failed")
    assert "increase(0)" in failed.inner_text()
    assert failed.locator("dd").all_inner_texts() == ["increase(0)", "9"]
    assert "increase(1) == 10" in page.locator(".wanted").inner_text()
    assert page.locator(".card").last.locator("code").nth(1).inner_text() == "    return n + 8"


def test_a_hostile_completion_is_text_and_all_of_it_can_be_seen(page: Page) -> None:
    open_prompt(page, "hostile")
    card = page.locator(".card").last
    text = card.locator("pre.text")
    assert text.inner_text().startswith('</script><script>document.title="owned"</script><img src=x onerror=')
    assert r"\x1b[31mred\x1b[0m \u202eevil\u202c שלום" in text.inner_text()
    assert page.title().startswith("set v0001")
    assert page.locator("main img, main script").count() == 0
    assert page.locator("script:not([type='text/plain'])").count() == 1
    card.get_by_role("button", name="show all").click()
    assert len(text.inner_text()) >= len(HOSTILE)
    assert card.evaluate("card => card.scrollWidth <= card.clientWidth + 1")


def test_text_can_be_copied(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_prompt(page, "increase")
    page.get_by_role("button", name=re.compile("copy completion")).last.click()
    expect(page.locator("#announcements")).to_have_text("Copied")
    assert "return n + 8" in page.evaluate("navigator.clipboard.readText()")


def test_dark_is_dark_and_is_kept(page: Page) -> None:
    background = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(background)
    page.get_by_role("button", name="dark or light").click()
    assert page.evaluate(background) != light
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_nothing_is_wider_than_a_telephone(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    for address in ("#", "#tab=prompts"):
        go(page, address)
        page.wait_for_timeout(50)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    open_prompt(page, "quatrain")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator(".grid")).to_be_hidden()


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", ["#", "#tab=prompts", "#tab=training", "quatrain", "increase"])
def test_axe_finds_nothing_serious(page: Page, address: str, scheme: str) -> None:
    page.evaluate("scheme => { document.documentElement.dataset.theme = scheme }", scheme)
    if address.startswith("#"):
        go(page, address)
    else:
        open_prompt(page, address)
    page.wait_for_timeout(100)
    assert find_serious(page) == []


def test_a_run_has_its_curves_and_the_alarm_stands_first(page: Page) -> None:
    go(page, "#tab=training")
    expect(page.locator("figcaption").first).to_contain_text("entropy: 0 at step 29")
    expect(page.locator(".alarm-mark")).to_have_count(1)  # charts are drawn once their width is known
    assert "entropy fell from 2.00 to 0.00" in page.locator("table").inner_text()


def test_paper_is_white_whatever_the_screen_was(page: Page) -> None:
    page.evaluate("() => { document.documentElement.dataset.theme = 'dark' }")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    expect(page.locator(".tabs")).to_be_hidden()
