#!/usr/bin/env bash
# The Python package's tests, with 200 random systems in place of 20, by each CPython that is found. usage: tests/nightly/python.sh [FOLDER], made anew.
cd "$(dirname "$0")/../.." || exit 1
WISP_SYSTEMS=200 WISP_PYTHONS=all exec .ci/python "${1:-build-python-nightly}"
