#!/usr/bin/env python3
"""Alternates moments by wisp with those of pybinding and KITE, and prints the table. Started by bench/peers/kpm."""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys

from rounds import Missing, measure_and_print, output_options, quartiles

HALFWIDTH = 3.03  # of the interval that all are given: graphene with hopping 1 lies within -3 and 3
CLOSE = 5e-3  # mu_1 to mu_8 over mu_0 may differ by so much: random vectors and vacancies do, by 1e-3 at most
JOBS = {
    "pybinding": {"nx": 505, "ny": 500, "vacancies": 0.01, "moments": 534, "vectors": 16},
    "kite": {"nx": 512, "ny": 512, "moments": 512, "vectors": 8},
}
PATIENCE = 300  # seconds for one job


def run(command, **more):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
                              **more)
    except subprocess.TimeoutExpired:
        raise Missing(f"no answer within {PATIENCE} s") from None
    if done.returncode:
        said = (done.stderr + done.stdout).strip().splitlines() or ["and it said nothing"]
        raise Missing(f"exit {done.returncode}: {said[-1]}")
    return done.stdout


class Peer:
    """A job of pybinding, or of KITE with one way to divide its lattice among threads."""

    def __init__(self, kind, name, o, divisions=None):
        self.kind, self.name = kind, name
        self.job = dict(JOBS[kind], halfwidth=HALFWIDTH, threads=o.threads, seed=1, divisions=divisions,
                        file=os.path.join(o.build, "kpm-kite.h5"))
        self.python = os.path.join(o.build, "venv-kpm", "bin", "python")
        if not os.path.exists(self.python):
            raise Missing("there is no virtual environment for it")

    def measure(self, **more):
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kpm_job.py")
        said = run([self.python, program, self.kind, json.dumps({**self.job, **more})])
        return json.loads(said.splitlines()[-1])


class Wisp:
    """The same job by wisp: of a matrix, with further options."""

    def __init__(self, name, matrix, options, job, o):
        self.name = name
        program = os.path.join(o.build, "wisp-build", "wisp")
        self.command = [program, "dos", matrix, "--bounds", f"-{HALFWIDTH},{HALFWIDTH}", "--precision", "single",
                        "--moments", str(job["moments"]), "--vectors", str(job["vectors"]), "--threads",
                        str(o.threads), "--json", "--quiet", *options]

    def measure(self, **_):
        d = json.loads(run(self.command))
        return {"moments": d["seconds"], "job": d["total_seconds"], "count": d["number_of_moments"], "rows": d["rows"],
                "nnz": d["nnz"], "type": d["type"], "mu": [m / d["moments"][0] for m in d["moments"][:9]],
                "version": f"wisp {d['version']}, {d['isa']}", "choice": f"width {d['width']}, {d['depth']} step"
                f"{'s' if d['depth'] > 1 else ''} at a time, {d['order']}, {d['format']}"}


def gallery(job):
    cells = f"graphene:nx={job['nx']},ny={job['ny']}"
    return cells + (f",vacancies={job['vacancies']},periodic=none" if job.get("vacancies") else "")


def compare(kind, o, write):
    """Rounds of one job by each, in an order drawn by chance. Before them a warm-up, in which results are compared."""
    job = JOBS[kind]
    peers = [Peer(kind, kind, o)] if kind == "pybinding" else \
        [Peer(kind, f"kite {d}", o, [int(n) for n in d.split("x")]) for d in o.divisions]
    wisps = [Wisp("wisp" + (f" {text}" if text else ""), gallery(job), text.split(), job, o) for text in o.wisp]
    if kind == "pybinding":
        path = os.path.join(o.build, "kpm-pybinding.crs")
        wisps.append(Wisp("wisp, pybinding's matrix", path, [], job, o))
    else:
        path = None
    off = {}
    for p in peers:
        off[p.name] = p.measure(check=True, write=path)
    for p in wisps:
        off[p.name] = p.measure()
    first = off[wisps[0].name]["mu"]
    for name, m in off.items():
        worst = max(abs(a - b) for a, b in zip(first, m["mu"]))
        if worst > CLOSE or m["count"] != job["moments"] or m["type"] not in ("single", "float32"):
            raise Missing(f"{name} has another result: {m['count']} moments, {m['type']}, mu off by {worst:.1e}")
        off[name] = worst
    for k in range(o.rounds):
        for p in random.sample(peers + wisps, len(peers + wisps)):
            write({"peer": kind, "program": p.name, "round": k, "mu_off": off[p.name], **p.measure()})
    if path and not o.keep:
        os.remove(path)


def spread(values):
    low, middle, high = quartiles(values)
    return f"{middle:.3f} ({low:.3f} .. {high:.3f})"


def table(lines):
    """One row per program; ratios are within a round, over 1 where wisp is ahead of the peer."""
    for kind in JOBS:
        rows = [r for r in lines if r["peer"] == kind]
        if not rows:
            continue
        by = {}
        for r in rows:
            by.setdefault(r["program"], []).append(r)
        times = {name: statistics.median([r["moments"] for r in some]) for name, some in by.items()}
        best = min((n for n in by if not n.startswith("wisp")), key=times.get)
        what = rows[0]
        print(f"{kind}: {what['count']} moments, {JOBS[kind]['vectors']} vectors, {len(by[best])} rounds; "
              f"ratios are of {best} to the row")
        size = max(len(name) for name in by)
        print(f"  {'program':{size}}    rows  {'moments, s (quartiles)':25} {'ratio':24}  {'whole job, s':25} "
              f"{'ratio':24}  mu off   ran as")
        for name, some in sorted(by.items(), key=lambda pair: (pair[0].startswith("wisp"), pair[0])):
            cells = []
            for t in ("moments", "job"):
                cells.append(spread([r[t] for r in some]))
                cells.append(spread([p[t] / r[t] for p, r in zip(by[best], some)]) if name != best else "")
            print(f"  {name:{size}} {some[0]['rows']:7}  {cells[0]:25} {cells[1]:24}  {cells[2]:25} {cells[3]:24}  "
                  f"{some[0]['mu_off']:.1e}  {some[0].get('choice', some[0]['version'])}")
        print()


def options_of(arguments):
    p = argparse.ArgumentParser(prog="bench/peers/kpm", formatter_class=argparse.ArgumentDefaultsHelpFormatter,
                                description="Installs pybinding and KITE, builds wisp, runs the same moments of "
                                "graphene in single precision by all, in turn, and prints the ratios.")
    p.add_argument("--peers", default="pybinding,kite")
    p.add_argument("--divisions", default="1x1,2x1,1x2",
                   help="KITE's parts of the lattice along x and y; a thread each")
    p.add_argument("--wisp", action="append", metavar="OPTIONS", default=[], help="a further row of wisp with these "
                   "options of 'wisp dos', as in --wisp='--width 8'; may be repeated")
    p.add_argument("--rounds", type=int, default=7, help="runs of each")
    p.add_argument("--threads", type=int, default=2, help="of wisp and pybinding")
    output_options(p, "peers-kpm.json", "pybinding's matrix")
    o = p.parse_args(arguments)
    o.peers = [x for x in o.peers.split(",") if x]
    o.divisions = [x for x in o.divisions.split(",") if x]
    o.wisp = ["", *o.wisp]
    if set(o.peers) - set(JOBS) or o.rounds < 1 or o.threads < 1:
        p.error(f"peers are {', '.join(JOBS)}; rounds and threads count from 1")
    return o


def main():
    o = options_of(sys.argv[1:])

    def measure(write, missing):
        for kind in o.peers:
            try:
                compare(kind, o, write)
            except Missing as why:
                missing.append(f"{kind}: {why}")

    return measure_and_print(o, measure, table)


if __name__ == "__main__":
    sys.exit(main())
