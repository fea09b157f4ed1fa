"""Specs whose runs take a blink: six clients, one step a round, a linear model."""

import json

from typer.testing import CliRunner

from evenkeel.cli import app
from evenkeel.runs import Spec

TABLE = {
    "rounds": 2,
    "data": {"source": "digits"},
    "partition": {"name": "iid", "n": 6},
    "task": {"model": "linear"},
    "work": {"batch": 0, "steps": 1, "control_batch": 0},
    "evaluation": {"every": 1},
    "engine": {"workers": 1},
    "output": {"checkpoint": 0},
}
STEPS = {"scaff-pd-ia": {"sigma": 0.1, "tau": 0.5, "eta": 0.1}, "fedavg": {"eta": 0.1}}


def spec(algorithm="scaff-pd-ia", **keys):
    """A small spec; keyword `work__steps` is the key work.steps."""
    made = Spec.of(TABLE | {"name": algorithm, "algorithm": {"name": algorithm, **STEPS[algorithm]}})
    for key, value in keys.items():
        made = made.replace(key.replace("__", "."), value)
    return made


def written(folder, *specs):
    """The specs as files."""
    files = []
    for k, one in enumerate(specs):
        file = folder / f"{one.name}-{k}.toml"
        file.write_text(one.to_toml())
        files.append(str(file))
    return files


def command(*words, **given):
    """The command line, as a shell would see it but in this process."""
    return CliRunner().invoke(app, [str(w) for w in words], **given)


def told(*words):
    """The JSON of a command that went well."""
    result = command(*words, "--json", "--quiet", "--processes", 1)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)
