#!/usr/bin/env python3
"""Alternates whole scripts: a density of states of one system of Kwant by kwant.kpm and by wisp. By a Python that has both."""
import argparse
import json
import random
import statistics
import subprocess
import sys
import time

from rounds import quartiles

PARTS = ("import", "system", "density", "whole")


def job(who, o):
    """Seconds of each part of one script, which begins with its imports."""
    began = time.perf_counter()
    import kwant
    if who == "wisp":
        import wisp
    at = [time.perf_counter()]
    lattice = kwant.lattice.honeycomb(norbs=1)
    system = kwant.Builder()
    system[lattice.shape(lambda r: 0 <= r[0] < o.cells and 0 <= r[1] < o.cells * 3**0.5 / 2, (0.1, 0.1))] = 0
    system[lattice.neighbors()] = -1
    system = system.finalized()
    at.append(time.perf_counter())
    if who == "wisp":
        rho = wisp.Matrix(system).spectral_density(o.vectors, o.moments)
    else:
        rho = kwant.kpm.SpectralDensity(system, num_vectors=o.vectors, num_moments=o.moments, rng=0)
    middle = complex(rho(0.5)).real / len(system.sites)
    at.append(time.perf_counter())
    parts = [b - a for a, b in zip([began, *at], at)]
    return {"rows": len(system.sites), "at_half": middle, **dict(zip(PARTS, [*parts, at[-1] - began]))}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--cells", type=int, default=316, help="of graphene along a side; a system has two orbitals for each")
    p.add_argument("--moments", type=int, default=512)
    p.add_argument("--vectors", type=int, default=32)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--job", choices=("kwant", "wisp"), help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.job:
        return print(json.dumps(job(o.job, o)))
    found = {"kwant": [], "wisp": []}
    for _ in range(o.rounds):
        for who in random.sample(sorted(found), 2):
            said = subprocess.run([sys.executable, __file__, *sys.argv[1:], "--job", who], check=True, capture_output=True, text=True)
            found[who].append(json.loads(said.stdout.splitlines()[-1]))
    for who, runs in found.items():
        cells = "   ".join(f"{part} {quartiles([r[part] for r in runs])[1]:.2f} ({min(r[part] for r in runs):.2f} .. "
                           f"{max(r[part] for r in runs):.2f})" for part in PARTS)
        print(f"{who:6} {runs[0]['rows']} rows, density at 0.5 {runs[0]['at_half']:.4f}; seconds: {cells}")
    for part in ("density", "whole"):
        ratio = statistics.median(a[part] / b[part] for a, b in zip(found["kwant"], found["wisp"]))
        print(f"{part}: Kwant takes {ratio:.1f} times as long")


if __name__ == "__main__":
    main()
