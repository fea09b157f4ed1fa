"""What `bench_cluster` and `bench_cross_device` found, as Markdown, and where docs/scale.md has it."""

import csv
from pathlib import Path

from cluster_model import LINK, NODE, Model
from idle import QUIET

PREDICTED = (8, 64, 512)
CASES = ((10_000, 40_000), (10_000, 1_000_000), (10_000, 10_000_000))


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table, the first column to the left.

    >>> table(["a", "b"], [["x", "1"]])
    ['| a | b |', '|---|---:|', '| x | 1 |']
    """
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, *rows)]
    return [lines[0], "|---|" + "---:|" * (len(head) - 1), *lines[1:]]


def machine(part: dict) -> str:
    """How busy the machine was when a part began."""
    busy = part["busy_before"]
    words = "quiet" if busy < QUIET else "**not quiet: seconds are too long, ratios noisy**"
    return f"Cores busy with other work as it began: {busy:.2f} ({words})."


def turns(record: dict) -> list[str]:
    """Engine and cluster, round by round in turns."""
    head = ["work, clients, d", "engine, 1 thread", "2 threads", "Ray, 1 worker", "2 workers", "Ray 1 : 2"]
    head += ["engine 1 : 2", "Ray − engine, at 2", "this process with both engines, a worker"]
    rows = []
    for row in record["turns"]["found"]:
        s = row["seconds"]
        seconds = [f"{s[name]:.3f} s" for name in ("engine 1", "engine 2", "ray 1", "ray 2")]
        ratios = [f"{s['ray 1'] / s['ray 2']:.2f}", f"{s['engine 1'] / s['engine 2']:.2f}"]
        rest = [f"{1e3 * (s['ray 2'] - s['engine 2']):.0f} ms", f"{row['driver_mib']:.0f}, {row['worker_mib']:.0f} MiB"]
        rows.append([f"{row['work']}, {row['clients']:,}, {row['d']:,}", *seconds, *ratios, *rest])
    lines = table(head, rows)
    if all("cpu" in row for row in record["turns"]["found"]):
        lines += ["", *_processor(record["turns"]["found"])]
    apart = max(row["theta_apart"] for row in record["turns"]["found"])
    rounds = len(record["turns"]["found"][0]["every"]["ray 1"])
    said = f"Medians of {rounds} rounds. |θ| of two workers and of one thread differ by at most {apart:.1e} after them."
    return [*lines, "", f"{said} {machine(record['turns'])}"]


def _processor(found: list[dict]) -> list[str]:
    """Where the processor time of a round goes; it says what binds even where seconds are disturbed."""
    rows = []
    for row in found:
        (engine, _), (driver, workers) = row["cpu"]["engine 1"], row["cpu"]["ray 2"]
        shares = [f"{engine:.3f} s", f"{driver:.3f} s", f"{workers:.3f} s", f"{2 * engine / (driver + workers):.2f}"]
        rows.append([f"{row['work']}, {row['clients']:,}, {row['d']:,}", *shares])
    return table(
        ["processor time", "engine, 1 thread", "driver of 2 workers", "both workers", "at most, by that"], rows
    )


def bytes_(record: dict) -> list[str]:
    """Counted against formula."""
    head = ["clients, d, workers", "put", "formula", "to workers", "formula", "back", "formula", "of a federation"]
    rows = []
    for row in record["bytes"]["found"]["payload"]:
        pairs = [f"{row[how][name]:,.0f}" for name in ("put", "down", "up") for how in ("counted", "formula")]
        federation = sum(row["run"].values())
        rows.append([f"{row['clients']:,}, {row['d']:,}, {row['workers']}", *pairs, f"{federation:,.0f}"])
    lines = [*table(head, rows), ""]
    for row in record["bytes"]["found"]["wire"]:
        lines.append(
            f"- Between two nodes, d = {row['d']:,}: {row['wire']:,.0f} bytes a round on the wire, "
            f"{row['wire'] / row['formula']:.2f} of the formula's {row['formula']:,}; a pause as long had "
            f"{row['idle']:,.0f}, which are subtracted."
        )
    return lines


def growth(record: dict) -> list[str]:
    """One engine thread."""
    rows = [
        [
            f"{g['clients']:,}",
            f"{g['d']:,}",
            f"{g['seconds']:.3f} s",
            f"{1e3 * g['outside']:.1f} ms",
            f"{g['peak_mib']:,.0f} MiB",
        ]
        for g in record["growth"]["found"]
    ]
    return [
        *table(["clients", "d", "a round", "of it at the server", "peak memory"], rows),
        "",
        machine(record["growth"]),
    ]


def ray(record: dict) -> list[str]:
    """Workers that compute nothing."""
    found = record["ray"]["found"]
    sizes, counts = sorted({e["d"] for e in found}), sorted({e["workers"] for e in found})
    at = {(e["d"], e["workers"]): e["seconds"] for e in found}
    rows = [[f"{d:,}", *(f"{1e3 * at[d, w]:.1f} ms" for w in counts)] for d in sizes]
    return [*table(["d", *(f"{w} worker{'s' * (w > 1)}" for w in counts)], rows), "", machine(record["ray"])]


def model(record: dict) -> list[str]:
    """How well it fits, what it says of rounds it never saw, and of more workers."""
    made = Model.of(record["growth"]["found"], record["ray"]["found"])
    (c0, c1, c2), (s0, s1, s2), (r0, r1, r2, r3) = made.client, made.server, made.ray
    each = f"{1e9 * r2:.3g} ns + {1e9 * r3:.3g} ns · W"
    own = f"{1e9 * c1:.3g} ns · d + {1e9 * c2:.3g} ns · max(0, d − 10⁶)"
    lines = [
        f"- clients (measured): ⌈n/W⌉ · ({1e3 * c0:.3g} ms + {own})",
        f"- server (measured): {1e3 * s0:.3g} ms + {1e9 * s1:.3g} ns · n + {1e9 * s2:.3g} ns · d",
        f"- Ray (measured, W ≤ 8): {1e3 * r0:.3g} ms + {1e3 * r1:.3g} ms · W + 4d · ({each})",
        f"- network (**assumed**): 6 · 0.1 ms + 8d · (⌈W/{NODE}⌉ + W) / {LINK / 1e9:.3g} GB/s",
        "",
    ]
    for name, error in made.errors(record["growth"]["found"], record["ray"]["found"]).items():
        lines.append(f"- {name}: off by {error:.0%} at most where it was fitted.")
    for row in record.get("turns", {"found": []})["found"]:
        for k in (1, 2) if row["work"] == "light" else ():
            told = made.seconds(clients=row["clients"], d=row["d"], workers=k, network=False)
            was = row["seconds"][f"ray {k}"]
            lines.append(
                f"- Never shown to it: {row['clients']:,} clients, d = {row['d']:,}, {k} worker{'s' * (k > 1)}: "
                f"said {told:.3f} s, was {was:.3f} s ({told / was - 1:+.0%})."
            )
    busiest = max((record[name] for name in ("growth", "ray")), key=lambda part: part["busy_before"])
    return [*lines, "", *_ahead(made), "", f"What it rests on: {machine(busiest)}"]


def said(seconds: float) -> str:
    """Three digits.

    >>> said(0.01234), said(12345.6)
    ('0.0123 s', '12,346 s')
    """
    return f"{seconds:,.0f} s" if seconds >= 100 else f"{seconds:.3g} s"


def _ahead(made: Model) -> list[str]:
    rows = []
    for n, d in CASES:
        one = made.seconds(clients=n, d=d, workers=1, network=False)
        for workers in PREDICTED:
            terms = made.terms(clients=n, d=d, workers=workers)
            total = sum(terms.values())
            cells = [said(seconds) for seconds in terms.values()]
            rows.append([f"{n:,}, {d:,}", str(workers), said(total), f"{one / total:.3g}", *cells])
    return table(["clients, d", "workers", "a round", "× one worker", "clients", "server", "Ray", "network"], rows)


def clients(file: Path) -> list[str]:
    """The table that `bench_cross_device --chart` kept."""
    rows = list(csv.DictReader(file.open()))
    head = [
        "registered",
        "asked",
        "a round",
        "answering",
        "share",
        "of processor time",
        "own memory",
        "with mapped pages",
        "store",
    ]
    cells = [
        [
            f"{int(r['clients']):,}",
            f"{int(r['cohort']):,}",
            f"{float(r['round_s']):.2f} s",
            f"{float(r['clients_s']):.2f} s",
            f"{float(r['share']):.0%}",
            f"{float(r['cpu_share']):.0%}",
            f"{float(r['own_gib']):.2f} GiB",
            f"{float(r['peak_gib']):.2f} GiB",
            f"{float(r['store_gib']):.2f} GiB",
        ]
        for r in rows
    ]
    busy = max(float(r["busy_before"]) for r in rows)
    return [*table(head, cells), "", machine({"busy_before": busy})]


def parts(record: dict, file: Path) -> dict[str, list[str]]:
    """All that there is, by the name of its marks."""
    told = {
        name: of(record)
        for name, of in (("turns", turns), ("bytes", bytes_), ("growth", growth), ("ray", ray))
        if name in record
    }
    if {"growth", "ray"} <= record.keys():
        told["model"] = model(record)
    if file.exists():
        told["clients"] = clients(file)
    return told


def put(page: str, told: dict[str, list[str]]) -> str:
    """The page with each part between its marks; a part without marks is an error.

    >>> put("a\\n<!-- x -->\\nold\\n<!-- end -->\\nb", {"x": ["new"]})
    'a\\n<!-- x -->\\nnew\\n<!-- end -->\\nb'
    """
    for name, lines in told.items():
        before, mark, rest = page.partition(f"<!-- {name} -->\n")
        if not mark:
            raise SystemExit(f"the page has no mark <!-- {name} -->")
        page = before + mark + "\n".join(lines) + "\n" + rest[rest.index("<!-- end -->") :]
    return page
