# What the tests of the command share: sourced with the command, the source folder and a scratch folder as $1, $2, $3.
set -u
wisp=$1 source=$2 dir=${3:?a scratch folder, which is made anew}
rm -rf "$dir" && mkdir -p "$dir" && cd "$dir" || exit 1
all_tests=${XDG_CACHE_HOME:-$PWD/cache}
export OMP_NUM_THREADS=2 XDG_CACHE_HOME=$PWD/cache # what the user keeps of the machine does not count
unset WISP_ISA
checks=0 failed=0

fail() { echo "FAILED: $*"; failed=$((failed + 1)); }
command_not_found_handle() { # in a process of its own; `finish` looks for the file
    echo "FAILED: there is no $1" | tee -a "$dir/no-command"
    return 127
}
check() { # check WHAT COMMAND...: the command must succeed
    checks=$((checks + 1))
    "${@:2}" || fail "$1"
}
ok() { # ok ARGS...: exit 0, nothing on stderr; stdout is in out
    checks=$((checks + 1))
    "$wisp" "$@" >out 2>err
    local rc=$?
    [ $rc = 0 ] || fail "wisp $*: exit $rc: $(cat err)"
    [ -s err ] && [ $rc = 0 ] && fail "wisp $*: on stderr: $(cat err)"
    return $rc
}
# The shell itself looks at what stderr holds: a program for each question would be begun thousands of times.
one_line() { # one_line: stderr (err) is one line, in $line
    local lines
    mapfile lines <err
    line=${lines[0]-}
    [ ${#lines[@]} = 1 ] && [ "${line: -1}" = $'\n' ]
}
refused() { # refused STATUS FRAGMENT ARGS...: that exit status, one line on stderr with the fragment, nothing on stdout
    checks=$((checks + 1))
    "$wisp" "${@:3}" >out 2>err
    local rc=$? line
    [ $rc = "$1" ] || fail "wisp ${*:3}: exit $rc, not $1: $(cat err)"
    one_line || fail "wisp ${*:3}: not one line on stderr: $(cat err)"
    [[ $line == 'wisp: '* ]] || fail "wisp ${*:3}: no 'wisp: ' before: $(cat err)"
    [[ $line == *"$2"* ]] || fail "wisp ${*:3}: no '$2' in: $(cat err)"
    [ -s out ] && fail "wisp ${*:3}: on stdout: $(head -3 out)"
}
ends() { # ends STATUS ARGS...: with results, and what `told` looks at
    checks=$((checks + 1))
    "$wisp" "${@:2}" >out 2>err
    local rc=$?
    [ $rc = "$1" ] || fail "wisp ${*:2}: exit $rc, not $1: $(cat err)"
}
unsolved() { ends 3 "$@"; }
told() { # told FRAGMENT...: each is in the one line of the failure
    local fragment line
    checks=$((checks + $# + 1))
    one_line || fail "one line: $(cat err)"
    for fragment in "$@"; do
        [[ $line == *"$fragment"* ]] || fail "'$fragment' in: $(cat err)"
    done
}
# What `wisp machine` measures beside other work may be refused as what can't be true; then a made-up file takes its place.
measured() { # measured ARGS...: stdout is in out; a file is kept
    checks=$((checks + 1))
    "$wisp" machine "$@" >out 2>err
    local rc=$? line
    [ $rc = 0 ] && [ ! -s err ] && return
    [ $rc = 3 ] && one_line && grep -q "^wisp: .* but nothing is kept for later runs: .* can't be true: .*; measure again" err ||
        fail "wisp machine $*: exit $rc: $(cat err)"
    "$wisp" machine "$@" --json 2>/dev/null | made_up '[10, 20]' >made_up.json
    mv made_up.json "$XDG_CACHE_HOME/wisp/machine-$(uname -n).json"
}
made_up() { # made_up FMA [L1] [MEMORY] [DATE]: JSON of wisp machine with these figures; multiply-adds in single precision
    local date=${4-\"measured\": \"2020-02-03T04:05:06Z\",}
    local others='"copy": [2, 4], "copy_past": [2, 4], "triad": [2, 4], "triad_past": [2, 4], "update": [2, 4]'
    sed -e "s/^  \"fma_gflops\":.*/  \"fma_gflops\": {\"single\": $1, \"double\": [5, 10]},/" \
        -e "s/^  \"exchange_gbs\":.*/  \"exchange_gbs\": 15,/" -e "s/^  \"measured\":.*/  $date/" -e 's/^  "devices":.*/  "made_up": true/' \
        -e "s/^  \"bandwidth_gbs\":.*/  \"bandwidth_gbs\": {\"memory\": {\"load\": ${3:-[2, 4]}, $others}, \"L2\": {\"load\": [8, 16]}, \"L1\": {\"load\": ${2:-[16, 32]}}},/"
}
left_out=()
leave_out() { left_out+=("$1"); } # leave_out WHAT, WHY: the test ends as skipped, if nothing fails
# Kernels of GPUs that other tests have compiled serve this one, too: files by what they were made of.
share_kernels() {
    mkdir -p "$all_tests/wisp/kernels" "$XDG_CACHE_HOME/wisp"
    [ -e "$XDG_CACHE_HOME/wisp/kernels" ] || ln -s "$all_tests/wisp/kernels" "$XDG_CACHE_HOME/wisp/kernels"
}
version=$("$wisp" --version) || { echo "FAILED: wisp --version: exit $?"; exit 1; }

have_python=0 have_hdf5=0 have_gnuplot=0
# shellcheck source=tests/python.sh
. "$source/tests/python.sh"
if [ -n "$interpreter" ]; then have_python=1; else leave_out "JSON, for there is no python3"; fi
if grep '^features:' <<<"$version" | grep -qw hdf5; then have_hdf5=1; else leave_out "HDF5 files, for this build has no HDF5"; fi
if command -v gnuplot >/dev/null; then have_gnuplot=1; else leave_out "--plot, for there is no gnuplot"; fi
cat >check.py <<'PY'
import json, math, sys
def no_constant(name):
    raise ValueError(name + " is no JSON")
def load(name):
    return json.load(open(name), parse_constant=no_constant)
def close(a, b, tolerance):
    return len(a) == len(b) and all(abs(x - y) <= tolerance for x, y in zip(a, b))
d = load(sys.argv[1])
e = load(sys.argv[3]) if len(sys.argv) > 3 else None
if not eval("(" + sys.argv[2] + ")"):
    sys.exit("not so in %s: %s" % (sys.argv[1], sys.argv[2]))
PY
# One script after the other: an interpreter takes longer to begin than to answer.
cat >answers.py <<'PY'
import json, math, os, sys, traceback
answers, rest = os.fdopen(os.dup(1), "w"), b""
os.dup2(2, 1) # what scripts print is no answer
def word(): # each ends with a 0
    global rest
    while b"\0" not in rest:
        more = os.read(0, 65536)
        if not more:
            sys.exit()
        rest += more
    first, _, rest = rest.partition(b"\0")
    return os.fsdecode(first)
while True:
    sys.argv = [word() for _ in range(int(word()))]
    right = 1
    try:
        with open(sys.argv[0]) as f:
            exec(compile(f.read(), sys.argv[0], "exec"), {"__name__": "__main__"})
    except SystemExit as end:
        right = int(not end.code)
        if not right:
            print(end.code, file=sys.stderr, flush=True)
    except Exception:
        right = 0
        traceback.print_exc()
    sys.stdout.flush()
    print(right, file=answers, flush=True)
PY
if [ $have_python = 1 ] && [ -z "${SANITIZED:-}" ]; then
    coproc answerer { exec "$interpreter" -IS answers.py; }
    exec {questions}>&"${answerer[1]}" {answers}<&"${answerer[0]}" # which subshells have, too
fi
holds() { # holds SCRIPT.py ARGS...: it ends without a fault; what it prints goes to stderr
    if [ -z "${questions:-}" ]; then
        python3 "$@" >&2
        return
    fi
    local right
    printf '%s\0' $# "$@" >&"$questions"
    read -r right <&"$answers" && [ "$right" = 1 ]
}
json() { # json FILE EXPRESSION [OTHER]: the expression holds for the object d (and the other, e)
    # A sanitizer has nothing to say of results, which other builds show.
    [ $have_python = 1 ] && [ -z "${SANITIZED:-}" ] || return 0
    checks=$((checks + 1))
    holds check.py "$@" || fail "json $1"
}

stop() { # stop TASK SIGNAL PART ARGS...: a run that gets the signal when so much of the task is done, and ends by it
    # A caller may ignore signals (nohup); the command would go on ignoring them.
    WISP_STOP_AT=$2:$1:$3 env --default-signal=INT,TERM,HUP "$wisp" "${@:4}" --log json >out 2>log
    local rc=$?
    [ $rc = 1 ] || fail "wisp ${*:4}, stopped by $2: exit $rc: $(tail -1 log)"
    return 0
}
finish() {
    [ ! -e "$dir/no-command" ] || failed=$((failed + 1))
    echo "$checks checks, $failed failed"
    [ $failed = 0 ] || exit 1
    [ ${#left_out[@]} = 0 ] && exit 0
    printf 'left out: %s\n' "${left_out[@]}"
    exit 77 # to ctest: skipped
}
