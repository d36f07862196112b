"""What a person meets on the page: charts, hover, buttons, keys, colours, paper, a phone."""

import io
import json
import re

import pytest
from conftest import EVIL
from PIL import Image

ALL = ["demo", "hostile", "plain", "experiment", "bare"]

# For every section its heading and what stands in it, in order.
OUTLINE = """() => [...document.querySelectorAll("section")].map((section) => [
  section.querySelector("h2").textContent,
  [...section.querySelector(".grid").children].map((child) =>
    child.matches("p") ? "text" : child.querySelector("canvas") ? "chart" : child.querySelector(".heat") ? "heat" :
    child.querySelector(".pair") ? "pairs" : child.querySelector(".tile") ? "pictures" :
    child.querySelector("table") ? "table" : "note").join(" ")])"""


def test_the_outline_of_the_demo(show):
    assert show("demo").evaluate(OUTLINE) == [
        ["Accuracy", "text table"],
        ["What changed", "text table text"],
        ["Where the mass goes", "text heat"],
        ["The points", "text chart"],
        ["Strongest pairs", "text pairs"],
        ["The learned metric", "text chart pictures pictures pictures text chart chart"],
        ["Convergence", "text chart chart chart chart"],
        ["Settings", "table"],
    ]


def test_the_outline_of_a_table_of_numbers(show):
    sections = dict(show("plain").evaluate(OUTLINE))
    assert sections["Strongest pairs"] == "text table"
    assert sections["The learned metric"] == "text chart table text chart"


def test_an_experiment_and_a_bare_model(show):
    assert show("experiment").evaluate(OUTLINE)[:2] == [["Accuracy", "table chart"], ["Choice of lambda", "text table"]]
    bare = dict(show("bare").evaluate(OUTLINE))
    assert "Accuracy" not in bare and bare["Where the mass goes"] == "text" and bare["Convergence"] == "text table"


@pytest.mark.parametrize("name", ALL)
def test_charts_are_drawn(show, name):
    page = show(name, "light")
    light = drawn(page)
    page.emulate_media(color_scheme="dark")
    for _ in range(100):  # as long as a busy machine takes
        page.wait_for_timeout(100)
        if [paint for *_, paint in drawn(page)] != [paint for *_, paint in light]:
            return
    raise AssertionError("the charts are not drawn anew in other colours")


def drawn(page):
    """Label, share of the area, number of colours and the most frequent one of every chart; none may be empty."""
    inked = page.evaluate("""() => [...document.querySelectorAll("canvas")].map((canvas) => {
      // Read from a copy: a browser remarks on a canvas that is drawn on and read in turns.
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
      copy.drawImage(canvas, 0, 0);
      const bytes = copy.getImageData(0, 0, canvas.width, canvas.height).data;
      const colours = new Map();
      let filled = 0;
      for (let i = 0; i < bytes.length; i += 4) {
        if (bytes[i + 3] <= 200) continue;
        ++filled;
        const key = bytes[i] << 16 | bytes[i + 1] << 8 | bytes[i + 2];
        colours.set(key, (colours.get(key) ?? 0) + 1);
      }
      const most = [...colours].sort((a, b) => b[1] - a[1])[0];
      return [canvas.getAttribute("aria-label"), filled / (bytes.length / 4), colours.size, most && most[0]];
    })""")
    assert inked
    for label, share, colours, _ in inked:
        assert 0.002 < share < 0.9 and colours > 3, label
    return inked


def test_a_screenshot_has_something_in_every_part(show):
    page = show("demo")
    picture = Image.open(io.BytesIO(page.screenshot(full_page=True))).convert("RGB")
    paper = picture.getpixel((2, 2))
    boxes = page.evaluate("""() => [...document.querySelectorAll("h1, h2, figure, .heat, table, .warning")].map((part) => {
      const box = part.getBoundingClientRect();
      return [part.textContent.slice(0, 40), box.left + scrollX, box.top + scrollY, box.right, box.bottom + scrollY];
    })""")
    assert len(boxes) > 20
    for text, *box in boxes:
        part = picture.crop([round(side) for side in box])
        ink = sum(count for count, colour in part.getcolors(1 << 24) if colour != paper) / (part.width * part.height)
        assert ink > 0.005, text


@pytest.mark.parametrize("name", ALL)
def test_parts_do_not_overlap_and_a_phone_needs_no_sideways_scrolling(show, name):
    page = show(name)
    for width in (1100, 360):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(100)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        overlaps = page.evaluate("""() => {
          const found = [];
          for (const grid of document.querySelectorAll(".grid, main, .pictures, .toggles")) {
            const boxes = [...grid.children].map((child) => child.getBoundingClientRect());
            boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => {
              if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
                  Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1) found.push(grid.textContent.slice(0, 60));
            }));
          }
          return found;
        }""")
        assert overlaps == []


def point(page, canvas, dataset, index):
    """Where a point of a chart is, in the window."""
    canvas.scroll_into_view_if_needed()
    return canvas.evaluate("""(canvas, [dataset, index]) => {
      const at = Chart.getChart(canvas).getDatasetMeta(dataset).data[index], box = canvas.getBoundingClientRect();
      return [box.left + at.x, box.top + at.y];
    }""", [dataset, index])


def visible_sets(canvas):
    return canvas.evaluate("(canvas) => Chart.getChart(canvas).getVisibleDatasetCount()")


def test_hover_shows_the_point_and_its_picture(show):
    page = show("demo")
    canvas = page.locator("canvas[aria-label^=Scatter]")
    page.mouse.move(*point(page, canvas, 1, 0))
    tip = page.locator(".tip")
    assert re.fullmatch(r"(source|mapped source|target) point \d+, class \d", tip.text_content())
    assert tip.is_visible() and tip.locator(".tile").evaluate("tile => tile.style.backgroundImage").startswith('url("data:image/png')
    page.mouse.move(1, 1)
    page.wait_for_function("getComputedStyle(document.querySelector('.tip')).display === 'none'")


def test_buttons_hide_clouds_and_classes(show):
    page = show("demo")
    canvas = page.locator("canvas[aria-label^=Scatter]")
    before = visible_sets(canvas)
    source = page.get_by_role("button", name="source", exact=True)
    assert source.get_attribute("aria-pressed") == "true"
    source.click()
    assert source.get_attribute("aria-pressed") == "false"
    assert visible_sets(canvas) == before * 2 / 3
    page.get_by_role("button", name="8", exact=True).press("Space")
    assert visible_sets(canvas) == before * 2 / 3 - 2
    source.press("Enter")
    assert source.get_attribute("aria-pressed") == "true"
    page.emulate_media(color_scheme="dark")  # draws anew, and keeps what is hidden
    page.wait_for_timeout(100)
    assert visible_sets(canvas) == before - 3


def test_buttons_of_an_experiment(show):
    page = show("experiment")
    canvas = page.locator("canvas").first
    before = visible_sets(canvas)
    page.get_by_role("group", name="Show").get_by_role("button").first.click()
    assert visible_sets(canvas) == before - 1


def test_arrow_keys_read_the_points(show):
    page = show("demo")
    said = page.locator("#said")
    for label, pattern in (("Scatter", r"source point \d+, class 0"), ("Line chart. Objective", r"step 1, objective: -?\d.*"),
                           ("Bar", r"row \d+, column \d+ \d.*")):
        page.locator(f"canvas[aria-label^='{label}']").first.focus()
        page.keyboard.press("ArrowRight")
        assert re.fullmatch(pattern, said.text_content())
        page.keyboard.press("Escape")
        assert said.text_content() == ""


def test_curves_say_where_they_really_end(show, pages):
    """A zero has no logarithm, and what is not finite no place; neither may be passed over."""
    text = pages["plain"].read_text(encoding="utf-8")
    before, rest = text.split('id="data">')
    data, after = rest.split("</script>", 1)
    data = json.loads(data)
    ends = {"Change of the distances by a step": [0.5, 0.25, 0], "Duality gap, at most": [1, 0.1, None],
            "Objective": [3, None, 2], "Error of the plan's marginals": [0, 0, 0]}
    for section in data["sections"]:
        for block in section["blocks"]:
            if block["kind"] == "lines" and block["title"] in ends:
                block["x"] = [1, 2, 3]
                for one in block["series"]:
                    one["values"] = ends[block["title"]]
            if block["kind"] == "heat":
                block["shares"][0] = [None] * len(block["columns"])
    pages["ends"] = pages["plain"].with_name("ends.html")
    pages["ends"].write_text(before + 'id="data">' + json.dumps(data).replace("<", "\\u003c") + "</script>" + after, encoding="utf-8")
    page = show("ends")
    labels = [canvas.get_attribute("aria-label") for canvas in page.locator("canvas").all()]
    for words in ("relative change from 0.5 to zero", "gap from 1 to not finite", "objective from 3 to 2"):
        assert any(words in label for label in labels), labels
    canvas = page.locator("canvas[aria-label*='relative change']")
    floor = canvas.evaluate("(canvas) => Chart.getChart(canvas).chartArea.bottom")
    assert abs(canvas.evaluate("(canvas) => Chart.getChart(canvas).getDatasetMeta(0).data[2].y") - floor) < 1
    assert page.get_by_text("Every value is zero.").count() == 1
    assert page.locator(".heat tbody tr").first.locator("td").first.text_content() == "–"


@pytest.mark.parametrize("name", ALL)
def test_every_chart_has_a_label_and_a_table(show, name):
    page = show(name)
    for canvas in page.locator("canvas").all():
        assert canvas.get_attribute("role") == "application" and canvas.get_attribute("aria-roledescription") == "chart"
        assert len(canvas.get_attribute("aria-label")) > 30
    details = page.locator("details")
    assert details.count() == page.locator("canvas").count()
    for one in details.all():
        one.locator("summary").click()
        one.locator("tbody tr").first.wait_for(timeout=5000)
    assert page.locator("[role=img]:not([aria-label])").count() == 0
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["demo", "plain", "experiment"])
def test_text_can_be_read(show, name, scheme):
    """Contrast of every text with its ground, by the formula of WCAG: 4.5 or more."""
    poor = show(name, scheme).evaluate("""() => {
      const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
      const light = (rgb) => { const [r, g, b] = rgb.map((c) => c / 255 <= .03928 ? c / 255 / 12.92 : ((c / 255 + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
      const ground = (one) => { for (; one; one = one.parentElement) { const c = numbers(getComputedStyle(one).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
      const found = [];
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const parent = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || parent.closest("script, style, noscript, .skip")) continue;
        const [a, b] = [light(numbers(getComputedStyle(parent).color).slice(0, 3)), light(ground(parent).slice(0, 3))].sort((x, y) => y - x);
        if ((a + .05) / (b + .05) < 4.5) found.push([walker.currentNode.data, (a + .05) / (b + .05)]);
      }
      return found;
    }""")
    assert poor == []


def test_light_and_dark_differ(show):
    colours = {show("demo", scheme).evaluate("getComputedStyle(document.body).backgroundColor") for scheme in ("light", "dark")}
    assert len(colours) == 2


def test_on_paper(show):
    page = show("demo", "dark")
    file = page.pdf(format="A4", print_background=True)
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", file)) <= 12
    assert page.evaluate("document.documentElement.classList.contains('print')") is False, "the screen is dark again"
    page.emulate_media(media="print")
    assert not page.locator("nav").is_visible() and not page.locator(".toggles").first.is_visible()


def test_hostile_names_are_text(show):
    page = show("hostile")
    assert page.locator("img, svg[onload], b").count() == 0
    assert page.locator("script").count() == 5
    body = page.locator("body").inner_text()
    for details in page.locator("details").all():
        details.locator("summary").click()
        details.locator("tbody tr").first.wait_for(timeout=5000)
    assert EVIL in page.locator("body").inner_text() and "<img src=x>source.csv" in body
    page.locator("canvas[aria-label^=Bar]").first.hover()
    assert show("bare").title() == EVIL
