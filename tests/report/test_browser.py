"""The page as a reader meets it: in Chromium, from a file, with mouse, keyboard, search and switches."""

import statistics

import pytest

from evenkeel.report import page
from tests.report.made import NASTY, content


@pytest.fixture(scope="module")
def html():
    return page.html(content())


def numbers(opened, figure):
    """What the table under a figure holds, as text."""
    table = opened.page.locator(f'[data-table="{figure}"]')
    if table.get_attribute("open") is None:
        table.locator("summary").click()
    return table.locator("tbody tr").all_inner_texts()


def test_it_opens_from_a_file_without_a_fault_and_asks_for_nothing(opened, html):
    seen = opened(html).drawn()
    assert seen.wrong == []
    assert len(seen.asked) == 1
    drawn = seen.page.locator(".chart[data-drawn]")
    assert drawn.count() == seen.page.locator("figure").count() >= 18
    for chart in drawn.all():
        assert chart.locator("svg, canvas").count() == 1


def test_names_with_markup_are_shown_and_nothing_of_them_runs(opened):
    seen = opened(page.html(content(n=len(NASTY) + 4, nasty=NASTY, headline=NASTY[0], title=NASTY[1]))).drawn()
    assert seen.page.inner_text("h1") == NASTY[0]
    shown = "\n".join(numbers(seen, "losses"))
    for name in (NASTY[0], NASTY[1], NASTY[3], NASTY[5], NASTY[6], "x" * 79 + "…", "two\\nlines\\u2028and\\ttabs"):
        assert name in shown, name
    seen.page.fill("#find", "<script>")
    assert NASTY[0] in seen.page.inner_text("#found")
    for mark in seen.page.locator("#figure-losses .mark-symbol.role-mark path").all():
        mark.hover(force=True)
        if seen.page.inner_text("#tip").startswith("client\n" + NASTY[0]):
            break
    else:
        pytest.fail("no mark tells the client with markup in its name")
    assert seen.page.locator("#tip *:not(b, dl, dt, dd)").count() == 0
    assert seen.page.evaluate("window.hit") is None
    assert seen.page.locator("main script, main img").count() == 0
    assert seen.wrong == []
    assert len(seen.asked) == 1


def test_a_tip_explains_an_index_to_mouse_and_keyboard_and_leaves_on_escape(opened, html):
    seen = opened(html)
    why = seen.page.locator('table .why[data-tip="why-R"]').first
    why.focus()
    assert "mean loss of the worst 20 % over mean loss of the best 20 %" in seen.page.inner_text("#tip")
    assert "1: equal; inf: the best 20 % have no loss" in seen.page.inner_text("#tip")
    box = seen.page.locator("#tip").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 1280
    seen.page.keyboard.press("Escape")
    assert seen.page.locator("#tip").is_hidden()
    why.hover()
    assert seen.page.locator("#tip").is_visible()


def test_a_mark_tells_its_client_on_hover(opened, html):
    seen = opened(html).drawn()
    chart = seen.page.locator("#figure-sizes .chart svg")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    seen.page.mouse.move(box["x"] + 80, box["y"] + box["height"] - 60)
    said = seen.page.inner_text("#tip")
    assert "client 0" in said
    assert "rows" in said


def test_the_theme_turns_at_once_and_is_kept(opened, html):
    seen = opened(html)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = seen.page.evaluate(ground)
    seen.page.keyboard.press("Tab")
    seen.page.keyboard.press("Tab")
    seen.page.keyboard.press("Enter")
    assert seen.page.evaluate(ground) != light
    assert seen.page.get_attribute("#theme", "aria-pressed") == "true"
    seen.page.reload()
    assert seen.page.evaluate(ground) != light
    seen.page.emulate_media(media="print")
    assert seen.page.evaluate(ground) == "rgb(255, 255, 255)"
    assert seen.page.evaluate("getComputedStyle(document.querySelector('.chart')).filter") == "none"
    seen.page.emulate_media(media="screen")
    seen.page.click("#theme")
    assert seen.page.evaluate(ground) == light


def test_a_run_can_be_taken_out_of_every_figure_and_put_back(opened, html):
    seen = opened(html).drawn()
    marks = "document.querySelectorAll('#figure-losses .mark-symbol.role-mark path').length"
    before = seen.page.evaluate(marks)
    seen.page.locator('[name="shown"]').first.press("Space")
    seen.page.wait_for_function(f"{marks} < {before}")
    assert seen.page.evaluate(marks) == before // 2
    seen.page.locator('[name="shown"]').first.press("Space")
    seen.page.wait_for_function(f"{marks} === {before}")


def test_an_act_waits_for_no_figure_that_is_not_seen_and_all_follow(opened, html):
    seen = opened(html).drawn()
    near = "[...document.querySelectorAll('.chart')].filter(c => c.getBoundingClientRect().top < innerHeight + 100)"
    behind = "[...document.querySelectorAll('.chart')].filter(c => c.dataset.behind).length"
    ended = "new Promise(requestAnimationFrame)"
    seen.page.evaluate("scrollTo(0, 0)")
    held = seen.page.evaluate(
        f"(async () => {{ document.querySelector('[name=shown]').click(); await {ended}; "
        f"return [{behind}, {near}.some(c => c.dataset.behind), document.querySelectorAll('.chart').length]; }})()"
    )
    assert held[0] > held[2] / 2
    assert not held[1]
    seen.page.wait_for_function(f"{behind} === 0")
    seen.page.locator("#figure-lorenz").scroll_into_view_if_needed()
    assert seen.page.locator("#figure-lorenz .mark-line.role-mark path").count() == 2  # the diagonal and one run


def test_what_is_printed_has_followed_every_switch(opened, html):
    seen = opened(html).drawn()
    seen.page.evaluate("document.querySelector('[name=shown]').click(); dispatchEvent(new Event('beforeprint'))")
    assert seen.page.locator("[data-behind]").count() == 0
    assert seen.page.locator("#figure-lorenz .mark-line.role-mark path").count() == 2


def test_figures_of_one_run_follow_the_choice(opened, html):
    seen = opened(html).drawn()
    first = numbers(seen, "sizes")
    seen.page.select_option("#single", "run 1")
    assert numbers(seen, "sizes") != first
    assert "run 1" in seen.page.inner_text("#figure-sizes h3")


def test_a_client_can_be_found_by_part_of_its_name(opened, html):
    seen = opened(html).drawn()
    seen.page.fill("#find", "00017")
    assert seen.page.inner_text("#found") == "client 00017"
    seen.page.wait_for_selector("#figure-losses svg path[stroke='#33383f']", state="attached")
    seen.page.fill("#find", "nobody")
    assert seen.page.inner_text("#found") == "no such client"


@pytest.mark.parametrize(
    "media", [{}, {"color_scheme": "dark"}, {"width": 375, "height": 800}], ids=["light", "dark", "phone"]
)
def test_axe_finds_no_serious_fault(opened, html, axe, media):
    seen = opened(html, **media).drawn()
    for details in seen.page.locator("details > summary").all()[:3]:
        details.click()
    seen.page.evaluate(axe)
    found = seen.page.evaluate("axe.run().then((told) => told.violations)")
    grave = [v for v in found if v["impact"] in {"serious", "critical"}]
    assert grave == [], [(v["id"], [n["html"][:200] for n in v["nodes"][:3]]) for v in grave]


def test_nothing_is_wider_than_a_phone(opened, html):
    seen = opened(html, width=375, height=800).drawn()
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 375


TIMED = """async () => {
    const begun = performance.now();
    %s;
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
    return performance.now() - begun;
}"""
LONG = """window.long = 0; new PerformanceObserver((seen) => {
    for (const task of seen.getEntries()) window.long = Math.max(window.long, task.duration);
}).observe({ type: 'longtask' })"""
SAID = (
    "document.getElementById('{0}').value = '{1}'; "
    "document.getElementById('{0}').dispatchEvent(new Event('{2}', {{ bubbles: true }}))"
)
ACTS = {
    "theme": ["document.getElementById('theme').click()"] * 4,
    "hide": ["document.querySelector('[name=shown]').click()"] * 4,
    "find": [SAID.format("find", name, "input") for name in ("00001", "05000", "0123", "09999")],
    "single": [SAID.format("single", f"run {k % 2}", "change") for k in range(4)],
    "data": ["document.querySelector('[data-table=losses] summary').click()"] * 4,
}
SCENES = {"top": "h1", "losses": "#figure-losses", "weights": "#figure-weights"}


def took(opened, acts):
    """Milliseconds from an act to the frame that shows it: the middle and the largest of four."""
    times = []
    for act in acts:
        times.append(opened.page.evaluate(TIMED % act))
        opened.page.wait_for_function("!document.querySelector('[data-behind]')")
    return round(statistics.median(times)), round(max(times))


def test_ten_thousand_clients_stay_usable(opened, record_property):
    """Times are told beside those of a page of the same size without any program; they decide nothing."""
    html = page.html(content(n=10_000, rounds=20, draws=0))
    words = "<p>Some text, as a page without figures has it, one paragraph after another.</p>"
    still = f"<!DOCTYPE html><html lang=en><title>still</title>{words * (len(html) // len(words))}"
    paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
    base = opened(still)
    base.page.wait_for_function(f"{paint} > 0")
    plain = {"paint": base.page.evaluate(paint), "act": took(base, ["document.body.classList.toggle('x')"] * 4)}
    seen = opened(html)
    seen.page.wait_for_function(f"{paint} > 0")
    first = seen.page.evaluate(paint)
    seen.drawn().page.evaluate(LONG)
    told = {
        "bytes": len(html.encode()),
        "first paint ms": round(first),
        "of a still page": round(plain["paint"]),
        "ratio": round(first / plain["paint"], 2),
        "an act on a still page, middle and largest ms": plain["act"],
    }
    for scene, place in SCENES.items():
        seen.page.evaluate(f"document.querySelector('{place}').scrollIntoView({{ behavior: 'instant' }})")
        seen.page.wait_for_timeout(300)
        told |= {f"{act}, looking at {scene}": took(seen, acts) for act, acts in ACTS.items()}
    told["longest piece of work"] = round(seen.page.evaluate("window.long"))
    record_property("10,000 clients", told)
    print(*(f"{what}: {value}" for what, value in told.items()), sep="\n")
    assert seen.wrong == []
    assert seen.page.inner_text("#found") == "client 09999"
    assert seen.page.locator('[data-table="losses"]').get_attribute("open") is None
    assert "run 1" in seen.page.inner_text("#figure-sizes h3")
    assert seen.page.locator('[name="shown"]').first.is_checked()
    assert "One client in 5 has a point" in seen.page.inner_text("#figure-losses")
