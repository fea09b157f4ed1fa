"""Rules that join several keys."""

from typing import TYPE_CHECKING

from evenkeel.data.mapped import STORES
from evenkeel.errors import InputError
from evenkeel.runs.keys import written
from evenkeel.runs.options import GIVEN, taken

if TYPE_CHECKING:
    from evenkeel.runs.reading import Where
    from evenkeel.runs.spec import Spec

_THEOREM = ("tau_0", "gamma_0", "kappa")


def check(spec: "Spec", where: "Where") -> None:
    """Raise on the first rule that is broken."""
    _work(spec, where)
    _region(spec, where)
    _schedule(spec, where)
    _evaluation(spec, where)
    _given(spec, where)
    _engine(spec, where)
    n = spec.partition.n
    for option in ("alpha", "beta"):
        share = spec.algorithm.options.get(option)
        if isinstance(share, float) and spec.algorithm.name != "fedfv":
            least = 1 / n if n else 0
            if share < least * (1 - 1e-9) or share <= 0:
                _refuse(where, f"algorithm.{option}", share, f"must be at least one client's share, {least:g}", "0.2")
    cohort = spec.algorithm.options.get("cohort")
    if n and isinstance(cohort, int) and cohort > n:
        _refuse(where, "algorithm.cohort", cohort, f"there are only {n} clients", "0 asks everyone")


def _refuse(where: "Where", dotted: str, value: object, rule: str, remedy: str) -> None:
    raise InputError(f"{where(dotted)}: {dotted} = {written(value)}: {rule}; {remedy}")


def _work(spec: "Spec", where: "Where") -> None:
    if spec.work.steps is not None and spec.work.epochs is not None:
        _refuse(where, "work.steps", spec.work.steps, f"work.epochs = {spec.work.epochs} is given too", "leave one out")


def _region(spec: "Spec", where: "Where") -> None:
    region = spec.region
    takes = {"everywhere": (), "ball": ("radius",), "box": ("low", "high")}[region.kind]
    for option in ("radius", "low", "high"):
        value = getattr(region, option)
        if value is not None and option not in takes:
            _refuse(where, f"region.{option}", value, f"region.kind = {region.kind!r} does not take it", "leave it out")
        if value is None and option in takes:
            _refuse(where, "region.kind", region.kind, f"region.{option} is missing", "give it as well")
    if region.low is not None and region.high is not None and not region.low < region.high:
        _refuse(where, "region.low", region.low, f"must be below region.high = {region.high:g}", "swap the two")


def _schedule(spec: "Spec", where: "Where") -> None:
    schedule, name = spec.schedule, spec.algorithm.name
    primal_dual = name in {"scaffold", "scaff-pd", "scaff-pd-ia"}
    if schedule.varsigma is not None and not primal_dual:
        _refuse(where, "schedule.varsigma", schedule.varsigma, f"{name!r} has no extrapolation", "leave it out")
    if schedule.kind == "constant":
        for option in (*_THEOREM, "J", "beta"):
            if (value := getattr(schedule, option)) is not None:
                rule = "belongs to the theorem's schedule"
                _refuse(where, f"schedule.{option}", value, rule, 'set schedule.kind = "theorem" or leave it out')
        return
    if not primal_dual:
        _refuse(where, "schedule.kind", schedule.kind, f"{name!r} has constant steps only", 'give "constant"')
    if schedule.varsigma is not None:
        _refuse(where, "schedule.varsigma", schedule.varsigma, "the theorem sets it", "leave it out")
    for option in _THEOREM:
        if getattr(schedule, option) is None:
            _refuse(where, "schedule.kind", schedule.kind, f"schedule.{option} is missing", "give it as well")
    for option in ("tau", "eta", "sigma"):
        if option in spec.algorithm.options:
            value = spec.algorithm.options[option]
            _refuse(where, f"algorithm.{option}", value, "the theorem's schedule sets it", "leave it out")


def _evaluation(spec: "Spec", where: "Where") -> None:
    splits, split = spec.evaluation.splits, spec.evaluation.split
    if not splits or len(set(splits)) < len(splits):
        _refuse(where, "evaluation.splits", splits, "must name one part or two, each once", 'give ["valid", "train"]')
    if split not in splits:
        rule = f"must be among evaluation.splits = {written(splits)}"
        _refuse(where, "evaluation.split", split, rule, "add it there")


def _engine(spec: "Spec", where: "Where") -> None:
    engine = spec.engine
    if engine.address is not None and engine.transport != "ray":
        rule = f"engine.transport = {engine.transport!r} connects to nothing"
        _refuse(where, "engine.address", engine.address, rule, 'leave it out, or give engine.transport = "ray"')


def _given(spec: "Spec", where: "Where") -> None:
    """What a program handed in has no partition of ours, and a partition by column no number of clients to choose."""
    if spec.data.source == GIVEN or spec.data.source in STORES:
        what = "data handed in" if spec.data.source == GIVEN else "the rows of a store"
        for option in ("name", "n"):
            value = getattr(spec.partition, option)
            if value is not None:
                _refuse(where, f"partition.{option}", value, f"{what} are dealt out already", "leave it out")
    if spec.partition.name is None and taken("partition", "dirichlet").keys() & spec.partition.options.keys():
        raise AssertionError("options without a name are refused when they are read")
