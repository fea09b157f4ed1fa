"""The page of an audit: one table, its groups, or several runs side by side."""

from collections.abc import Mapping, Sequence

from evenkeel.indices import Audit, Comparison, LossTable
from evenkeel.report.content import Content, Series

Result = Audit | tuple[Audit, ...] | Comparison


def content(
    tables: Mapping[str, LossTable], result: Result, *, title: str, headline: str, says: Sequence[str] = ()
) -> Content:
    """What `evenkeel audit --out page.html` shows.

    >>> from evenkeel.indices import audit
    >>> table = LossTable.of(loss=[1.0, 2.0])
    >>> content({"": table}, audit(table, draws=0), title="losses.csv", headline="…").series[0].name
    'all clients'
    """
    told = {"title": title, "headline": headline, "says": tuple(says)}
    if isinstance(result, Comparison):
        apart = [
            f"{run} has other clients than {result.baseline}: both are drawn on their own."
            for run, paired in result.paired.items()
            if not paired
        ]
        series = tuple(Series(name=run, table=tables[run], audit=a) for run, a in result.audits.items())
        return Content(noun="run", series=series, comparison=result, notes=(*result.notes, *apart), **told)  # type: ignore[arg-type]
    (table,) = tables.values()
    if isinstance(result, tuple):
        groups = table.by_group()
        worst_first = sorted(result, key=lambda a: -a.mean)
        series = tuple(Series(name=str(a.group), table=groups[str(a.group)], audit=a) for a in worst_first)
        return Content(noun="group", series=series, **told)  # type: ignore[arg-type]
    return Content(noun="table", series=(Series(name=table.population, table=table, audit=result),), **told)  # type: ignore[arg-type]
