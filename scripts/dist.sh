#!/usr/bin/env bash
# Build sdist and wheel (the wheel from the sdist), then use the wheel alone: a new environment, another folder, no src/.
# Usage: scripts/dist.sh PYTHON   (an interpreter that has the package `build`)
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
rm -rf dist
"$1" -m build -q --outdir dist
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$1" -m venv "$place/bare"
export PIP_DISABLE_PIP_VERSION_CHECK=1
"$place/bare/bin/python" -m pip install -q -c constraints.txt torch==2.13.0
"$place/bare/bin/python" -m pip install -q -c constraints.txt dist/*.whl
cd "$place"
bare() { env -u PYTHONPATH "$place/bare/bin/$1" "${@:2}"; }
bare python - "$root" <<'PY'
import sys
import evenkeel, evenkeel.indices, evenkeel.sets
where = evenkeel.__file__
assert not where.startswith(sys.argv[1]), f"{where} is the source tree, not the wheel"
assert "torch" not in sys.modules, "sets and indices load torch"
PY
bare evenkeel --version
bare evenkeel audit --example --json >audit.json
bare evenkeel run --preset penguins --set rounds=3 --out run
bare evenkeel run --preset digits --set rounds=2 --out digits
bare python -c "import evenkeel; print('trained from the wheel:', evenkeel.Run.open('digits').audit(draws=0).n, 'clients')"
for missing in report watch; do # an extra that is not installed is named in one line
    if bare evenkeel "$missing" run 2>error.txt; then echo "evenkeel $missing works without its extra?" >&2; fi
    test "$(wc -l <error.txt)" -le 3
done
ls -l "$root"/dist
