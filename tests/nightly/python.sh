#!/usr/bin/env bash
# The Python package's tests, with 200 random systems in place of 20, by each CPython that is found; and its types, by the
# newest mypy and numpy, which change by themselves: so not with each change. usage: tests/nightly/python.sh [FOLDER], made anew.
cd "$(dirname "$0")/../.." || exit 1
folder=$(realpath -m -- "${1:-build-python-nightly}")
WISP_SYSTEMS=200 WISP_PYTHONS=all .ci/python "$folder" || exit
"$folder/bin/pip" install -q mypy && "$folder/bin/python" -m mypy --config-file python/pyproject.toml --cache-dir "$folder/mypy" -p wisp
