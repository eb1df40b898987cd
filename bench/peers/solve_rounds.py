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
PRECONDS = ["none", "jacobi", "ilu", "ic", "amg"]
# ViennaCL: so many iterations, with one thread and with two; PETSc: to a tolerance, with two processes.
PEERS = {
    "viennacl": {"matrices": DELAUNAY + ELASTICITY, "methods": ["cg", "bicgstab", "gmres"], "threads": [1, 2],
                 "iterations": 30, "tolerance": 1e-150, "preconds": ["none", "jacobi"]},
    "petsc": {"matrices": GRID, "methods": ["cg", "pipecg", "bcgs", "gmres"], "threads": [2], "iterations": 100000,
              "tolerance": 1e-8, "preconds": PRECONDS},
}


class Solver(Program):
    def __init__(self, peer, matrix, method, precond, threads, what, options):
        self.threads = threads
        self.precond = precond
        more = options.petsc_options.split() if peer == "petsc" else []
        self.start(peer, f"solve-{peer}", [matrix.path, method, str(what["iterations"]), repr(what["tolerance"]),
                                           precond] + more, threads, options, peer == "petsc" or
                   peer == "wisp" and options.wisp_processes)


def rounds_of(programs, key, rounds, write):
    """One measurement of each in a round, in an order drawn by chance; one JSON line per measurement."""
    for k in range(rounds):
        for program in random.sample(programs, len(programs)):
            write({**key, "round": k, "peer": program.peer, "threads": program.threads, "precond": program.precond,
                   **program.about, **program.measure()})


def compare(matrix, method, peer, what, options, write, missing):
    programs = []
    try:
        for precond in what["preconds"]:
            for threads in what["threads"]:
                for name in ("wisp", peer):
                    programs.append(Solver(name, matrix, method, precond, threads, what, options))
                    programs[-1].about = programs[-1].answer()
            squares = [p.about["square"] for p in programs if p.precond == precond]
            if max(squares) > (1 + options.agree) * min(squares):
                raise Missing(f"with {precond} they differ: ||x||^2 is {squares}")
        key = {"matrix": matrix.spec, "rows": matrix.rows, "method": method, "against": peer}
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


def each(row):
    """ms of an iteration: those of the call, without what the preconditioner took."""
    return row["ms"] / row["iterations"]


def whole(row):
    """Seconds of a call that makes its preconditioner."""
    return row["setup"] + row["ms"] / 1e3


def ratios(over, under, what):
    """Of neighbours in time: the median and its quartiles."""
    some = [what(a) / what(b) for a, b in zip(over, under) if what(b) > 0]
    return "{1:.2f} ({0:.2f}-{2:.2f})".format(*quartiles(some)) if some else "-"


def line_of(rows, name):
    def median(what):
        return statistics.median(what(r) for r in rows)

    return (f"  {rows[0]['precond']:7} {name:9} {rows[0]['threads']:7} {median(lambda r: r['setup']):9.4g} "
            f"{median(each):9.4g} {median(lambda r: r['iterations']):6.0f} {median(whole):9.4g} "
            f"{median(lambda r: r['residual']):9.2g}")


def table(lines):
    """Two rows per matrix, method and preconditioner; ratios are within a round, over 1 where wisp is ahead."""
    groups = {}
    for line in lines:
        key = (line["against"], line["matrix"], line["rows"], line["method"])
        groups.setdefault(key, {}).setdefault(line["precond"], []).append(line)
    print(f"  {'precond':7} {'':9} threads   setup s   ms/iter   iter   whole s  residual   "
          "peer/wisp (quartiles) of the whole, of an iteration, of setup")
    for (peer, matrix, size, method), by in groups.items():
        print(f"{matrix}, {size} rows, {method}:")
        mine = {}
        for precond, rows in sorted(by.items(), key=lambda item: PRECONDS.index(item[0])):
            mine[precond] = best_of([r for r in rows if r["peer"] == "wisp"])
            other = best_of([r for r in rows if r["peer"] != "wisp"])
            both = (other, mine[precond])
            print(line_of(other, peer))
            print(f"{line_of(mine[precond], 'wisp')}   {ratios(*both, whole)}, {ratios(*both, each)}, "
                  f"{ratios(*both, lambda r: r['setup'])}")
        for precond in list(mine)[1:] if "none" in mine else ():
            print(f"  wisp: an iteration with {precond} over one with none: {ratios(mine[precond], mine['none'], each)}")
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
    p.add_argument("--precond", default="none", help="preconditioners, of " + ", ".join(PRECONDS) + "; several are "
                   "measured in the same rounds")
    p.add_argument("--petsc-options", default="", metavar="OPTIONS", help="those of PETSc's preconditioner, such as "
                   "--petsc-options='-pc_hypre_boomeramg_coarsen_type HMIS'")
    p.add_argument("--wisp-processes", action="store_true", help="wisp, too, by processes of MPI in place of threads")
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
    o.preconds = o.precond.split(",")
    strange = [x for x in o.preconds if x not in PRECONDS]
    if unknown or strange or o.rounds < 1:
        p.error(f"unknown peer {', '.join(unknown)}" if unknown else f"unknown preconditioner {', '.join(strange)}: "
                f"take of {', '.join(PRECONDS)}" if strange else "rounds count from 1")
    return o


def settings(o, peer):
    """Those of the peer, as far as the command line does not say others."""
    what = dict(PEERS[peer], preconds=[x for x in o.preconds if x in PEERS[peer]["preconds"]])
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
            for precond in set(o.preconds) - set(what["preconds"]):
                missing.append(f"{peer}: its {precond} is not compared, only {', '.join(PEERS[peer]['preconds'])}")
                print("peers: " + missing[-1], file=sys.stderr)
            for spec in what["matrices"] if what["preconds"] else ():
                matrix = Matrix(spec, o)
                for method in what["methods"]:
                    compare(matrix, method, peer, what, o, write, missing)
                if matrix.path != spec and not o.keep:
                    os.remove(matrix.path)

    return measure_and_print(o, measure, table)


if __name__ == "__main__":
    sys.exit(main())
