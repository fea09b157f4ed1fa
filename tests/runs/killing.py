"""Kill runs hundreds of times and let them go on: a process that loads everything once and forks a child a trial.

Usage: python -m tests.runs.killing FOLDER PART PARTS; does every PARTS-th trial and prints one JSON object. The parent
computes nothing itself, so that a child starts with fresh threads. A child is killed (SIGKILL, no clean-up) either at
its k-th step of writing a file, for every k there is, or after a random time; some are killed again while they go on.
"""

import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

import torch

from evenkeel.runs import Run, env, execute, store
from tests.runs import tiny


class Points:
    """Calls `act` at the k-th step of writing: after opening, half-way, before and after each flush and replacement."""

    def __init__(self, k, act):
        self.k, self.act, self.count = k, act, 0

    def step(self):
        self.count += 1
        if self.count == self.k:
            self.act()

    def install(self):
        opened, replaced, synced = Path.open, Path.replace, os.fsync
        points = self

        def open_(path, mode="r", *more, **options):
            file = opened(path, mode, *more, **options)
            if "x" not in mode:
                return file
            points.step()
            written = file.raw.write

            class Halting:
                """A file that stops half-way."""

                def __enter__(self):
                    return self

                def __exit__(self, *_):
                    file.close()

                def write(self, content):
                    written(content[: len(content) // 2])
                    points.step()
                    written(content[len(content) // 2 :])

                def flush(self):
                    points.step()

                def fileno(self):
                    return file.fileno()

            return Halting()

        def replace_(path, target):
            points.step()
            done = replaced(path, target)
            points.step()
            return done

        def fsync_(handle):
            points.step()
            synced(handle)

        Path.open, Path.replace, os.fsync = open_, replace_, fsync_


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def child(work):
    """Fork, do the work, and leave without any clean-up; the child's process id."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:  # noqa: BLE001 — whatever it is, the child must not become a second parent
            traceback.print_exc()
        os._exit(code)
    return pid


def ended(pid):
    """How a child ended: True for a kill."""
    status = os.waitpid(pid, 0)[1]
    if not os.WIFSIGNALED(status) and os.WEXITSTATUS(status):
        raise SystemExit("a child failed by itself")
    return os.WIFSIGNALED(status)


def go(name, folder):
    """Start the run, or let it go on."""
    return execute(tiny.spec(name), folder, resume=True, federation=tiny.federation())


def finish(name, folder, out):
    """What a reader sees after the kill is whole; then the run is brought to its end."""
    if store.begun(folder):
        seen = Run.open(folder)
        assert seen.rounds["round"].to_list() == list(range(seen.rounds.height))
        assert seen.clients.height % 10 == 0
    Path(out).write_text(tiny.fingerprint(go(name, folder)))


def count(name, folder, out):
    points = Points(-1, die)
    points.install()
    begun = time.monotonic()
    go(name, folder)
    Path(out).write_text(json.dumps([points.count, time.monotonic() - begun]))


def main():
    home, part, parts = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    rng = random.Random(part)
    torch.set_num_threads(1)  # a pool of threads waits for itself where the machine is busy
    env.commit()  # once for all children: it asks git
    for package in env.PACKAGES:
        env.installed(package)
    expected, steps, seconds, wrong, kills = {}, {}, {}, [], 0
    for name in tiny.ALGORITHMS:
        ended(child(lambda name=name: finish(name, home / f"{name}-whole", home / "out")))
        expected[name] = (home / "out").read_text()
        ended(child(lambda name=name: count(name, home / f"{name}-count", home / "out")))
        steps[name], seconds[name] = json.loads((home / "out").read_text())
    every = [("engine", k, None) for k in range(1, steps["engine"] + 1)]
    by_time = [(name, None, rng.uniform(0, seconds[name])) for name in tiny.ALGORITHMS for _ in range(8)]
    ours = (every + by_time)[part::parts]
    for trial, (name, k, after) in enumerate(ours):
        folder = home / f"{trial}"
        for attempt in range(2 if k else 1):
            at = k if attempt == 0 else rng.randint(1, 20)

            def work(name=name, folder=folder, at=at):
                if at:
                    Points(at, die).install()
                go(name, folder)

            pid = child(work)
            if at is None:
                time.sleep(after)
                os.kill(pid, signal.SIGKILL)
            kills += ended(pid)
        ended(child(lambda name=name, folder=folder: finish(name, folder, home / "out")))
        if (home / "out").read_text() != expected[name]:
            wrong.append([trial, name, k, after])
    print(json.dumps({"kills": kills, "trials": len(ours), "steps": steps, "wrong": wrong}))


if __name__ == "__main__":
    main()
