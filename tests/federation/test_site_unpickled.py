"""Nothing that comes from a client is unpickled: by watching the interpreter, and by reading the source."""

import ast
import pickle
import sys
from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="runs in .venv-federate")

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects

import evenkeel.federation
from evenkeel.errors import InputError
from evenkeel.federation.codec import Envelope, digest
from evenkeel.federation.packing import Packed, pack, unpack
from evenkeel.federation.wire import envelope, record

FORBIDDEN = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
_seen: list = []
sys.addaudithook(lambda event, _: _seen.append(event) if event == "pickle.find_class" else None)


class Bomb:
    """Unpickled, it would write to a file."""

    def __init__(self, file):
        self.file = str(file)

    def __reduce__(self):
        return (Path.touch, (Path(self.file),))


@pytest.fixture
def watched(tmp_path):
    """A bomb, and what shows afterwards that it did not go off."""
    _seen.clear()
    bomb = pickle.dumps(Bomb(tmp_path / "gone-off"))
    yield bomb
    assert "pickle.find_class" not in _seen
    assert not (tmp_path / "gone-off").exists()


def test_the_watch_would_see_it(tmp_path):
    _seen.clear()
    pickle.loads(pickle.dumps(Bomb(tmp_path / "gone-off")))  # noqa: S301 — the bomb is ours
    assert "pickle.find_class" in _seen
    assert (tmp_path / "gone-off").exists()


def travelled(content):
    """As Flower takes it apart and puts it together: from the bytes that a node pushed."""
    objects = get_all_nested_objects(content)
    raw = {name: found.deflate() for name, found in objects.items()}
    for found in objects.values():
        kind = type(found)
        children = {child: objects[child] for child in (found.children or {})}
        again = kind.inflate(raw[found.object_id], children)
        if found is content:
            return again
    return type(content).inflate(raw[content.object_id], {k: objects[k] for k in content.children})


@pytest.mark.parametrize("kind", ["pickle", "numpy.ndarray", "evenkeel", "torch"])
@pytest.mark.parametrize("dtype", ["object", "O", "|O", "float32"])
def test_an_array_that_is_a_pickle_is_refused_or_only_numbers(watched, kind, dtype):
    """Whatever a client calls it, in an envelope that is sealed as it should be."""
    data = watched + bytes(-len(watched) % 4)  # what comes after a pickle's end is no matter to a pickle
    packed = Packed(wire="exact", dtype=dtype, shape=(len(data) // 4,), data=data)
    told = Envelope(kind="reply", facts={}, arrays={"grad": packed})
    head = ConfigRecord({"text": told.text(), "seal": digest(told)})
    array = Array(dtype, packed.shape, kind, data)
    found = envelope(travelled(RecordDict({"head": head, "arrays": ArrayRecord({"grad": array})})))
    if dtype == "float32":
        assert unpack(found.arrays["grad"]).tobytes() == data
        return
    with pytest.raises(InputError, match="no such kind of numbers"):
        unpack(found.arrays["grad"])


def test_a_pickle_that_is_described_as_numbers_is_refused_or_numbers(watched):
    good = Envelope(kind="reply", facts={}, arrays={"grad": pack(np.zeros(3, np.float32))})
    held = record(good)
    held["arrays"] = ArrayRecord({"grad": Array("float32", (3,), "evenkeel", watched)})
    with pytest.raises(InputError):
        envelope(travelled(held))


def test_a_head_that_is_a_pickle_is_refused(watched):
    for text in (watched.decode("latin-1"), '{"version": 1}'):
        head = ConfigRecord({"text": text, "seal": "x", "more": watched})
        with pytest.raises(InputError):
            envelope(travelled(RecordDict({"head": head, "arrays": ArrayRecord({})})))


def test_no_source_of_the_federation_knows_how_to_unpickle():
    for file in Path(evenkeel.federation.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not {name.partition(".")[0] for name in names} & FORBIDDEN, file
            if isinstance(node, ast.Attribute) and node.attr == "load":
                held = node.value.id if isinstance(node.value, ast.Name) else ""
                assert held not in {"torch", "np", "numpy"}, f"{file}: {held}.load reads pickles"
