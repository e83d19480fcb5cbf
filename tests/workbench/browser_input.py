"""Queries, facts and programs that people put in by the console, in a real browser: see browser.py."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
from playwright.sync_api import FilePayload, Page, expect
from pyarrow import parquet

from tests.workbench.visiting import PROGRAM, Serve, draw_late, visit

SIMILAR = "\n".join(f".decl account_of_customer_{n:02}_in_region_{n % 7}(id: number, name: symbol)" for n in range(40))


def test_a_query_completes_names_and_shows_its_rows(serve: Serve) -> None:
    with serve() as site:
        page = site.open("query")
        text = page.get_by_label("Text of the query")
        text.press_sequentially("wa")
        expect(page.get_by_role("option")).to_have_text(["way(x: number, y: number)"])
        page.keyboard.press("Tab")
        expect(text).to_have_value("way(x, y)")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_text(re.compile(r"^3 rows of epoch 2 in .*: way\(x, y\)$"))).to_be_visible()
        rows = page.get_by_label("Rows of the answer").locator("tbody tr")
        assert sorted(rows.all_text_contents()) == ["12", "13", "23"]
        text.fill("way(1, 3), road(2, 3)")
        page.get_by_role("button", name="Run").click()
        expect(page.get_by_text("It holds in epoch 2")).to_be_visible()
        visit(page, "Trust")
        visit(page, "Query")
        expect(text).to_have_value("way(1, 3), road(2, 3)")
        page.get_by_text("Queries before (2)").click()
        page.get_by_role("button", name="way(x, y)").click()
        expect(rows).to_have_count(3)
        expect(text).to_have_value("way(x, y)")


def test_a_query_shows_its_plan(serve: Serve) -> None:
    with serve() as site:
        page = site.open("query")
        page.get_by_label("Text of the query").fill("way(x, y), road(y, z), x < z")
        page.get_by_role("button", name="Plan").click()
        steps = page.get_by_label("Plan").get_by_role("listitem")
        expect(steps).to_have_count(3)
        expect(steps.last).to_contain_text("test x < z about")
        page.get_by_label("Text of the query").fill("way(x, y), rode(y, z)")
        expect(page.get_by_label("Plan")).to_have_count(0)
        page.get_by_role("button", name="Plan").click()
        expect(page.get_by_role("alert")).to_contain_text("E0201 line 1")


def test_an_error_marks_its_place_in_the_text(serve: Serve) -> None:
    with serve() as site:
        page = site.open("query")
        page.get_by_label("Text of the query").fill("way(x, y),\n  rode(y, z)")
        page.get_by_role("button", name="Run").click()
        expect(page.get_by_role("alert")).to_contain_text("E0201 line 2, column 3")
        expect(page.locator("mark")).to_have_text("rode")
        visit(page, "Rules")
        page.get_by_role("button", name="New rule").click()
        page.get_by_label("Text of the rule").fill("far: way(x, z) :- way(x, z),\n road(y, z), y < 'a'.")
        expect(page.get_by_role("alert")).to_contain_text("line 2")
        expect(page.locator("mark")).to_have_count(1)


def test_an_answer_of_100_000_rows_comes_page_by_page(serve: Serve) -> None:
    with serve() as site:
        site.commit("said", *((f"text {n}", -n) for n in range(100_000)))
        page = site.open("query")
        page.get_by_label("Text of the query").fill("said(text, n), n < -9")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_text("99,990 rows of epoch 3")).to_be_visible()
        rows = page.get_by_label("Rows of the answer").locator("tbody tr")
        expect(rows).to_have_count(100)
        page.get_by_role("button", name="More rows").click()
        expect(rows).to_have_count(200)
        visit(page, "Views")
        page.get_by_role("link", name="said 100,000").click()
        page.get_by_label("Filter number").fill("-99999")
        expect(page.get_by_label("Rows of said").locator("tbody tr")).to_have_text(['"text 99999"-99999'])


def test_forty_relations_with_similar_names_stay_apart(serve: Serve) -> None:
    with serve(PROGRAM + SIMILAR) as site:
        page = site.open("views")
        link = page.get_by_role("link", name="account_of_customer_31_in_region_3 0")
        expect(link).to_contain_text("account_of_customer_31_in_region_3")
        expect(link).to_have_attribute("title", "account_of_customer_31_in_region_3: 0 tuples, facts")
        visit(page, "Query")
        page.get_by_label("Text of the query").press_sequentially("customer_31")
        expect(page.get_by_role("option")).to_have_text([re.compile("^account_of_customer_31_in_region_3.id: num")])
        page.get_by_label("Text of the query").fill("")
        page.get_by_label("Text of the query").press_sequentially("account")
        expect(page.get_by_role("option")).to_have_count(40)
        for _ in range(30):
            page.keyboard.press("ArrowDown")
        expect(page.get_by_role("option", selected=True)).to_be_in_viewport()
        page.keyboard.press("Enter")
        expect(page.get_by_label("Text of the query")).to_have_value("account_of_customer_29_in_region_1(id, name)")


def test_stop_ends_a_slow_query_in_the_server(serve: Serve) -> None:
    with serve() as site:
        site.commit("said", *((f"text {n}", -n) for n in range(3_000)))
        page = site.open("query")
        page.get_by_label("Text of the query").fill("said(_, a), said(_, b), said(_, c), a + b + c = 1")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_text(re.compile(r"The query runs \d+\.\d s"))).to_be_visible()
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_role("button", name="Stop")).to_have_count(0)
        wait_for_end(page, "/v1/query")


def wait_for_end(page: Page, path: str) -> None:
    """Wait until the server has ended a request because its client has left."""
    ended = f'path="{path}",status="499"'
    page.wait_for_function("async (ended) => (await (await fetch('/metrics')).text()).includes(ended)", arg=ended)


def test_stop_ends_a_slow_try_and_frees_the_turn_to_write(serve: Serve) -> None:
    with serve() as site:
        page = site.open("rules")
        page.get_by_role("button", name="New rule").click()
        page.get_by_label("Text of the rule").fill("endless: level(n + 1) :- level(n).")
        expect(page.get_by_text(re.compile("The server tries it out"))).to_be_visible()
        page.get_by_role("button", name="Stop").click()
        expect(page.get_by_text("Stopped.")).to_be_visible()
        wait_for_end(page, "/v1/transactions")
        site.commit("road", (3, 4))  # The turn to write is free again.
        expect(page.get_by_text("epoch 3 · following")).to_be_visible()


def test_facts_come_by_a_form_and_as_rows_of_csv(serve: Serve) -> None:
    with serve() as site:
        page = site.open("views/said")
        page.get_by_role("button", name="Put facts in").click()
        form = page.get_by_label("Facts for said")
        form.get_by_role("textbox", name="text symbol").fill("one")
        expect(form.get_by_text("Fill in all columns.")).to_be_visible()
        form.get_by_role("textbox", name="number number").fill("12x")
        expect(form.get_by_role("alert")).to_contain_text('"12x" is no number, the type of number')
        form.get_by_role("textbox", name="number number").fill("9223372036854775807")
        expect(form.get_by_text('+ said("one", 9223372036854775807)')).to_be_visible()
        rows = form.get_by_label("Several rows, as CSV")
        rows.fill('number,text\n6,"two, ""quoted""\nlines"\nseven,x\n')
        expect(form.get_by_role("alert")).to_contain_text('line 4: "seven" is no number, the type of number')
        visit(page, "Trust")
        visit(page, "Views")
        page.get_by_role("link", name="said 0").click()
        rows.fill(rows.input_value().replace("seven", "7"))
        expect(form.get_by_text('+ loud("two, \\"quoted\\"\\nlines")')).to_be_visible()
        rows.press("Control+Enter")
        expect(page.get_by_text("Committed as epoch 3.")).to_be_visible()
        assert sorted(site.db["said"]) == [("one", 2**63 - 1), ('two, "quoted"\nlines', 6), ("x", 7)]
        expect(page.get_by_label("Rows of said").locator("tbody tr")).to_have_count(3)
        page.get_by_role("button", name="Put facts in").click()
        expect(rows).to_have_value("")


def test_a_file_of_100_000_rows_is_committed(serve: Serve) -> None:
    with serve() as site:
        page = site.open("views/road")
        page.get_by_role("button", name="Put facts in").click()
        text = "".join(f"{n}\t{n + 1}\n" for n in range(1_000, 101_000))
        file: FilePayload = {"name": "roads.facts", "mimeType": "text/plain", "buffer": text.encode()}
        page.get_by_label("A file, or drop one here").set_input_files(file)
        expect(page.get_by_text("roads.facts: 100,000 rows")).to_be_visible()
        expect(page.get_by_label("Facts for road").get_by_text("+100,000 tuples").first).to_be_visible(timeout=60_000)
        page.get_by_role("button", name="Commit").click()
        expect(page.get_by_text("Committed as epoch 3.")).to_be_visible(timeout=60_000)
        assert len(site.db["road"]) == 100_002


def test_a_file_of_parquet_is_read_by_the_server(serve: Serve, tmp_path: Path) -> None:
    table = pa.table({"number": [7, 2**63 - 1], "text": ["seven", "most"]})
    parquet.write_table(table, tmp_path / "said.parquet")
    parquet.write_table(table.rename_columns(["number", "words"]), tmp_path / "other.parquet")
    with serve() as site:
        page = site.open("views/said")
        page.get_by_role("button", name="Put facts in").click()
        form = page.get_by_label("Facts for said")
        choose = page.get_by_label("A file, or drop one here")
        choose.set_input_files(tmp_path / "other.parquet")
        expect(form.get_by_role("alert")).to_contain_text("E0406 other.parquet: expected the columns text, number")
        choose.set_input_files(tmp_path / "said.parquet")
        expect(form.get_by_text("said.parquet: 2 rows")).to_be_visible()
        page.get_by_role("button", name="Commit").click()
        expect(page.get_by_text("Committed as epoch 3.")).to_be_visible()
        assert sorted(site.db["said"]) == [("most", 2**63 - 1), ("seven", 7)]


def test_files_are_dropped_and_records_are_lists(serve: Serve) -> None:
    with serve(PROGRAM + ".type Pair = [a: number, b: symbol]\n.decl pair(p: Pair)\n") as site:
        page = site.open("views/pair")
        page.get_by_role("button", name="Put facts in").click()
        form = page.get_by_label("Facts for pair")

        def drop(name: str, text: str) -> None:
            files = page.evaluate_handle("new DataTransfer()")
            files.evaluate("(files, [name, text]) => files.items.add(new File([text], name))", [name, text])
            form.dispatch_event("drop", {"dataTransfer": files})

        drop("pairs.parquet", "PAR1")
        expect(form.get_by_role("alert")).to_contain_text("E0411 pairs.parquet: expected Parquet")
        drop("pairs.csv", 'p\n"[7, ""b""]"\n8\n"[9"\n')
        expect(form.get_by_role("alert")).to_contain_text('pairs.csv: line 4: "[9" is no Pair, the type of p')
        drop("pairs.csv", 'p\n"[7, ""b""]"\n')
        expect(form.get_by_text("pairs.csv: 1 row")).to_be_visible()
        form.get_by_role("textbox", name="p Pair").fill("null")
        expect(form.get_by_text("+ pair(nil)")).to_be_visible()
        form.get_by_role("textbox", name="p Pair").press("Control+Enter")
        expect(page.get_by_text("Committed as epoch 3.")).to_be_visible()
        assert set(site.db["pair"]) == {((7, "b"),), (None,)}


def test_a_fact_is_deleted_in_its_row(serve: Serve) -> None:
    with serve() as site:
        page = site.open("views/way")
        page.get_by_role("row", name="Why way(1, 3)").get_by_role("cell").last.click()
        expect(page.locator(".proof")).to_contain_text("way(1, 3)")
        expect(page.get_by_role("button", name="Delete this fact")).to_have_count(0)
        page.get_by_role("link", name="road 2").click()
        page.get_by_role("row", name="Why road(2, 3)").get_by_role("cell").last.click()
        page.get_by_role("button", name="Delete this fact").click()
        expect(page.get_by_text("− way(1, 3)")).to_be_visible()
        assert len(site.db["road"]) == 2
        page.get_by_role("button", name="Commit").click()
        expect(page.get_by_text("Committed as epoch 3.")).to_be_visible()
        expect(page.get_by_label("Rows of road").locator("tbody tr")).to_have_text(["12"])
        assert list(site.db["road"]) == [(1, 2)]


def test_a_row_opens_by_a_click_anywhere_and_by_keys(serve: Serve) -> None:
    with serve() as site:
        page = site.open("views/way")
        for column in (0, 1):
            page.get_by_role("row", name="Why way(1, 3)").get_by_role("cell").nth(column).click()
            expect(page.locator(".proof")).to_contain_text("way(1, 3)")
            page.keyboard.press("Escape")
            expect(page.locator(".proof")).to_have_count(0)
        expect(page.get_by_role("button", name="Why way(1, 3)")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator(".proof")).to_contain_text("way(1, 3)")
        expect(page.get_by_label("Tuple", exact=True)).to_be_focused()


def test_an_empty_store_begins_with_a_program(serve: Serve) -> None:
    with serve("") as site:
        page = site.open()
        expect(page.get_by_role("heading", name="This store is empty")).to_be_visible()
        text = page.get_by_label("Text of the program")
        for example in ("Family", "Flights"):
            page.get_by_role("button", name=example).click()
            expect(page.get_by_role("button", name="Commit")).to_be_enabled()
        text.fill(text.input_value().replace("trip(x, y),", "trop(x, y),"))
        expect(page.locator("mark")).to_have_text("trop")
        page.get_by_role("button", name="Flights").click()
        text.press("Control+Enter")
        page.get_by_role("link", name="trip 6").click()
        page.get_by_role("button", name='Why trip("Lisbon", "Tromso")').click()
        expect(page.locator(".proof")).to_contain_text('flight("Paris", "Oslo")')
        assert len(site.db["trip"]) == 6


def test_a_page_listens_before_it_is_drawn(serve: Serve) -> None:
    with serve() as site:
        page = site.open("rules/way")
        draw_late(page)
        page.add_init_script("addEventListener('load', () => (location.hash = '#/trust'))")
        page.reload()
        expect(page.get_by_role("button", name="Check now")).to_be_visible()


def test_keys_commit_and_leave_and_drafts_stay(serve: Serve) -> None:
    with serve() as site:
        page = site.open("rules/way")
        draw_late(page)
        page.reload()
        page.get_by_role("button", name="Edit rule step").click()
        text = page.get_by_label("Text of the rule")
        text.fill("step: way(x, z) :- way(x, y), road(y, z), z < 3.")
        visit(page, "Changes")
        visit(page, "Rules")
        expect(text).to_have_value("step: way(x, z) :- way(x, y), road(y, z), z < 3.")
        text.press("Escape")
        expect(text).to_have_count(0)
        page.get_by_role("button", name="hyper-node way").click()
        page.get_by_role("button", name="Edit rule step").click()
        text.press("Control+Enter")
        expect(text).to_have_count(0)
        assert sorted(site.db["way"]) == [(1, 2), (2, 3)]
        page.get_by_role("button", name="Edit rule step").click()
        expect(text).to_have_value(re.compile("z < 3"))


def test_all_rules_are_one_text(serve: Serve) -> None:
    with serve() as site:
        page = site.open("rules")
        page.get_by_role("button", name="All rules as one text").click()
        text = page.get_by_label("Text of all rules")
        before = text.input_value()
        text.fill(before.replace("n > 4", "m > 4"))
        expect(page.locator("mark")).to_have_text("m")
        expect(page.get_by_role("alert")).to_contain_text("line 5")
        text.fill(before.replace("z < 90", "z < 3").replace("speak:", "// speak:"))
        expect(page.get_by_text("− way(1, 3)")).to_be_visible()
        page.get_by_role("button", name="Commit").click()
        expect(text).to_have_count(0)
        assert list(site.db.rules) == ["base", "start", "next", "step"]


def test_a_query_waits_for_a_server_that_comes_back(serve: Serve) -> None:
    with serve() as site:
        page = site.open("query")
        text = page.get_by_label("Text of the query")
        text.fill("road(x, y)")
        page.context.set_offline(True)
        page.keyboard.press("Control+Enter")
        expect(page.get_by_role("alert").first).to_contain_text("the server does not answer")
        page.context.set_offline(False)
        expect(text).to_have_value("road(x, y)")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_text("2 rows of epoch 2")).to_be_visible()
