"""The page: one HTML file with its data, its charts' declarations and the program that draws them.

The file asks the network for nothing, and its own policy forbids it to. Only the two programs whose digests the
policy names may run, so a client's name is text whatever it holds; Jinja escapes it besides.
"""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import evenkeel
from evenkeel.data.table import shown
from evenkeel.errors import InputError
from evenkeel.report import gather, indexed, sections
from evenkeel.report.blocks import encode
from evenkeel.report.charts.look import CONFIG, MOST_SERIES, PALETTE
from evenkeel.report.content import Content, Series, Waiting
from evenkeel.report.writing import digits, together

_ESCAPED = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def html(content: Content | Waiting) -> str:
    """The whole page."""
    script, runtime = _web("page.js"), vega()
    made: str = _template("page.html.j2").render(
        **parts(content),
        css=_web("page.css"),
        script=script,
        runtime=runtime,
        policy=_policy(script, runtime, live=content.live),
        payload=as_script(payload(content)),
    )
    return made


def fresh(content: Content | Waiting) -> dict[str, Any]:
    """What a page that is open needs to show other content: its inside as HTML, and its data."""
    told = parts(content)
    return {"inside": _template(told["template"]).render(**told), "payload": payload(content)}


def parts(content: Content | Waiting) -> dict[str, Any]:
    """What the templates fill in."""
    if isinstance(content, Waiting):
        return {"content": content, "version": evenkeel.__version__, "template": "waiting.html.j2"}
    tables = gather.tables(content)
    audits = {s.name: s.audit for s in content.series}
    first = content.series[0]
    return {
        "content": content,
        "template": "inside.html.j2",
        "about": sections.about(content.series),
        "measured": _over_seeds(sections.about(content.series), () if content.seeded is None else content.seeded.seeds),
        "sections": sections.sections(content, tables),
        "key": indexed.grid(content, indexed.KEY),
        "all": indexed.grid(content, indexed.measured(audits)),
        "told": [indexed.told(name, first.audit) for name in indexed.measured(audits)],
        "worst_off": [(shown(name, most=300), digits(loss)) for name, loss in first.audit.worst_off],
        "colours": {s.name: PALETTE[i % len(PALETTE)] for i, s in enumerate(content.series)},
        "single": _telling(content.series).name,
        "most": MOST_SERIES,
        "version": evenkeel.__version__,
    }


def _over_seeds(about: str, seeds: Sequence[int]) -> str:
    """What the table rests on: all its seeds, where the origin of the rows names the first.

    >>> _over_seeds("Population: digits; seed 0. Split: valid.", (0, 1)), _over_seeds("digits; seed 0", ())
    ('Population: digits; seeds 0, 1. Split: valid.', 'digits; seed 0')
    """
    return re.sub(r"; seed \d+", f"; seeds {', '.join(map(str, seeds))}", about) if seeds else about


def _telling(series: Sequence[Series]) -> Series:
    """The run whose weights tell the most: one with negative weights, else with any, else the first."""
    weighted = [s for s in series[:MOST_SERIES] if s.weights is not None]
    negative = [s for s in weighted if s.weights is not None and s.weights.lam.min() < 0]
    return [*negative, *weighted, *series][0]


def payload(content: Content | Waiting) -> dict[str, Any]:
    """The data and the declarations of all figures, as JSON takes them."""
    if isinstance(content, Waiting):
        return {"figures": [], "data": {"axes": [], "tables": {}}, "config": CONFIG, "live": content.live}
    tables = gather.tables(content)
    figures = [figure for section in sections.sections(content, tables) for figure in section.figures]
    return {
        "figures": [{"id": f.id, "table": f.table, "single": f.single, "spec": f.spec} for f in figures],
        "data": encode(tables),
        "config": CONFIG,
        "live": content.live,
    }


def as_script(value: Any) -> str:  # noqa: ANN401 - whatever JSON takes
    """JSON that cannot end the element it stands in.

    >>> as_script({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_ESCAPED)


@cache
def vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one program, from the installed vl-convert."""
    try:
        import vl_convert
    except ImportError:
        raise InputError("a page needs the extra `report`: pip install 'evenkeel[report]'") from None
    program: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return program.replace("</script", "<\\/script")


def _policy(*programs: str, live: bool) -> str:
    """Nothing from elsewhere, no program but ours. Vega compiles its own expressions, hence 'unsafe-eval'."""
    digests = [base64.b64encode(hashlib.sha256(p.encode()).digest()).decode() for p in programs]
    elsewhere = "'self'" if live else "'none'"
    scripts = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {scripts} 'unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; "
        f"connect-src {elsewhere}; base-uri 'none'; form-action 'none'"
    )


def _web(name: str) -> str:
    return (files("evenkeel.report") / "web" / name).read_text("utf-8")


@cache
def _template(name: str) -> Any:  # noqa: ANN401 - Jinja's Template, loaded where it is used
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    world = Environment(
        loader=FunctionLoader(_web), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    world.filters["together"] = together
    return world.get_template(name)
