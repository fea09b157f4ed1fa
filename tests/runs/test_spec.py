"""A spec is read as it is written, and every mistake is one line with file, key, value, rule and remedy."""

import dataclasses
import json
import tomllib

import jsonschema
import pytest

from evenkeel.algorithms import ALGORITHMS
from evenkeel.errors import InputError
from evenkeel.runs import PRESETS, Spec
from evenkeel.runs.keys import Key
from evenkeel.runs.options import CATALOGUES, OPTIONS, names, required, taken
from evenkeel.runs.schema import schema

# text of the file -> what the one line must hold, beside the file's name
MISTAKES = [
    ("rounds = 0", ["rounds = 0", "at least 1"]),
    ("rounds = 1.5", ["rounds = 1.5", "whole number"]),
    ('rounds = "many"', ['rounds = "many"', "whole number"]),
    ("rounds = true", ["rounds = true", "whole number"]),
    ("rounds = [1]", ["rounds = [1]", "whole number"]),
    ("rounds = 2020-01-01", ["rounds = ", "whole number"]),
    ("round = 5", ["round = 5", "did you mean 'rounds'"]),
    ("seed = -1", ["seed = -1", "at least 0"]),
    ("seed = 9223372036854775807", ["seed = 9223372036854775807", "at most"]),
    ("name = 3", ["name = 3", "text in quotes"]),
    ('name = "a\\nb"', ["name = ", "text"]),
    ("phi = 0.3", ["phi = 0.3", "[algorithm]"]),
    ("batch = 3", ["batch = 3", "[work]"]),
    ("data = 3", ["data = 3", "[data]"]),
    ("algorithm = 'fedavg'", ['algorithm = "fedavg"', "[algorithm]"]),
    ("[algorithms]\nphi = 0.3", ["algorithms", "did you mean 'algorithm'"]),
    ("[[work]]\nbatch = 3", ["work", "[work]"]),
    ("rounds = ", ["not TOML", "Invalid value"]),
    ("rounds = 1\nrounds = 2", ["not TOML", "overwrite"]),
    ("name = run", ["not TOML", "quotes"]),
    ("[work\nbatch = 3", ["not TOML", "line 1"]),
    ('[data]\nsource = "minst"', ['data.source = "minst"', "did you mean 'mnist'"]),
    ("[data]\nsource = 3", ["data.source = 3", "text"]),
    ("[data]\nfirst = 10", ["data.first = 10", "'digits' does not take it"]),
    ('[data]\nsource = "penguins"\nfirst = -1', ["data.first = -1", "at least 0"]),
    ('[data]\nsource = "penguins"\nfrist = 1', ["data.frist = 1", "did you mean 'first'"]),
    ('[data]\nsource = "mnist"\npart = "trian"', ['data.part = "trian"', "did you mean 'train'"]),
    ('[data]\nsource = "mnist"\nraw = "yes"', ['data.raw = "yes"', "true or false"]),
    ('[data]\nsource = "table"', ["data.client is missing", "'table' cannot do without"]),
    ('[data]\nsource = "table"\ntable = "a.csv"\nclient = "c"', ["data.target is missing"]),
    (
        '[data]\nsource = "table"\ntable = "a.csv"\ntarget = "y"\nclient = "c"\nfeatures = "x"',
        ["data.features", "list"],
    ),
    ('[data]\nsource = "table"\ntable = "a.csv"\ntarget = "y"\nclient = "c"\nfeatures = [1]', ["data.features", "[1]"]),
    (
        '[data]\nsource = "table"\ntable = "a.csv"\ntarget = "y"\nclient = "c"\nkind = "clases"',
        ["did you mean 'classes'"],
    ),
    ('[data]\nsource = "synthetic"\nalpha = 11', ["data.alpha = 11", "at most 10"]),
    ('[data]\nsource = "given"\nfirst = 3', ["data.first = 3", "no options"]),
    ('[data]\nsource = "given"\n[partition]\nn = 3', ["partition.n = 3", "already"]),
    ('[partition]\nname = "dirichelt"', ['partition.name = "dirichelt"', "did you mean 'dirichlet'"]),
    ("[partition]\nalpha = 0.5", ["partition.alpha = 0.5", "partition.name"]),
    ('[partition]\nname = "dirichlet"\nalpha = 0', ["partition.alpha = 0", "at least"]),
    ('[partition]\nname = "dirichlet"\nalpha = nan', ["partition.alpha = nan", "number"]),
    ('[partition]\nname = "iid"\nalpha = 0.5', ["partition.alpha = 0.5", "'iid' does not take it"]),
    ("[partition]\nn = 0", ["partition.n = 0", "at least 1"]),
    ("[partition]\nclients = 10", ["partition.clients = 10", "no such key"]),
    ("[partition]\nfraction = 1", ["partition.fraction = 1", "below 1"]),
    ('[partition]\nsplit = "shufled"', ['partition.split = "shufled"', "did you mean 'shuffled'"]),
    ('[task]\nmodel = "mpl"', ['task.model = "mpl"', "did you mean 'mlp'"]),
    ("[task]\nhidden = 0", ["task.hidden = 0", "at least 1"]),
    ("[task]\ndropout = 1.0", ["task.dropout = 1.0", "below 1"]),
    ('[task]\nmodel = "linear"\nhidden = 5', ["task.hidden = 5", "'linear' does not take it"]),
    ('[task]\ndtype = "float46"', ["task.dtype", "did you mean 'float64'"]),
    ("[task]\nl2 = -1", ["task.l2 = -1", "at least 0"]),
    ('[algorithm]\nname = "scaf-pd"', ['algorithm.name = "scaf-pd"', "did you mean 'scaff-pd'"]),
    ("[algorithm]\nphi = 1", ["algorithm.phi = 1", "below 1", "'auto'"]),
    ("[algorithm]\nphi = -0.1", ["algorithm.phi = -0.1", "at least 0"]),
    ('[algorithm]\nphi = "big"', ['algorithm.phi = "big"', "'auto'"]),
    ("[algorithm]\nphi = inf", ["algorithm.phi = inf", "number"]),
    ("[algorithm]\nalpha = 1.5", ["algorithm.alpha = 1.5", "at most 1"]),
    ("[algorithm]\nalpha = 0.05\n[partition]\nn = 10", ["algorithm.alpha = 0.05", "0.1"]),
    ("[algorithm]\nalpha = 0", ["algorithm.alpha = 0", "at least"]),
    ("[algorithm]\neta = 0", ["algorithm.eta = 0", "above 0"]),
    ('[algorithm]\neta = "0.1"', ['algorithm.eta = "0.1"', "a number above 0"]),
    ("[algorithm]\nq = 2", ["algorithm.q = 2", "'scaff-pd-ia' does not take it"]),
    ('[algorithm]\nname = "fedavg"\nphi = 0.2', ["algorithm.phi = 0.2", "'fedavg' does not take it"]),
    ('[algorithm]\nname = "fedavg"\nweighting = "rows"', ["algorithm.weighting", "clients"]),
    ('[algorithm]\nname = "fedavg"\ncohort = 20\n[partition]\nn = 10', ["algorithm.cohort = 20", "10 clients"]),
    ("[algorithm]\nbatch = 20", ["algorithm.batch = 20", "[work]"]),
    ("[algorithm]\nph = 0.2", ["algorithm.ph = 0.2", "did you mean 'phi'"]),
    ("[work]\nsteps = 3\nepochs = 2", ["work.steps = 3", "work.epochs = 2"]),
    ("[work]\nsteps = 0", ["work.steps = 0", "at least 1"]),
    ("[work]\nbatch = -1", ["work.batch = -1", "at least 0"]),
    ("[work]\nbacth = 3", ["work.bacth = 3", "did you mean 'batch'"]),
    ("[work]\ndropout = 1", ["work.dropout = 1", "true or false"]),
    ('[region]\nkind = "ball"', ["region.radius is missing"]),
    ("[region]\nradius = 3", ["region.radius = 3", "everywhere"]),
    ('[region]\nkind = "box"\nlow = 1\nhigh = 0', ["region.low = 1", "below region.high"]),
    ('[region]\nkind = "ball"\nradius = 0', ["region.radius = 0", "above 0"]),
    ("[schedule]\ntau_0 = 0.1", ["schedule.tau_0 = 0.1", "theorem"]),
    ('[schedule]\nkind = "theorem"', ["schedule.tau_0 is missing"]),
    ('[schedule]\nkind = "theorem"\ntau_0 = 1\ngamma_0 = 1\nkappa = 0\n[algorithm]\ntau = 1', ["algorithm.tau = 1"]),
    ('[schedule]\nkind = "theorem"\n[algorithm]\nname = "fedavg"', ["schedule.kind", "'fedavg'", "constant"]),
    ('[schedule]\nvarsigma = 1\n[algorithm]\nname = "fedavg"', ["schedule.varsigma = 1", "extrapolation"]),
    ("[clients]\nabsent = 1", ["clients.absent = 1", "below 1"]),
    ("[evaluation]\nevery = 0", ["evaluation.every = 0", "at least 1"]),
    ('[evaluation]\nsplits = ["test"]', ["evaluation.splits", "'test'", "train, valid"]),
    ("[evaluation]\nsplits = []", ["evaluation.splits = []", "one part or two"]),
    ('[evaluation]\nsplits = ["train"]', ['evaluation.split = "valid"', "evaluation.splits"]),
    ('[evaluation]\nweighting = "sizes"', ["evaluation.weighting", "did you mean 'size'"]),
    ('[engine]\ntransport = "lop"', ["engine.transport", "did you mean 'loop'"]),
    ("[engine]\nworkers = -2", ["engine.workers = -2", "at least 0"]),
    ("[engine]\nmemory = 1", ["engine.memory = 1", "at least 16"]),
    ("[output]\ncheckpoint = -1", ["output.checkpoint = -1", "at least 0"]),
    ("[output]\nfolder = 'x'", ["output.folder", "no such key"]),
]


def test_the_table_of_mistakes_is_long_enough():
    assert len(MISTAKES) >= 60


@pytest.mark.parametrize(("text", "parts"), MISTAKES)
def test_a_mistake_is_one_line_with_file_key_value_rule_and_remedy(tmp_path, text, parts):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with pytest.raises(InputError) as caught:
        Spec.load(file)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith("mine.toml: ")
    assert ";" in line or "[" in line or "did you mean" in line  # a remedy
    for part in parts:
        assert part in line, line


@pytest.mark.parametrize(
    ("content", "part"),
    [(None, "no such file"), (b"\xff\xfe", "not UTF-8"), (b"\0", "not TOML"), (b"#" * 2**21, "1 MiB")],
)
def test_a_file_that_cannot_be_a_spec_is_one_line(tmp_path, content, part):
    file = tmp_path / "mine.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InputError, match=part) as caught:
        Spec.load(file)
    assert "\n" not in str(caught.value)


def test_a_folder_is_no_spec(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        Spec.load(tmp_path)


@pytest.mark.parametrize(
    ("override", "part"),
    [
        ("algorithm.phi", "key=value"),
        ("=3", "key=value"),
        ("algorithm.phi=2", "--set: algorithm.phi = 2: "),
        ("rounds.phi=2", "rounds is a value"),
        ("algorithm.name=fedavg", "does not take it"),
        ("nothing=2", "--set: nothing = 2"),
    ],
)
def test_a_wrong_override_says_set(override, part):
    with pytest.raises(InputError, match=part.replace("(", r"\(")) as caught:
        Spec.preset("digits", [override])
    assert "\n" not in str(caught.value)


def test_an_override_that_is_no_toml_is_text():
    assert Spec.preset("digits", ["name=my run", "partition.split=stratified"]).name == "my run"


def test_an_unknown_preset_is_refused_with_the_nearest():
    with pytest.raises(InputError, match="did you mean 'digits'"):
        Spec.preset("digit")


@pytest.mark.parametrize("name", PRESETS)
def test_a_resolved_spec_written_and_read_is_the_same(name):
    spec = Spec.preset(name)
    again = Spec.of(tomllib.loads(spec.to_toml()))
    assert again.resolved() == spec.resolved()
    assert again.digest() == spec.digest()
    assert Spec.of(spec.table()) == spec


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_has_its_parameters_in_the_spec(name):
    spec = Spec.of({"algorithm": {"name": name}})
    stated = {option for option, default in taken("algorithm", name).items() if default is not None}
    assert stated == set(spec.resolved().algorithm.options)
    assert Spec.of(tomllib.loads(spec.to_toml())).resolved() == spec.resolved()


def test_every_option_of_every_entry_has_a_key_and_every_key_an_entry():
    for section, (_, entries) in CATALOGUES.items():
        used = {option for entry in entries for option in taken(section, entry)}
        assert used == set(OPTIONS[section]), section


def test_every_default_is_a_value_that_its_key_takes():
    for section, (_, entries) in CATALOGUES.items():
        for entry in entries:
            for option, default in taken(section, entry).items():
                if default is not None and not required(default):
                    assert OPTIONS[section][option].check(default, f"{entry}.{option}") == default


def test_the_theorem_schedule_leaves_no_step_sizes_to_write():
    table = {"kind": "theorem", "tau_0": 0.1, "gamma_0": 0.01, "kappa": 0.0}
    spec = Spec.of({"schedule": table})
    assert "tau" not in spec.resolved().algorithm.options
    assert Spec.of(tomllib.loads(spec.to_toml())).digest() == spec.digest()


def test_the_digest_changes_with_what_changes_the_result_and_with_nothing_else():
    spec = Spec.preset("digits")
    for dotted, value in (("name", "x"), ("engine.workers", 3), ("output.checkpoint", 9.0), ("task.hidden", 50)):
        assert spec.replace(dotted, value).digest() == spec.digest(), dotted
    for dotted, value in (("seed", 1), ("algorithm.phi", 0.3), ("partition.n", 9), ("clients.absent", 0.1)):
        assert spec.replace(dotted, value).digest() != spec.digest(), dotted


def test_texts_survive_the_writer():
    for name in ('say "a"', "back\\slash", "Øst 東 🚲", "#no comment", "'"):
        spec = Spec(name=name)
        assert tomllib.loads(spec.to_toml())["name"] == name


def test_a_relative_table_is_looked_for_beside_the_spec(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('[data]\nsource = "table"\ntable = "rows.csv"\nclient = "c"\ntarget = "y"')
    assert Spec.load(file).get("data.table") == str(tmp_path.resolve() / "rows.csv")


def test_sections_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Spec().rounds = 3


@pytest.fixture(scope="module")
def checker():
    held = schema()
    jsonschema.Draft202012Validator.check_schema(held)
    json.dumps(held, allow_nan=False)
    return jsonschema.Draft202012Validator(held)


@pytest.mark.parametrize("name", PRESETS)
def test_the_schema_takes_presets_and_what_we_write(checker, name):
    checker.validate(json.loads(json.dumps(PRESETS[name])))
    checker.validate(tomllib.loads(Spec.preset(name).to_toml()))


def test_the_schema_refuses_what_the_reader_refuses_unless_several_keys_are_joined(checker):
    seen = 0
    for text, _ in MISTAKES:
        try:
            table = json.loads(json.dumps(tomllib.loads(text), default=str))
        except tomllib.TOMLDecodeError:
            continue
        seen += not checker.is_valid(table)
    assert seen >= 60


def test_a_schema_branch_per_name_allows_what_the_name_takes(checker):
    for section, (chooser, _) in CATALOGUES.items():
        for entry in names(section):
            needed = {o: _any(OPTIONS[section][o]) for o, d in taken(section, entry).items() if required(d)}
            assert checker.is_valid({section: {chooser: entry, **needed}}), (section, entry)
            assert not checker.is_valid({section: {chooser: entry, **needed, "nonsense": 1}})


def _any(key: Key):
    return {"text": "x", "list": ["x"], "truth": True, "whole": 1, "number": 1.0}[key.kind]
