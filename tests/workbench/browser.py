"""The console in a real browser, as a person uses it: `make test-browser` runs these.

Chromium shows the pages of a server in this process. Tests find controls by their roles and names, as a screen reader
does, and wait for what they expect. Each test fails on an error in a script or a violation of the page's policy. The
pictures of the pages go to the folder TIDELOG_PICTURES.
"""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

import tidelog
from tests.serving import running
from tests.workbench.visiting import MARKUP, PROGRAM, Serve, Visitor, visit
from tidelog.workbench.application import application
from tidelog.workbench.console.page import save_page
from tidelog.workbench.service import Service

BIG = 2**63 - 1


def test_a_wrong_rule_shows_its_error_while_it_is_typed(serve: Serve) -> None:
    with serve() as site:
        site.commit("road", (3, 4))
        page = site.open()
        page.get_by_role("button", name="hyper-node way").click()
        page.get_by_role("button", name="Edit rule step").click()
        text = page.get_by_label("Text of the rule")
        text.fill("step: way(x, z) :- way(x, y), rode(y, z).")
        expect(page.get_by_role("alert")).to_contain_text("E0201")
        expect(page.get_by_role("button", name="Commit")).to_be_disabled()
        text.fill("step: way(x, z) :- way(x, y), road(y, z), z < 4.")
        expect(page.get_by_text("− way(1, 4)")).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)
        assert len(site.db["way"]) == 6
        page.get_by_role("button", name="Commit").click()
        expect(text).to_have_count(0)
        assert sorted(site.db["way"]) == [(1, 2), (1, 3), (2, 3), (3, 4)]
        expect(page.get_by_label("Box way").locator("pre").last).to_contain_text("z < 4")


def test_a_new_rule_shows_its_relation(serve: Serve) -> None:
    with serve() as site:
        page = site.open()
        page.get_by_role("button", name="New rule").click()
        page.get_by_label("Text of the rule").fill(".decl far(x: number)\nfurther: far(y) :- way(_, y), y > 2.")
        expect(page.get_by_text("+ far(3)")).to_be_visible()
        page.get_by_role("button", name="Commit").click()
        expect(page.get_by_role("button", name="hyper-node far")).to_be_visible()
        visit(page, "Views")
        expect(page.get_by_role("link", name=re.compile("^far 1"))).to_be_visible()
        assert list(site.db["far"]) == [(3,)]


def test_a_proof_of_ten_levels_opens_by_clicks(serve: Serve) -> None:
    with serve() as site:
        page = site.open("views/level")
        page.get_by_role("button", name="Why level(11)").click()
        proof = page.locator(".proof")
        for n in range(10, 0, -1):
            step = proof.locator("summary", has_text=f"level({n})")
            expect(proof.get_by_text(f"level({n - 1})", exact=False)).to_have_count(0)
            step.click()
            expect(proof.locator("summary, .leaf", has_text=f"level({n - 1})").first).to_be_visible()
        expect(proof.locator(".leaf", has_text="level(0)")).to_be_visible()


def test_buttons_say_why_not_since_when_and_how_to_undo(serve: Serve) -> None:
    with serve() as site:
        page = site.open("views/way")
        page.get_by_role("button", name="Why way(1, 3)").click()
        page.get_by_role("button", name="Blame").click()
        expect(page.get_by_text("It holds since epoch 2.")).to_be_visible()
        page.get_by_role("button", name="Why not").click()
        expect(page.get_by_role("alert")).to_contain_text("E0672")
        page.get_by_label("way", exact=True).fill("[3,1]")
        page.get_by_role("button", name="Why not").click()
        expect(page.get_by_text("way(3, 1) does not hold.")).to_be_visible()
        expect(page.get_by_text("nothing matches road(3, 1)")).to_be_visible()
        page.get_by_label("way", exact=True).fill("[1,3]")
        page.get_by_role("button", name="Ways to remove").click()
        page.get_by_role("listitem").filter(has_text="Delete road(2, 3)").get_by_role("button", name="Try").click()
        expect(page.get_by_text("− way(2, 3)")).to_be_visible()
        page.get_by_role("button", name="Commit").click()
        expect(page.get_by_text("Committed as epoch 3.")).to_be_visible()
        assert list(site.db["way"]) == [(1, 2)]


def test_rows_are_sorted_filtered_and_read_page_by_page(serve: Serve) -> None:
    with serve() as site:
        site.commit("said", *((f"text {n % 10}", n) for n in range(250)))
        page = site.open("views/said")
        rows = page.get_by_label("Rows of said").locator("tbody tr")
        expect(rows).to_have_count(100)
        page.get_by_role("button", name="More rows").click()
        expect(rows).to_have_count(200)
        page.get_by_role("button", name="number number").click()
        expect(rows.first).to_contain_text('"text 0"0')
        page.get_by_role("button", name="number number").click()
        expect(rows.first).to_contain_text('"text 9"249')
        page.get_by_label("Filter text").fill("text 3")
        expect(rows).to_have_count(25)
        expect(rows.first).to_contain_text('"text 3"243')
        site.commit("said", ("text 3", 300))
        page.get_by_role("button", name="Show changes since epoch 3").click()
        expect(rows.first).to_contain_text('"text 3"300')


def test_a_relation_full_of_markup_shows_as_text(serve: Serve) -> None:
    with serve() as site:
        site.commit("said", (MARKUP, 7))
        page = site.open("views/said")
        expect(page.get_by_role("row", name="onerror")).to_contain_text(json.dumps(MARKUP))
        page.get_by_role("button", name="Why said").click()
        expect(page.locator(".proof")).to_contain_text(json.dumps(MARKUP))
        visit(page, "Changes")
        page.locator(".feed summary").first.click()
        expect(page.locator(".feed")).to_contain_text(f"loud({json.dumps(MARKUP)})")
        visit(page, "Rules")
        page.get_by_role("button", name="New rule").click()
        page.get_by_label("Text of the rule").fill(f"loud({json.dumps(MARKUP + '!')}).")
        expect(page.get_by_text(json.dumps(MARKUP + "!"))).to_be_visible()
        assert page.title() == "Rules · tidelog"
        assert page.locator("main img, main script").count() == 0


def test_numbers_keep_all_digits(serve: Serve) -> None:
    with serve() as site:
        site.commit("said", ("big", BIG))
        page = site.open("views/said")
        page.get_by_role("button", name=f'Why said("big", {BIG})').click()
        expect(page.locator(".proof")).to_contain_text(f'said("big", {BIG})')


def test_the_feed_pauses_filters_and_compares_epochs(serve: Serve) -> None:
    with serve() as site:
        page = site.open("changes")
        expect(page.get_by_text("epoch 2 · following")).to_be_visible()
        site.commit("road", (3, 4))
        epochs = page.get_by_label("Epochs", exact=True).locator("summary")
        expect(epochs.first).to_contain_text("3 facts +1 −0 views +3 −0")
        page.get_by_role("button", name="Pause").click()
        site.commit("road", (4, 5))
        site.db.delete("road", [(1, 2)])
        site.db.commit()
        expect(page.get_by_role("button", name="Go on (2 new)")).to_be_visible()
        expect(epochs).to_have_count(2)
        page.get_by_role("button", name="Go on").click()
        expect(epochs).to_have_count(4)
        page.get_by_label("Filter relations").fill("said")
        expect(epochs).to_have_count(0)
        page.get_by_label("Filter relations").fill("")
        page.get_by_label("from epoch").fill("2")
        page.get_by_label("to", exact=True).fill("5")
        page.get_by_role("button", name="Compare").click()
        difference = page.get_by_label("Difference")
        expect(difference).to_contain_text("− way(1, 3)")
        expect(difference).not_to_contain_text("way(1, 4)")  # It came in one epoch and went in another.
        page.get_by_label("Filter relations").fill("road")
        roads = ["+ road(3, 4)", "+ road(4, 5)", "− road(1, 2)"]
        expect(difference.get_by_role("listitem")).to_have_text(roads)


def test_the_views_are_checked_and_the_certificate_comes_along(serve: Serve, tmp_path: Path) -> None:
    with serve() as site:
        page = site.open("trust")
        expect(page.get_by_text("Nothing has been checked")).to_be_visible()
        page.get_by_role("button", name="Check now").click()
        expect(page.get_by_text("The views of epoch 2 are right.")).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("button", name="Download the certificate").click()
        assert download.value.suggested_filename == "certificate-2.zip"
        zipfile.ZipFile(download.value.path()).extractall(tmp_path)
        tidelog.check_certificate(tmp_path / "certificate-2")


def test_a_token_is_asked_for_and_is_in_no_address(serve: Serve) -> None:
    with serve(PROGRAM, "read:secret") as site:
        page = site.open()
        asked: list[tuple[str, str]] = []
        page.on("request", lambda each: asked.append((each.url, each.headers.get("authorization", ""))))
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Enter").click()
        expect(page.get_by_role("alert")).to_contain_text("E0693")
        page.get_by_label("Token").fill("secret")
        page.get_by_role("button", name="Enter").click()
        expect(page.get_by_role("button", name="hyper-node way")).to_be_visible()
        changes = [header for url, header in asked if "/v1/changes" in url]
        assert changes == ["Bearer secret"]
        assert not [url for url, _ in asked if "secret" in url]
        page.get_by_role("button", name="New rule").click()
        page.get_by_label("Text of the rule").fill("loud(text) :- said(text, _).")
        expect(page.get_by_role("alert")).to_contain_text("this token may only read")
        page.get_by_role("button", name="Forget token").click()
        expect(page.get_by_label("Token")).to_be_visible()


def test_the_page_goes_on_when_the_server_is_back(browser: Browser) -> None:
    visitor = Visitor(browser)
    with tidelog.Database() as db:
        db.load(PROGRAM)
        db.commit()
        with running(application(Service(db))) as address:
            page = visitor.open(f"{address}/#/changes")
            expect(page.get_by_text("epoch 1 · following")).to_be_visible()
        expect(page.get_by_text("epoch 1 · waiting for the server")).to_be_visible()
        expect(page.get_by_role("alert")).to_contain_text("the page goes on by itself")
        db.insert("road", [(1, 2)])
        db.commit()
        with running(application(Service(db)), port=urlsplit(address).port or 0):
            expect(page.get_by_text("epoch 2 · following")).to_be_visible(timeout=30_000)
            expect(page.get_by_text("Epochs 2 to 2 are not kept any more")).to_be_visible()
            expect(page.get_by_role("alert")).to_have_count(0)
            db.insert("road", [(2, 3)])
            db.commit()
            expect(page.locator(".feed summary").first).to_contain_text("3 facts +1 −0 views +2 −0")
            visitor.leave()


NAMELESS = """each => each
  .filter(one => one.checkVisibility())
  .filter(one => !one.getAttribute("aria-label") && !one.textContent.trim() && !one.labels?.length)
  .map(one => one.outerHTML)"""


def test_all_controls_have_names_and_keys_reach_them(serve: Serve) -> None:
    with serve() as site:
        page = site.open()
        box = page.get_by_role("button", name="hyper-node way")
        expect(box).to_be_visible()
        for _ in range(30):
            page.keyboard.press("Tab")
            if box.evaluate("each => each === document.activeElement"):
                break
        page.keyboard.press("Enter")
        edit = page.get_by_role("button", name="Edit rule base")
        expect(edit).to_be_visible()
        edit.focus()
        page.keyboard.press("Space")
        expect(page.get_by_label("Text of the rule")).to_be_visible()
        controls = "a, button, input, textarea, summary, canvas, svg.bars, [role=button], [tabindex]"
        for where in ("rules", "views/way", "query", "changes", "profile", "trust"):
            page.goto(f"{site.address}/#/{where}")
            expect(page.locator(f"a[aria-current=page][href='#/{where.partition('/')[0]}']")).to_be_visible()
            assert page.locator(controls).evaluate_all(NAMELESS) == [], where


@pytest.mark.parametrize("dark", [False, True])
def test_a_checker_of_accessibility_finds_nothing(serve: Serve, dark: bool) -> None:
    with serve() as site:
        page = site.open("rules", dark=dark)

        def look() -> None:
            found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]})
            assert found.response["violations"] == [], page.url

        page.get_by_role("button", name="hyper-node way").click()
        look()
        page.get_by_role("button", name="Edit rule base").click()
        page.get_by_label("Text of the rule").fill("base: way(x) :- ")
        expect(page.get_by_text("E0101").first).to_be_visible()
        look()
        page.goto(f"{site.address}/#/views/way")
        page.locator("tbody tr").first.click()
        page.get_by_role("button", name="Put facts in").click()
        look()
        visit(page, "Query")
        page.get_by_label("Text of the query").press_sequentially("w")
        expect(page.get_by_role("option").first).to_be_visible()
        page.keyboard.press("ArrowDown")
        look()
        for name in ("Changes", "Profile", "Trust"):
            visit(page, name)
            look()


def test_a_program_of_500_rules_opens_and_follows_a_fast_feed(serve: Serve) -> None:
    chain = "\n".join(
        f".decl r{n}(x: number)\none{n}: r{n}(x) :- {f'r{n - 1}' if n % 10 else 'road'}(x{'' if n % 10 else ', _'}).\n"
        f"two{n}: r{n}(x) :- road(x, y), y > {n}."
        for n in range(250)
    )
    with serve(PROGRAM + chain) as site:
        page = site.open()
        expect(page.locator("g.box")).to_have_count(255)
        visit(page, "Changes")
        for n in range(300):
            site.commit("said", (f"text {n}", -n))
        expect(page.get_by_text("epoch 302 · following")).to_be_visible()
        expect(page.locator(".feed summary").first).to_contain_text("302")
        expect(page.locator(".feed summary")).to_have_count(60)
        visit(page, "Views")
        expect(page.get_by_role("link", name=re.compile("^said 300"))).to_be_visible()


def test_a_file_shows_a_run_without_a_server(serve: Serve, tmp_path: Path) -> None:
    with serve() as site:
        site.commit("said", (MARKUP, 7))
        save_page(site.db, tmp_path / "run.html", [], {"epoch": 3, "ok": True, "wrong": None, "seconds": None})
        page = site.visitor.open((tmp_path / "run.html").as_uri())
        expect(page.get_by_text("a file of epoch 3")).to_be_visible()
        page.get_by_role("button", name="hyper-node way").click()
        expect(page.get_by_label("Box way").locator("pre")).to_have_count(2)
        expect(page.get_by_role("button", name="Edit rule base")).to_have_count(0)
        visit(page, "Views")
        page.get_by_role("link", name=re.compile("^said")).click()
        expect(page.get_by_role("row", name="onerror")).to_contain_text(json.dumps(MARKUP))
        assert page.title() == "Views · tidelog"
        visit(page, "Trust")
        expect(page.get_by_text("The views of epoch 3 are right.")).to_be_visible()


def test_the_slowest_rule_shows_the_plan_it_ran_with(serve: Serve, tmp_path: Path) -> None:
    with serve() as site:
        page = site.open("profile")
        expect(page.get_by_text("Start it with --profile.")).to_be_visible()
        site.db.options(profile=True, closures=False)
        site.db.rules.add("onward: way(x, z) :- way(x, y), road(y, z), x > 0.")
        site.commit("road", *((n, n + 1) for n in range(3, 20)))
        page.reload()
        expect(page.get_by_label("Time by rule and epoch")).to_be_visible()
        page.get_by_role("button", name="Plans of rule onward").click()
        plans = page.get_by_role("region", name="Plans of rule onward")
        expect(plans.get_by_text("onward: way(x, z) :- way(x, y), road(y, z), x > 0.")).to_be_visible()
        expect(plans.get_by_role("row", name="join").first).to_be_visible()
        plans.get_by_role("button", name="Close").click()
        page.get_by_role("button", name="Slowest rule").click()
        expect(page.get_by_role("region", name="Plans of rule")).to_be_visible()
        save_page(site.db, tmp_path / "run.html")
        page = site.visitor.open((tmp_path / "run.html").as_uri() + "#/profile")
        expect(page.get_by_role("button", name="Slowest rule")).to_be_visible()
