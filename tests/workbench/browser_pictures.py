"""How the console looks, in a real browser: the graph, sizes of windows, and pictures of all pages; see browser.py."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.workbench.visiting import MARKUP, PROGRAM, Serve, Site, visit

# A rule whose condition spans several atoms, and long ways from facts past other boxes.
LONG = "town_with_a_way_to_another_one_south_of_any_town_in_the_north"
DEEP = (
    PROGRAM
    + f"""
.decl reached(x: number) .decl lonely(x: number) .decl {LONG}(x: number, y: number)
reached(y) :- way(_, y).
lonely(x) :- road(x, _), !reached(x).
{LONG}(x, w) :- road(x, w), way(x, u), said(_, u), road(u, v), way(v, x), !lonely(x).
"""
)
WIDE = PROGRAM + "".join(
    f".decl r{n}(x: number)\n.decl q{n}(x: number)\nq{n}(x) :- r{n}(x), road(x, _).\nlevel(x) :- q{n}(x).\n"
    for n in range(12)
)
CROSSINGS = """picture => {
  const boxes = [...picture.querySelectorAll("g.box")].map(box => {
    const [x, y] = box.getAttribute("transform").match(/[\\d.]+/g).map(Number);
    const { width, height } = box.querySelector("rect").getBBox();
    const title = box.querySelector("title").textContent;
    return { title, left: x + 2, top: y + 2, right: x + width - 2, bottom: y + height - 2 };
  });
  const crossed = [];
  for (const arrow of picture.querySelectorAll("path.arrow")) {
    const length = arrow.getTotalLength();
    for (let at = 4; at < length - 4; at += 2) {
      const { x, y } = arrow.getPointAtLength(at);
      const isIn = each => x > each.left && x < each.right && y > each.top && y < each.bottom;
      crossed.push(...boxes.filter(isIn).map(each => each.title));
    }
  }
  return crossed;
}"""


@pytest.mark.parametrize("program", [DEEP, WIDE])
def test_arrows_of_the_graph_go_around_boxes(serve: Serve, program: str) -> None:
    with serve(program) as site:
        page = site.open("rules")
        picture = page.locator(".picture svg")
        expect(picture.locator("path.arrow").first).to_be_attached()
        assert picture.evaluate(CROSSINGS) == []


def test_boxes_have_names_that_people_know(serve: Serve) -> None:
    with serve(DEEP) as site:
        page = site.open("rules")
        expect(page.locator("g.box title", has_text="columns of road(x0, _), way, road")).to_be_attached()
        titles = page.locator("g.box title").all_text_contents()
        assert LONG in titles
        assert not any("#" in title or len(title.split()[-1]) == 24 for title in titles), titles
        expect(page.locator("g.box text", has_text="y_town_in_the_north")).to_be_visible()


def test_the_graph_fits_and_zooms(serve: Serve) -> None:
    with serve(WIDE) as site:
        page = site.open("rules")
        picture = page.locator(".picture svg")
        expect(picture).to_be_visible()

        def height() -> float:
            return float(picture.get_attribute("height") or 0)

        opened = picture.get_attribute("height") or ""
        page.get_by_role("button", name="Fit").click()
        expect(picture).not_to_have_attribute("height", opened)
        whole = picture.get_attribute("height") or ""
        frame = page.locator(".picture").bounding_box()
        assert frame is not None
        assert 0 < height() <= frame["height"] < float(opened)
        page.get_by_role("button", name="Zoom in").click()
        expect(picture).not_to_have_attribute("height", whole)
        assert height() == pytest.approx(1.25 * float(whole))
        page.get_by_role("button", name="Fit").click()
        expect(picture).to_have_attribute("height", whole)


def test_colours_of_times_are_the_same_in_each_program(serve: Serve) -> None:
    with serve() as site:
        page = site.open("profile")
        expect(page.get_by_text("below 10 ms").first).to_be_visible()
        expect(page.get_by_text("1 epoch took")).to_be_visible()
        heats = page.evaluate("import('console/graph').then(({ heat }) => [0, 0.0009, 0.002, 0.5, 3, 60].map(heat))")
        assert heats == [0, 0, 1, 3, 4, 5]


def busy(site: Site) -> None:
    """Commit many epochs, and record their times."""
    site.db.options(profile=True)
    for n in range(1, 30):
        site.commit("road", (n, n + 1))
        site.commit("said", ("short" if n % 3 else MARKUP, n))
    site.db.delete("road", [(14, 15)])
    site.db.commit()


def show(page: Page, address: str, name: str) -> None:
    """Go to a page, and do there what a picture of it shows."""
    page.goto(f"{address}/#/{'rules/way' if name == 'rules' else 'views/way' if name == 'views' else name}")
    if name == "rules":
        page.get_by_role("button", name="Edit rule step").click()
        page.get_by_label("Text of the rule").fill("step: way(x, z) :- way(x, y), road(y, z), z < 30.")
        expect(page.get_by_text("− way(15, 30)")).to_be_visible()
    elif name == "views":
        page.get_by_label("Filter x").fill("15")
        expect(page.get_by_label("Rows of way").locator("tbody tr")).to_have_count(15)
        page.get_by_role("button", name="Why way(15, 19)").click()
        expect(page.locator(".proof")).to_be_visible()
    elif name == "query":
        page.get_by_label("Text of the query").fill("way(x, y), road(y, z), z > 26")
        page.keyboard.press("Control+Enter")
        expect(page.get_by_label("Rows of the answer")).to_be_visible()
    elif name == "changes":
        page.locator(".feed summary").first.click()
        expect(page.get_by_text("− road(14, 15)")).to_be_visible()
    elif name == "profile":
        page.get_by_role("button", name="Slowest rule").click()
        expect(page.get_by_role("region", name="Plans of rule")).to_be_visible()
    else:
        page.get_by_role("button", name="Check now").click()
        expect(page.get_by_text("are right")).to_be_visible()


NAMES = ("rules", "views", "query", "changes", "profile", "trust")


@pytest.mark.parametrize("phone", [False, True])
def test_pictures_of_all_pages(serve: Serve, pictures: Path, phone: bool) -> None:
    with serve() as site:
        page = site.open(phone=phone)
        expect(page.locator("g.box")).to_have_count(5)
        busy(site)
        page.reload()
        for name in NAMES:
            show(page, site.address, name)
            wide = page.evaluate("document.scrollingElement.scrollWidth > innerWidth")
            assert not wide, f"{name} is wider than the window"
            page.screenshot(path=pictures / f"console-{name}{'-phone' if phone else ''}.png")


def test_pictures_of_the_first_step_and_of_the_dark_page(serve: Serve, pictures: Path) -> None:
    with serve("") as site:
        page = site.open()
        page.get_by_role("button", name="Flights").click()
        expect(page.get_by_text('+ trip("Lisbon", "Tromso")')).to_be_visible()
        page.screenshot(path=pictures / "console-first.png")
    with serve() as site:
        light, dark = site.open("views/road"), site.open("views/road", dark=True)
        ground = "each => getComputedStyle(each).backgroundColor"
        assert light.locator("body").evaluate(ground) != dark.locator("body").evaluate(ground)
        visit(dark, "Rules")
        expect(dark.locator("g.box")).to_have_count(5)
        dark.screenshot(path=pictures / "console-dark.png")
