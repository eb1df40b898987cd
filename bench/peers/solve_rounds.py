#!/usr/bin/env python3
"""Alternates solvers of wisp, ViennaCL and PETSc, each in a process of its own, and prints the table. Started by
bench/peers/solve."""
import argparse
import os
import random
import statistics
import sys

from rounds import Matrix, Missing, Program, measure_and_print, output_options, quartiles

DELAUNAY = [f"delaunay:nx={n},ny={n}" for n in (15, 31, 63, 127, 255, 511)]
ELASTICITY = [f"elasticity:nx={x},ny={y},nz={z}" for x, y, z in ((7, 11, 3), (12, 12, 12), (24, 24, 24), (49, 75, 29))]
GRID = ["laplace:points=7,nx=160,ny=160,nz=160"]
# ViennaCL: so many iterations, with one thread and with two; PETSc: to a tolerance, with two processes.
PEERS = {
    "viennacl": {"matrices": DELAUNAY + ELASTICITY, "methods": ["cg", "bicgstab", "gmres"], "threads": [1, 2],
                 "iterations": 30, "tolerance": 1e-150},
    "petsc": {"matrices": GRID, "methods": ["cg", "pipecg", "bcgs", "gmres"], "threads": [2], "iterations": 100000,
              "tolerance": 1e-8},
}


class Solver(Program):
    def __init__(self, peer, matrix, method, threads, what, options):
        self.threads = threads
        self.start(peer, f"solve-{peer}", [matrix.path, method, str(what["iterations"]), repr(what["tolerance"])],
                   threads, options)


def rounds_of(programs, key, rounds, write):
    """One measurement of each in a round, in an order drawn by chance; one JSON line per measurement."""
    for k in range(rounds):
        for program in random.sample(programs, len(programs)):
            write({**key, "round": k, "peer": program.peer, "threads": program.threads, **program.about,
                   **program.measure()})


def compare(matrix, method, peer, what, options, write, missing):
    programs = []
    try:
        for threads in what["threads"]:
            for name in ("wisp", peer):
                programs.append(Solver(name, matrix, method, threads, what, options))
                programs[-1].about = programs[-1].answer()
        squares = [p.about["square"] for p in programs]
        if max(squares) > (1 + options.agree) * min(squares):
            raise Missing(f"they differ: ||x||^2 is {squares}")
        key = {"matrix": matrix.spec, "rows": matrix.rows, "method": method, "against": peer,
               "fixed": what["tolerance"] < 1e-100}
        rounds_of(programs, key, options.rounds, write)
    except Missing as why:
        missing.append(f"{matrix.spec} {method} {peer}: {why}")
        print("peers: " + missing[-1], file=sys.stderr)
    finally:
        for program in programs:
            program.close()


def best_of(rows):
    """The rows of the number of threads with the least median time."""
    threads = {r["threads"] for r in rows}
    return min(([r for r in rows if r["threads"] == t] for t in threads),
               key=lambda some: statistics.median([r["ms"] for r in some]))


def cell(rows, fixed):
    """The time of an iteration, or of the call, and the threads or iterations behind it."""
    ms = statistics.median([r["ms"] for r in rows])
    n = statistics.median([r["iterations"] for r in rows])
    return f"{ms / n:10.4g} {rows[0]['threads']:5}" if fixed else f"{ms:10.4g} {n:5.0f}"


def table(lines):
    """One row per matrix and method; ratios are within a round, over 1 where wisp is ahead."""
    groups = {}
    for line in lines:
        groups.setdefault((line["against"], line["matrix"], line["method"]), []).append(line)
    size = max(len(key[1]) for key in groups)
    before = None
    for (peer, matrix, method), rows in groups.items():
        fixed = rows[0]["fixed"]
        if peer != before:
            each = "ms/iter threads" if fixed else "ms of call iter"
            print(f"\n{'matrix':{size}} {'rows':>9} {'method':9} {peer:>8}: {each}  wisp: {each}   ratio (quartiles), "
                  "of an iteration")
        before = peer
        mine = best_of([r for r in rows if r["peer"] == "wisp"])
        other = best_of([r for r in rows if r["peer"] != "wisp"])
        ratio = quartiles([b["ms"] / a["ms"] for a, b in zip(mine, other)])
        each = statistics.median([b["ms"] / b["iterations"] / (a["ms"] / a["iterations"]) for a, b in zip(mine, other)])
        print(f"{matrix:{size}} {rows[0]['rows']:9} {method:9}   {cell(other, fixed)}        {cell(mine, fixed)}   "
              f"{ratio[1]:10.2f} ({ratio[0]:.2f}-{ratio[2]:.2f})  {each:.2f}")
    print("\nWhat ran:")
    for peer, version in sorted({(r["peer"], r["version"].partition("; ")[0]) for r in lines}):
        print(f"  {peer}: {version}")


def options_of(arguments):
    p = argparse.ArgumentParser(prog="bench/peers/solve", formatter_class=argparse.ArgumentDefaultsHelpFormatter,
                                description="Installs, builds and runs the solvers of ViennaCL and PETSc beside wisp's "
                                "and prints the ratios.")
    p.add_argument("--peers", default=",".join(PEERS))
    p.add_argument("--matrix", action="append", metavar="SPEC", default=argparse.SUPPRESS,
                   help="gallery spec or .crs file; may be repeated (default: those of each peer)")
    p.add_argument("--methods", default=argparse.SUPPRESS, help="(default: those of each peer)")
    p.add_argument("--iterations", type=int, default=argparse.SUPPRESS, help="at most (default: those of each peer)")
    p.add_argument("--tolerance", type=float, default=argparse.SUPPRESS,
                   help="of |b - A x| / |b|; 1e-150: the iterations alone end a call (default: that of each peer)")
    p.add_argument("--rounds", type=int, default=9, help="measurements of each, alternating")
    p.add_argument("--threads", default=argparse.SUPPRESS,
                   help="the best of these counts; processes of PETSc (default: those of each peer)")
    p.add_argument("--agree", type=float, default=0.1, help="by how much ||x||^2 may differ, relatively")
    p.add_argument("--small-pages", action="store_true", help="do not give the peers 2 MiB pages")
    output_options(p, "solve.json", "the matrix files")
    o = p.parse_args(arguments)
    o.peers = [x for x in o.peers.split(",") if x]
    unknown = set(o.peers) - set(PEERS)
    if unknown or o.rounds < 1:
        p.error(f"unknown peer {', '.join(unknown)}" if unknown else "rounds count from 1")
    return o


def settings(o, peer):
    """Those of the peer, as far as the command line does not say others."""
    what = dict(PEERS[peer])
    given = vars(o)
    if "matrix" in given:
        what["matrices"] = o.matrix
    if "methods" in given:
        what["methods"] = o.methods.split(",")
    if "threads" in given:
        what["threads"] = [int(t) for t in o.threads.split(",")]
    for key in ("iterations", "tolerance"):
        what[key] = given.get(key, what[key])
    return what


def main():
    o = options_of(sys.argv[1:])

    def measure(write, missing):
        for peer in o.peers:
            what = settings(o, peer)
            for spec in what["matrices"]:
                matrix = Matrix(spec, o)
                for method in what["methods"]:
                    compare(matrix, method, peer, what, o, write, missing)
                if matrix.path != spec and not o.keep:
                    os.remove(matrix.path)

    return measure_and_print(o, measure, table)


if __name__ == "__main__":
    sys.exit(main())
