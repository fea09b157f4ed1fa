"""What a site says to an envelope: a function of the envelope and its rows alone. It keeps nothing between messages.

c_i is recomputed in "local" from the same draws, so a site that was restarted half-way can finish the round.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from evenkeel.clients import answer_one
from evenkeel.errors import InputError
from evenkeel.federation.codec import Envelope, ask_of, digest
from evenkeel.federation.packing import pack
from evenkeel.federation.residuals import Residuals, fed_back
from evenkeel.federation.sites import Site
from evenkeel.tasks import Task

MakeTask = Callable[[tuple[int, ...], int], Task]  # (shape of a row, classes) -> task
_WITHOUT_VECTORS = {"probe", "score"}
FUSED = "fused."  # what a probe's reply carries of the gradient ask that follows it


def reply_to(asked: Envelope, site: Site, make: MakeTask, state: Path | None = None) -> Envelope:
    """A reply, or a refusal that says in one line why there is none."""
    try:
        if asked.kind == "describe":
            return Envelope(kind="reply", facts=site.described() | {"nonce": asked.facts["nonce"]})
        if asked.kind != "ask":
            raise InputError(f"kind = {asked.kind!r}: no such question")
        return _answered(asked, site, make, state)
    except InputError as error:
        return Envelope(kind="refusal", facts={"why": str(error), "nonce": asked.facts.get("nonce", "")})


def _answered(asked: Envelope, site: Site, make: MakeTask, state: Path | None) -> Envelope:
    facts = asked.facts
    _agree(facts, site)
    task = make(tuple(facts["shape"]), int(facts["classes"]))
    client = site.client(task, int(facts["client"]))
    ask, key = ask_of(asked)
    if ask.phase not in _WITHOUT_VECTORS:
        site.demand_enough(ask.config)
    if facts["fuse"] is not None:
        site.demand_enough(facts["fuse"])
    said = dict(answer_one(task, client, ask, key))
    if facts["fuse"] is not None:
        extra = answer_one(task, client, ask._replace(phase="gradient", config=facts["fuse"]), key)
        said |= {FUSED + name: value for name, value in extra.items()}
    held = {name: value for name, value in said.items() if isinstance(value, torch.Tensor)}
    scalars = {name: float(value) for name, value in said.items() if name not in held}
    known = {name: facts[name] for name in ("phase", "round", "client", "name", "nonce")}
    arrays = {name: _packed(facts, name, value, state) for name, value in held.items()}
    return Envelope(kind="reply", facts=known | {"ask": digest(asked), "scalars": scalars}, arrays=arrays)


def _packed(facts: Mapping[str, Any], name: str, value: torch.Tensor, state: Path | None) -> Any:  # noqa: ANN401
    """A vector on its way up."""
    if not facts["feedback"] or facts["wire"] == "exact":
        return pack(value, facts["wire"])
    if state is None:
        raise InputError("clients.feedback = true: this site has nowhere to keep what is left over; give state=FOLDER")
    residuals = Residuals(folder=state, run=facts["run"], client=facts["name"])
    return fed_back(value, facts["wire"], f"{facts['phase']}.{name}", int(facts["round"]), residuals)


def _agree(facts: Mapping[str, Any], site: Site) -> None:
    """The server's picture of this site must be right."""
    if site.name and facts["name"] != site.name:
        raise InputError(f"asked as {facts['name']!r}, but this site is {site.name!r}; mend the registration")
    if facts["train"] != site.described()["train"]:
        now = site.described()["train"]
        raise InputError(
            f"site {facts['name']!r} has {now} training rows, it began with {facts['train']}; start a new run"
        )
