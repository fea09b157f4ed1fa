#!/usr/bin/env bash
# The environment of the federation, apart from ours: flwr's pins conflict with those of .venv.
# Usage: scripts/federate_env.sh [FOLDER]   (default .venv-federate; nothing is done where it is up to date)
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-.venv-federate}
stamp=$folder/.installed
export PIP_DISABLE_PIP_VERSION_CHECK=1
if [ -e "$stamp" ] && [ "$stamp" -nt pyproject.toml ] && [ "$stamp" -nt constraints-federate.txt ]; then exit 0; fi
test -x "$folder/bin/python" || "${PYTHON:-python3}" -m venv "$folder"
pip() { "$folder/bin/python" -m pip install -q -c constraints-federate.txt "$@"; }
pip torch==2.13.0 # first and pinned: a plain `pip install torch` would draw gigabytes of CUDA packages
pip -e '.[federate]' pytest pytest-benchmark pytest-xdist
touch "$stamp"
