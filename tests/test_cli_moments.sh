# wisp dos --from a damaged file: one line and exit 1, or the same results.
. "$(dirname "$0")/cli.sh"
[ $have_hdf5 = 1 ] || finish

ok dos anderson:nx=6,ny=5,nz=4,disorder=1 --moments 32 --vectors 3 --save good.h5 --quiet
ok dos --from good.h5 -o good.csv --quiet
size=$(wc -c <good.h5)
# All that depends on the numbers; comments name the run.
table() { grep -v '^#' "$1"; }

# flip AT BIT: good.h5 with that bit of that byte turned over, as bad.h5
flip() {
    cp good.h5 bad.h5
    local byte
    byte=$(od -An -tu1 -j "$1" -N 1 good.h5)
    printf "\\x$(printf %02x $((byte ^ 1 << $2)))" | dd of=bad.h5 bs=1 seek="$1" conv=notrunc 2>dd.err || fail "$(cat dd.err)"
}
# from WHAT: bad.h5 is refused in one line of wisp's own, or gives the same
from() {
    checks=$((checks + 1))
    "$wisp" dos --from bad.h5 -o bad.csv --quiet >out 2>err
    local rc=$?
    if [ $rc = 0 ]; then
        [ -s err ] && fail "$1: exit 0 and on stderr: $(cat err)"
        [ "$(table good.csv)" = "$(table bad.csv)" ] || fail "$1: another density with exit 0"
    else
        refusals=$((refusals + 1))
        [ $rc = 1 ] || fail "$1: exit $rc: $(cat err)"
        [ "$(wc -l <err)" = 1 ] || fail "$1: not one line: $(cat err)"
        grep -q '^wisp: bad.h5: ' err || fail "$1: $(cat err)"
    fi
}

refusals=0
RANDOM=7
for i in $(seq 48); do
    at=$(((RANDOM * 32768 + RANDOM) % size)) bit=$((RANDOM % 8))
    flip $at $bit
    from "bit $bit of byte $at"
done
[ $refusals -gt 3 ] || fail "only $refusals of the flipped bits were noticed"
for i in $(seq 12); do
    head -c $((RANDOM % size)) good.h5 >bad.h5
    from "cut to $(wc -c <bad.h5) bytes"
done
# What was made with an operator on the left is no density of states: wisp dos --operator.
ok dos --from "$source/tests/data/moments_two_sides.h5" --quiet
for command in ldos "count --interval -1,1"; do
    # shellcheck disable=SC2086
    refused 1 "holds moments with an operator" $command --from "$source/tests/data/moments_two_sides.h5" --quiet
done
finish
