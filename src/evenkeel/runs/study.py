"""Optuna's side of tuning: one SQLite file an algorithm, ask and tell, median pruning. Nothing else imports Optuna."""

from collections.abc import Mapping
from typing import Any

try:
    import optuna
except ImportError:
    from evenkeel.errors import InputError

    raise InputError("tune needs Optuna, which is not installed: pip install 'evenkeel[tune]'") from None

from optuna.distributions import BaseDistribution, FloatDistribution
from optuna.trial import FrozenTrial, Trial, TrialState

from evenkeel.errors import RunFailedError
from evenkeel.runs.observers import Observer
from evenkeel.runs.spec import Spec
from evenkeel.runs.tune import Search, run_trial

_STARTUP = 5  # trials before any is pruned, and before the sampler stops drawing at random
_ERROR = "error"  # why a trial failed; one that failed without was stopped half-way and is asked again


class Pruning:
    """The observer that lets Optuna stop a trial whose run so far is worse than the median of the others."""

    def __init__(self, observer: Observer, trial: Trial, search: Search) -> None:
        self.observer, self.trial, self.search, self.pruned = observer, trial, search, False

    def begin(self, spec: Spec, first: int) -> None:
        """Pass it on."""
        self.observer.begin(spec, first)

    def round(self, row: Mapping[str, Any]) -> None:
        """Report an evaluated row; the last one ends the run by itself."""
        self.observer.round(row)
        r = int(row["round"])
        if "mean" not in row or r in {0, self.search.spec.rounds}:
            return
        self.trial.report(self.search.criterion.value(row), r)
        self.pruned = self.trial.should_prune()
        if self.pruned:
            raise optuna.TrialPruned

    def warn(self, line: str) -> None:
        """Pass it on."""
        self.observer.warn(line)

    def end(self, outcome: str) -> None:
        """Pass it on, in the right word."""
        self.observer.end("pruned" if self.pruned else outcome)


def search(what: Search, observer: Observer) -> dict[str, Any]:
    """Do the trials that are left, and say what was found."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = _opened(what)
    ranges: dict[str, BaseDistribution] = {
        key: FloatDistribution(low, high, log=True) for key, (low, high) in what.ranges.items()
    }
    while (count := len(_done(study))) < what.trials:
        study.sampler = optuna.samplers.TPESampler(seed=count, n_startup_trials=_STARTUP)
        _one(what, study, study.ask(ranges), observer)
    return _found(what, _done(study)[: what.trials])


def _opened(what: Search) -> optuna.Study:
    """The study in its file; a trial that a stop left unfinished is asked again, and its run goes on."""
    what.folder.mkdir(parents=True, exist_ok=True)
    study = optuna.create_study(
        storage=f"sqlite:///{(what.folder / 'tune.db').resolve()}",
        study_name=what.mark,
        pruner=optuna.pruners.MedianPruner(n_startup_trials=_STARTUP, n_warmup_steps=what.spec.rounds // 5),
        direction="minimize",
        load_if_exists=True,
    )
    if not study.get_trials(deepcopy=False):
        study.enqueue_trial(what.own)
    for trial in study.get_trials(states=(TrialState.RUNNING,)):
        study.enqueue_trial(trial.params)
        study.tell(trial.number, state=TrialState.FAIL)
    return study


def _done(study: optuna.Study) -> list[FrozenTrial]:
    ended = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL))
    return [trial for trial in ended if trial.state is not TrialState.FAIL or _ERROR in trial.user_attrs]


def _one(what: Search, study: optuna.Study, trial: Trial, observer: Observer) -> None:
    """One trial: complete, pruned, or failed where the run diverged."""
    watchers = [Pruning(observer, trial, what), *[observer] * (len(what.seeds) - 1)]
    try:
        row = run_trial(what, trial.params, watchers)
    except optuna.TrialPruned:
        study.tell(trial, state=TrialState.PRUNED)
    except RunFailedError as error:
        trial.set_user_attr(_ERROR, str(error))
        study.tell(trial, state=TrialState.FAIL)
    else:
        trial.set_user_attr("measured", row)
        study.tell(trial, what.criterion.value(row))


def _found(what: Search, trials: list[FrozenTrial]) -> dict[str, Any]:
    """The best trial and all others, as JSON takes them."""
    ceiling = what.criterion.ceiling
    complete = [t for t in trials if t.state is TrialState.COMPLETE]
    fit = [t for t in complete if ceiling is None or t.user_attrs["measured"]["mean"] <= ceiling]
    if not complete:
        raise RunFailedError(f"{what.name}: every trial diverged; give the spec smaller step sizes")
    if not fit:
        low = min(t.user_attrs["measured"]["mean"] for t in complete)
        raise RunFailedError(f"no trial has a mean loss of at most {ceiling:g}; the lowest is {low:.4g}")
    best = min(fit, key=lambda t: float(t.value or 0.0))
    told = [_told(t) for t in trials]
    states = [t["state"] for t in told]
    return {
        "best": _told(best),
        "own": told[0],
        "ranges": {key: list(ends) for key, ends in what.ranges.items()},
        "at_the_end_of": [key for key, ends in what.ranges.items() if _near(best.params[key], *ends)],
        "trials": told,
        "counts": {state: states.count(state) for state in ("complete", "pruned", "diverged")},
    }


def _told(trial: FrozenTrial) -> dict[str, Any]:
    state = {TrialState.COMPLETE: "complete", TrialState.PRUNED: "pruned"}.get(trial.state, "diverged")
    return {"steps": trial.params, "state": state, "measured": trial.user_attrs.get("measured")}


def _near(value: float, low: float, high: float) -> bool:
    """Within a tenth of the range, on its log scale, of one of its ends."""
    tenth: float = (high / low) ** 0.1
    return value < low * tenth or value > high / tenth
