#!/usr/bin/env bash
# Build sdist and wheel (the wheel from the sdist), then use the wheel alone: a new environment, another folder, no src/.
# Usage: scripts/dist.sh PYTHON   (an interpreter that has the package `build`)
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
python=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
rm -rf dist
"$python" -m build -q --outdir dist
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"$python" -m venv "$place/bare"
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
for missing in report watch; do # an extra that is not installed is named in one line, which says how to get it
    if bare evenkeel "$missing" run 2>error.txt; then exit 1; fi
    grep -q 'evenkeel\[report\]' error.txt && test "$(wc -l <error.txt)" -le 3
done
wheel=$(ls "$root"/dist/*.whl)
for extra in peers ray report track tune; do # each can be installed beside what is there
    bare python -m pip install -q --dry-run -c "$root/constraints.txt" "$wheel[$extra]"
    echo "extra $extra: can be installed"
done
bare python -m pip install -q -c "$root/constraints.txt" "$wheel[report]"
bare evenkeel report run --out page.html
test -s page.html
"$python" -m venv "$place/apart" # Flower's pins exclude some of ours
"$place/apart/bin/python" -m pip install -q --dry-run -c "$root/constraints-federate.txt" "$wheel[federate]"
echo "extra federate: can be installed"
ls -l "$root"/dist
