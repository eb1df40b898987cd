#!/usr/bin/env bash
# A thousand runs that are killed and go on, by one process and by three ranks: tests/test_checkpoint.sh at length.
# usage: tests/nightly/checkpoint_kills.sh [BUILD-FOLDER]
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(cd "${1:-build}" && pwd) scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
KILLS=${KILLS:-1000} bash tests/test_checkpoint.sh "$build/wisp" "$PWD" "$scratch/runs" kills
