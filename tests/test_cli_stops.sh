#!/bin/bash
# What stays when the command is stopped late, by a hangup, or by a limit of file sizes; and outputs through links.
. "$2/tests/cli.sh"
topi=topi:nx=4,ny=4,nz=3
long=topi:nx=10,ny=10,nz=10
command=$wisp
# A caller may ignore signals (nohup); the command would go on ignoring them.
usual=$dir/usual.sh
printf '#!/bin/sh\nexec env --default-signal=INT,TERM,HUP,XFSZ "%s" "$@"\n' "$command" >usual.sh
chmod +x usual.sh
wisp=$usual

# stopped SIGNAL STATUS WORDS: how a run has ended that got the signal when all but its last step was done.
stopped() {
    checks=$((checks + 1))
    [ "$2" = 1 ] || fail "wisp $3, stopped by $1: exit $2: $(cat err)"
    [ "$(wc -l <err)" = 1 ] || fail "wisp $3, stopped by $1: not one line: $(cat err)"
}
told() { check "'$1' in: $(cat err)" grep -qF -- "$1" err; }
whole() { check "no temporary file is left: $(echo ./*.tmp*)" test -z "$(find . -name '*.tmp*')"; }

# ---- a hangup is a signal to end, like the others; and one that comes twice is one
if [ $have_hdf5 = 1 ]; then
    for signals in HUP HUP,TERM; do
        checks=$((checks + 1))
        stop moments $signals 1e-9 dos $long --moments 1000000 --vectors 4 --width 4 --save hup.h5
        tail -1 log | grep -q 'stopped by the end of its terminal; 4 of 4 vectors .* are kept' || fail "$(tail -1 log)"
        ok dos --from hup.h5 --quiet
    done
fi

# ---- a limit of file sizes is a full disk, whatever its signal does
limited() { # limited FILE ARGS...
    checks=$((checks + 1))
    echo old >"$1"
    (ulimit -f 2 && "$wisp" "${@:2}" >/dev/null 2>err) && fail "wisp ${*:2} passes beyond the limit"
    [ "$(wc -l <err)" = 1 ] && grep -q "^wisp: .*$1.*File too large" err || fail "wisp ${*:2} beyond the limit: $(cat err)"
    echo old | cmp -s - "$1" || fail "wisp ${*:2} beyond the limit: $1 is lost"
    whole
}
limited limit.csv dos $topi --moments 16 --vectors 2 --quiet -o limit.csv
limited limit.json dos $topi --moments 16 --vectors 2 --quiet -o limit.json
limited limit.mtx gen $long -o limit.mtx
limited limit.crs convert $long limit.crs
if [ $have_hdf5 = 1 ]; then
    limited limitr.h5 dos $topi --moments 16 --vectors 2 --quiet -o limitr.h5
    limited limitm.h5 dos $topi --moments 512 --vectors 8 --quiet --save limitm.h5
fi
(
    trap '' XFSZ # as a caller may
    wisp=$command failed=0
    limited ignored.mtx gen $long -o ignored.mtx
    exit $failed
) || fail "with XFSZ ignored"

# ---- stopped while gnuplot draws, and when all but the printing is done
# This one sends the signal itself, and then waits for what never comes.
mkdir -p bin
mkfifo never
printf '#!/bin/sh\necho $$ >drawing\nkill -s "$SIGNAL" $PPID\nexec cat never\n' >bin/gnuplot
chmod +x bin/gnuplot
drawing() { # drawing SIGNAL ARGS...
    rm -f drawing
    PATH="$dir/bin:$PATH" SIGNAL=$1 "$wisp" "${@:2}" >out 2>err
    stopped "$1" $? "${*:2}"
}
save= kept=drawn.csv
[ $have_hdf5 = 1 ] && save="--save drawn.h5" kept="drawn.h5, drawn.csv"
for signal in INT TERM HUP; do
    rm -f drawn.* && echo old >drawn.svg
    drawing $signal dos $topi --moments 16 --vectors 2 --quiet $save -o drawn.csv --plot drawn.svg
    told "; complete and kept: $kept"
    check "an old plot survives $signal" grep -qx old drawn.svg
    check "the results survive $signal" grep -q '^energy,' drawn.csv
    check "gnuplot is ended by $signal" test ! -e "/proc/$(cat drawing)"
    whole
done
[ $have_hdf5 = 1 ] && ok dos --from drawn.h5 --quiet
drawing TERM evolve $topi --time 1 --site 0 --quiet -o drawn.json --plot drawn.svg
told "stopped by a signal to end; complete and kept: drawn.json"
drawing TERM dos $topi --moments 16 --vectors 2 --plot drawn.svg
told "stopped by a signal to end; nothing was kept"

# What is printed goes to a pipe, of which one byte is read: then the rest is being written, and does not fit.
mkfifo pipe
exec 8<>pipe
"$wisp" dos $topi --moments 4096 --vectors 2 --json -o printed.csv >pipe 2>err 8>&- &
head -c 1 <&8 >/dev/null
kill -s INT $!
wait $!
stopped INT $? "dos, which prints"
told "stopped by Ctrl-C; complete and kept: printed.csv"
exec 8>&-

# It comes just before a write that would wait, into a pipe that is full and nobody reads.
exec 8<>pipe
dd if=/dev/zero of=pipe bs=4096 oflag=nonblock 2>/dev/null
check "the pipe is full" test $? = 1
WISP_STOP_AT=INT:printing:0 "$wisp" dos $topi --moments 16 --vectors 2 --json -o printed.csv >pipe 2>err
stopped INT $? "dos, which is to print"
told "stopped by Ctrl-C; complete and kept: printed.csv"
exec 8>&-

# ---- a pipe whose writer has ended before it is opened by its number
mkfifo early
"$wisp" gen topi:nx=2,ny=2,nz=2 -o early.mtx --quiet || fail "gen"
cat early.mtx >early &
exec 7<early
wait $!
ok info /dev/fd/7 --quiet
exec 7<&-

# ---- a pipe whose other end nobody has opened yet
mkfifo told open.mtx open.csv open.json open.h5
waits() { # waits WORDS ARGS...: it says so, and then ends by a signal
    checks=$((checks + 1))
    "$wisp" "${@:2}" --log text >out 2>told &
    local line='' last='' words=0 ends=0
    exec 7<told
    while read -r line <&7; do
        last=$line
        if [[ $line = *"$1"* ]]; then words=$((words + 1)) && kill -s TERM $!; fi
        if [[ $line = "wisp: stopped by"* ]]; then ends=$((ends + 1)); fi
    done
    exec 7<&-
    wait $!
    local rc=$?
    [ "$rc $words $ends" = "1 1 1" ] ||
        fail "wisp ${*:2}, waiting: exit $rc, '$1' said $words times, its end $ends times, last: $last"
    [[ $last = "wisp: stopped by a signal to end; "* ]] || fail "wisp ${*:2}, waiting: $last"
    whole
}
waits "open.mtx: waiting for its first bytes" info open.mtx
waits "open.mtx: waiting for its first bytes" power $topi -p 1 --start open.mtx
for run in "dos $topi --moments 16 --vectors 2 -o open.csv" "dos $topi --moments 16 --vectors 2 -o open.json" "gen $topi -o open.mtx"; do
    # shellcheck disable=SC2086 # words
    waits "${run##* }: waiting for a process that reads this pipe" $run
done
# One that comes then gets all of it.
for run in "dos $topi --moments 16 --vectors 2 -o open.csv" "gen $topi -o open.mtx"; do
    # shellcheck disable=SC2086 # words
    "$wisp" $run --log text >out 2>told &
    writer=$! reader=
    exec 7<told
    while read -r line <&7; do
        if [[ $line = *"waiting for a process that reads this pipe" ]]; then cat "${run##* }" >got & reader=$!; fi
    done
    exec 7<&-
    wait $writer
    check "wisp $run, whose reader comes late" test $? = 0
    wait $reader
    # shellcheck disable=SC2086 # words
    ok ${run% *} "file.${run##*.}" --quiet
    check "all of wisp $run" cmp -s <(grep -v '^[#%]' got) <(grep -v '^[#%]' "file.${run##*.}")
done
if [ $have_hdf5 = 1 ]; then
    waits "open.h5: waiting for a process that reads this pipe" dos $topi --moments 16 --vectors 2 --save open.h5
    refused 1 "moments can't be read from a pipe" dos --from open.h5
    refused 1 "an HDF5 file can't be read from a pipe" power $topi -p 1 --start open.h5
fi

# ---- links: what they name is written, also when it is not there yet
linked() { # linked NAME ARGS...: NAME is the end of ARGS' output, link.NAME
    rm -rf far && mkdir far
    ln -sfn "far/here.$1" "middle.$1"
    ln -sfn "$dir/middle.$1" "link.$1"
    for turn in new old; do
        ok "${@:2}"
        check "link.$1 stays a link ($turn)" test -L "link.$1"
        check "middle.$1 stays a link ($turn)" test -L "middle.$1"
        check "what link.$1 names is written ($turn)" test -f "far/here.$1" -a -s "far/here.$1" -a ! -L "far/here.$1"
        check "nothing else is left beside it" test "$(ls far)" = "here.$1"
        whole
    done
    rm -rf far
    refused 1 "cannot write link.$1: it is a link to $dir/far/here.$1, whose folder is not there" "${@:2}"
    check "link.$1 survives a refusal" test -L "link.$1"
}
quick="$topi --moments 16 --vectors 2 --quiet"
linked csv dos $quick -o link.csv
linked json dos $quick -o link.json
[ $have_gnuplot = 1 ] && linked svg dos $quick --plot link.svg
[ $have_hdf5 = 1 ] && linked h5 dos $quick --save link.h5
linked mtx gen $topi --quiet -o link.mtx
linked crs convert $topi link.crs --quiet
linked mtx.gz power $topi -p 2 --quiet -o link.mtx.gz
ln -sfn turn.csv round.csv && ln -sfn round.csv turn.csv
refused 1 "cannot write round.csv: Too many levels" dos $quick -o round.csv
if [ $have_hdf5 = 1 ]; then
    ln -sfn same.h5 alias.h5
    refused 2 "same file" dos $quick --save alias.h5 -o same.h5
fi

finish
