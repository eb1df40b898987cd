#!/usr/bin/env bash
# Processes that are killed, stopped or cut off, on one host and on two: all of tests/test_watchdog.sh. Takes minutes of a
# machine without other work, and root.
# usage: tests/nightly/watchdog.sh [BUILD-FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(cd "${1:-build}" && pwd) scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
WISP_NO_SKIP=1 bash tests/test_watchdog.sh "$build/wisp" "$PWD" "$scratch/hosts" all
