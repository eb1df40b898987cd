#!/usr/bin/env bash
# The tests that start threads of their own, under valgrind's scheduler: one thread runs at a time, and all in turn
# (--fair-sched=yes), so that what waits by spinning, or counts on running beside another, shows. By hand:
# tests/nightly/fair_sched.sh BUILD [TEST..], BUILD of a kernel set that valgrind knows (-DWISP_ISAS=generic). 77: there is no
# valgrind. Not: what maps memory to a second address (the device far), which valgrind does not do; what is to run into a
# protected page (lapack).
set -euo pipefail
build=$(realpath "${1:?usage: tests/nightly/fair_sched.sh BUILD [TEST..]}")
command -v valgrind >/dev/null || { echo "fair_sched.sh: there is no valgrind"; exit 77; }
cd "$(dirname "$0")/.."
names=("${@:2}")
[ ${#names[@]} -gt 0 ] || mapfile -t names < <(
    grep -lE 'pthread_create|wisp_task_start|ref_ranks_each|ref_run_rank_tests|wisp_ranks_run' test_*.c |
        grep -vE '^test_(far|lapack|ranks_devices|solve_looks)' | sed 's/\.c$//')
ninja -C "$build" "${names[@]}" >/dev/null
python3 - "$build" "${names[@]}" <<'PY'
import json, os, subprocess, sys, time

build, names = sys.argv[1], sys.argv[2:]
known = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, check=True).stdout
bad = []
for test in json.loads(known)["tests"]:
    if test["name"] not in names:
        continue
    properties = {p["name"]: p["value"] for p in test["properties"]}
    environment = {**os.environ, **dict(e.split("=", 1) for e in properties["ENVIRONMENT"])}
    start = time.time()
    ended = subprocess.run(["valgrind", "--tool=none", "-q", "--fair-sched=yes", *test["command"]], env=environment,
                           cwd=properties["WORKING_DIRECTORY"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    passed = ended.returncode in (0, 77)
    print(f"-- {'passed' if passed else 'FAILED'}: {test['name']}, {time.time() - start:.0f} s", flush=True)
    if not passed:
        print(ended.stdout[-4000:])
        bad.append(test["name"])
sys.exit(bool(bad))
PY
