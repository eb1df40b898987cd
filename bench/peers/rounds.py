#!/usr/bin/env python3
"""Alternates wisp and its peers, each in a process of its own, and prints the table. Started by bench/peers/run."""
import argparse
import json
import os
import select
import statistics
import struct
import subprocess
import sys
import time

# For width 1 and the blocks; the 7-point grid is too large for wide blocks, so there is a smaller one.
MATRICES = [
    "laplace:points=27,nx=128,ny=128,nz=256",
    "band:n=4194304,bandwidth=27",
    "laplace:points=7,nx=256,ny=256,nz=256",
    "laplace:points=7,nx=160,ny=160,nz=160",
    "topi:nx=100,ny=100,nz=40",
    "topi:nx=100,ny=100,nz=40,disorder=1",
    "anderson:nx=160,ny=160,nz=160,disorder=1",
]
PEERS = ["petsc", "petsc-sell", "eigen", "mkl"]
VARIANTS = ["wisp-sell", "wisp-natural"]  # wisp itself: uncompressed in the order it chooses; in natural order
PATIENCE = 300  # seconds for an answer


class Missing(Exception):
    """A peer or a size that cannot be had; the rest goes on."""


class Matrix:
    def __init__(self, spec, options):
        self.spec = spec
        if os.path.exists(spec):
            self.path = spec
        else:
            name = "".join(c if c.isalnum() else "-" for c in spec)
            self.path = os.path.join(options.build, name + ".crs")
            if not os.path.exists(self.path):
                wisp = os.path.join(options.build, "wisp-build", "wisp")
                subprocess.run([wisp, "gen", spec, "-o", self.path, "--quiet"], check=True)
        with open(self.path, "rb") as f:
            head = struct.unpack("<5i3q", f.read(44))
        self.complex = head[4] == 10
        self.rows, self.cols, self.nnz = head[5:]
        self.element = 16 if self.complex else 8

    def min_bytes(self, width):
        """The matrix once as plain CRS without row pointers, x once, y once; no write-allocate."""
        return self.nnz * (self.element + 4) + (self.rows + self.cols) * width * self.element

    def needs(self, width):
        """Bytes that the greediest program takes, about: the matrix twice, x, y."""
        return 2 * self.nnz * (self.element + 4) + (self.rows + self.cols) * width * self.element


class Program:
    def __init__(self, peer, matrix, width, options):
        name = peer.split("-")[0]
        if name == "petsc":
            name += "-complex" if matrix.complex else "-real"
        self.start(peer, name, [matrix.path, str(width), peer], options.threads, options, peer.startswith("petsc"))

    def start(self, peer, name, arguments, threads, options, processes):
        """By so many threads, or processes of MPI."""
        path = os.path.join(options.build, name)
        if not os.path.exists(path):
            raise Missing("not built")
        command = [path] + arguments
        env = dict(os.environ, OMP_NUM_THREADS=str(threads))
        if processes:
            env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1")
            command = ["mpiexec", "-n", str(threads), "--bind-to", "core"] + command
        if peer.startswith("wisp"):  # which places its threads itself; those of the load test shall not stay awake beside them
            env.update(OMP_WAIT_POLICY="passive")
        else:
            env.update(OMP_PROC_BIND="true", OMP_PLACES="cores", KMP_BLOCKTIME="5")
        if not options.small_pages:
            env["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"
        self.peer = peer
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def answer(self):
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            raise Missing(f"no answer within {PATIENCE} s")
        line = self.process.stdout.readline()
        if not line:
            raise Missing("it failed, see above")
        return json.loads(line)

    def measure(self):
        time.sleep(0.02)  # until the other's idle threads have given up spinning
        try:
            self.process.stdin.write("go\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Missing("it failed, see above") from None
        return self.answer()

    def close(self):
        try:
            self.process.stdin.close()
            self.process.wait(30)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()


def alternate(pair, matrix, width, rounds, write):
    """Rounds of one measurement each, the other first in every second round; one JSON line per measurement."""
    for k in range(rounds):
        for program in pair if k % 2 == 0 else pair[::-1]:
            m = program.measure()
            m["load_gbs"] = (m["load_before"] + m["load_after"]) / 2
            m["fraction"] = matrix.min_bytes(width) / m["ms"] / m["load_gbs"] * 1e-6
            write({"matrix": matrix.spec, "width": width, "against": pair[1].peer, "round": k,
                   "peer": program.peer, **program.about, **m})


def compare(matrix, width, options, write, missing):
    def missed(peer, why):
        missing.append(f"{matrix.spec} width {width}{' ' if peer else ''}{peer}: {why}")
        print("peers: " + missing[-1], file=sys.stderr)

    if matrix.needs(width) > options.memory * 1e9:
        return missed("", f"takes {matrix.needs(width) / 1e9:.1f} GB, more than --memory {options.memory:g}")
    wisp = Program("wisp", matrix, width, options)
    try:
        wisp.about = wisp.answer()
    except Missing as why:
        wisp.close()
        return missed("wisp", why)
    for peer in options.peers:
        if peer == "petsc-sell" and width > 1:
            continue  # PETSc 3.18 has no MatMatMult for it
        other = None
        try:
            other = Program(peer, matrix, width, options)
            other.about = other.answer()
            a, b = wisp.about["square"], other.about["square"]
            if abs(a - b) > 1e-9 * abs(a):
                raise Missing(f"another result: ||y||^2 is {b}, wisp has {a}")
            alternate((wisp, other), matrix, width, options.rounds, write)
        except Missing as why:
            missed(peer, why)
        finally:
            if other:
                other.close()
    wisp.close()


def quartiles(values):
    return statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3


def table(lines):
    """One row per matrix, width and peer; the ratio is of neighbours in time, over 1 where wisp is ahead."""
    groups = {}
    for line in lines:
        groups.setdefault((line["matrix"], line["width"], line["against"]), []).append(line)
    size = max(len(key[0]) for key in groups)
    print(f"{'matrix':{size}} width {'peer':12}   peer ms  fraction   wisp ms  fraction   "
          f"peer/wisp ms (quartiles)  by fraction  wisp is")
    behind = 0
    for (matrix, width, peer), rows in groups.items():
        mine = [r for r in rows if r["peer"] == "wisp"]
        other = [r for r in rows if r["peer"] != "wisp"]
        ratio = quartiles([b["ms"] / a["ms"] for a, b in zip(mine, other)])
        paired = statistics.median([a["fraction"] / b["fraction"] for a, b in zip(mine, other)])

        def median(which, what):
            return statistics.median([r[what] for r in which])

        behind += ratio[1] < 1 and peer in PEERS
        print(f"{matrix:{size}} {width:5} {peer:12} {median(other, 'ms'):9.4g} {median(other, 'fraction'):9.3f} "
              f"{median(mine, 'ms'):9.4g} {median(mine, 'fraction'):9.3f}   {ratio[1]:6.3f} "
              f"({ratio[0]:.3f} .. {ratio[2]:.3f}) {paired:11.3f}  "
              f"{'behind, ' if ratio[1] < 1 else ''}{mine[0]['version'].partition('; ')[2]}")
    print(f"\n{len(groups)} rows, wisp behind in {behind}. ms: medians. fraction: minimum bytes (plain CRS once, x once, "
          "y once) / time /\nload bandwidth just before and after. What ran:")
    for peer, version in sorted({(r["peer"], r["version"].partition("; ")[0]) for r in lines}):
        print(f"  {peer}: {version}")


def output_options(p, output, kept):
    p.add_argument("-o", "--output", metavar="FILE", default=output,
                   help="JSON, one line per measurement, appended")
    p.add_argument("--keep", action="store_true", help=f"keep {kept}")
    p.add_argument("--no-build", action="store_true", help="take what is installed and built as it stands")
    p.add_argument("--table", metavar="FILE", nargs="+", help="only print the table of earlier outputs")
    p.add_argument("--build", help=argparse.SUPPRESS)


def options_of(arguments):
    p = argparse.ArgumentParser(prog="bench/peers/run", formatter_class=argparse.ArgumentDefaultsHelpFormatter,
                                description="Installs, builds and runs the sparse products of PETSc, Eigen and MKL "
                                "beside wisp's and prints the ratios.")
    p.add_argument("--matrix", action="append", metavar="SPEC", help="gallery spec or .crs file; may be repeated "
                   f"(default: {' '.join(MATRICES)})", default=argparse.SUPPRESS)
    p.add_argument("--widths", default="1,4,8,16,32", help="columns of the blocks; 1 is SpMV")
    p.add_argument("--peers", default=",".join(PEERS), help="also wisp-sell, wisp-natural: wisp itself, "
                   "uncompressed in the order that it chooses, or in natural order")
    p.add_argument("--rounds", type=int, default=9, help="measurements of each, alternating")
    p.add_argument("--threads", type=int, default=2, help="threads, or processes for PETSc")
    p.add_argument("--memory", type=float, default=6, help="GB that one program may take; larger sizes are left out "
                   "(two are there at a time)")
    p.add_argument("--small-pages", action="store_true", help="do not give the peers 2 MiB pages")
    output_options(p, "peers.json", "the matrix files")
    o = p.parse_args(arguments)
    o.widths = [int(w) for w in o.widths.split(",")]
    o.peers = [x for x in o.peers.split(",") if x]
    unknown = set(o.peers) - set(PEERS + VARIANTS)
    if unknown or o.rounds < 1 or o.threads < 1 or min(o.widths) < 1 or max(o.widths) > 128:
        p.error(f"unknown peer {', '.join(unknown)}" if unknown else "rounds, threads, widths (to 128) count from 1")
    o.matrix = getattr(o, "matrix", MATRICES)
    return o


def measure_and_print(o, measure, print_table):
    """Calls measure(write, missing), which writes its lines and says what is missing, and prints the table; or prints
    that of earlier outputs."""
    lines, missing = [], []
    if o.table:
        for path in o.table:
            with open(path, encoding="utf-8") as f:
                lines += [json.loads(line) for line in f]
        return print_table(lines)
    with open(o.output, "a", encoding="utf-8") as f:
        def write(line):
            lines.append(line)
            f.write(json.dumps(line) + "\n")
            f.flush()

        measure(write, missing)
    if lines:
        print_table(lines)
    if missing:
        print("\nNot measured:\n  " + "\n  ".join(missing))
    return 0 if lines else 1


def main():
    o = options_of(sys.argv[1:])

    def measure(write, missing):
        for spec in o.matrix:
            matrix = Matrix(spec, o)
            for width in o.widths:
                compare(matrix, width, o, write, missing)
            if matrix.path != spec and not o.keep:
                os.remove(matrix.path)

    return measure_and_print(o, measure, table)


if __name__ == "__main__":
    sys.exit(main())
