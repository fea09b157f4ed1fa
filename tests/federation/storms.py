"""Faults in number, and the judge of a run after them: the plain loop without those whom the journal names absent."""

import numpy as np

from evenkeel.engine import Loop
from evenkeel.federation.journal import read
from evenkeel.runs import execute
from evenkeel.runs.parts import federation_of, task_of
from tests.federation.faulty import order
from tests.federation.small import alone, differences


def site(act, client, phase, round_, **more):
    """A fault at a site, when it is asked this in that round."""
    return {"side": "site", "act": act, "client": client, "phase": phase, "round": round_, **more}


def killed(whom, client, phase, round_):
    """Other processes are killed at the moment when this client is asked this in that round."""
    return site("kill", client, phase, round_, whom=list(whom))


def ordered(home, plan):
    """Put all faults of a plan on the list; their numbers."""
    return [order(home, **fault) for fault in plan]


def absent(folder):
    """(round, phase) -> the clients that the run went on without, of the attempts that were kept."""
    gone = {}
    for line in read(folder):
        if line["event"] == "begin":  # this round, and what was later, is done anew
            gone = {at: who for at, who in gone.items() if at[0] < line["round"]}
        elif line["event"] == "without":
            gone[line["round"], line["phase"]] = line["absent"]
    return gone


def unlike(run, made, folder, place):
    """What differs from the plain loop that is without the same clients in the same rounds; [] for none."""
    gone = absent(folder)
    if not gone:
        return differences(run, alone(made, place))
    federation = federation_of(made)

    def attendance(key, phase, ids):
        away = [federation.names.index(name) for name in gone.get((key.round, phase), ())]
        return np.setdiff1d(ids, away)

    return differences(run, execute(made, place, transport=Loop(task_of(made, federation), federation, attendance)))


def longest(folder):
    """Seconds that the longest exchange took."""
    return max(line["seconds"] for line in read(folder) if line["event"] == "exchange")
