# Two hosts, for tests that source this: network namespaces of this machine, joined by a pair of virtual devices, each
# with a hostname of its own. Between them Open MPI has TCP alone, and the devices count the bytes. The scratch folder is
# the working folder, and skip() says why not.
# shellcheck shell=bash
a=wisp-a-$$ b=wisp-b-$$
# remove_hosts [NAMES]: these, or those of this test.
remove_hosts() {
    local name
    # shellcheck disable=SC2086 # words
    for name in ${1:-$a $b}; do
        ip netns pids "$name" 2>/dev/null | xargs -r kill -9 2>/dev/null || true
        ip netns del "$name" 2>/dev/null || true # its device and the other end go with it
    done
}
make_hosts() {
    local program host name address
    for program in mpirun ip unshare; do command -v $program >/dev/null || skip "there is no $program"; done
    mpirun --version | grep -q 'Open MPI' || skip "mpirun is not Open MPI's"
    [ "$(id -u)" = 0 ] || skip "only root can make network namespaces"
    # Those of a test that CTest has ended are still there.
    for name in $(ip netns list 2>/dev/null | grep -oE '^wisp-[ab]-[0-9]+'); do
        [ -e "/proc/${name##*-}" ] || remove_hosts "$name"
    done
    ip netns add $a 2>err || skip "ip can't make a network namespace here: $(cat err)"
    ip netns add $b
    ip link add veth netns $a type veth peer name veth netns $b 2>err ||
        skip "ip can't make virtual devices here: $(cat err)"
    for host in "$a 10.77.0.1" "$b 10.77.0.2"; do
        read -r name address <<<"$host"
        ip -n "$name" address add "$address/24" dev veth
        ip -n "$name" link set veth up
        ip -n "$name" link set lo up
    done
    # on NAME COMMAND...: there, with its hostname.
    cat >on <<'ON'
#!/bin/sh
name=$1
shift
exec ip netns exec "$name" unshare --uts sh -c 'hostname "$0" && exec "$@"' "$name" "$@"
ON
    # What mpirun calls in place of ssh, with an address and the words of a shell command.
    cat >remote <<REMOTE
#!/bin/sh
shift
exec "$PWD/on" $b sh -c "\$*"
REMOTE
    # both N COMMAND...: by N processes on each host. Their network is that of all that mpirun sets up, too; each host
    # believes that all cores are its own.
    cat >both <<BOTH
#!/bin/sh
n=\$1
shift
exec "$PWD/on" $a mpirun -n \$((2 * n)) --host 10.77.0.1:\$n,10.77.0.2:\$n --bind-to none \\
    --mca plm_rsh_agent "$PWD/remote" --mca oob_tcp_if_include veth --mca btl_tcp_if_include veth \\
    --mca pml ob1 --mca btl tcp,self "\$@"
BOTH
    chmod +x on remote both
}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
