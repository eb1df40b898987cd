#!/usr/bin/env bash
# The docs site, with all tutorials executed, in a fresh environment. usage: tests/nightly/site.sh [FOLDER], made anew. 77: its
# tools can't be had from PyPI.
cd "$(dirname "$0")/../.." || exit 1
folder=$(realpath -m -- "${1:-build-site}")
rm -rf "$folder"
if ! { python3 -m venv "$folder/environment" && "$folder/environment/bin/pip" install -q --disable-pip-version-check \
    -r docs/site/requirements.txt; }; then
    echo "-- LEFT OUT: the docs site; its tools can't be had from PyPI"
    exit 77
fi
"$folder/environment/bin/pip" install -q --disable-pip-version-check ./python || exit 1
WISP_PYTHON=$folder/environment/bin/python exec docs/site/build "$folder"
