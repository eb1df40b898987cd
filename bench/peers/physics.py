#!/usr/bin/env python3
"""Alternates quantities by wisp with the same by KITE, pybinding and scipy, and prints the ratios. By a Python that has wisp and them."""
import argparse
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

HALDANE = 4.0  # of the interval that all are given
SITE = 2 * (128 * 256 + 128)  # in the middle


def wisp_command(o, arguments):
    """What the command says with --json."""
    said = subprocess.run([o.wisp, *arguments, "--threads", str(o.threads), "--json", "--quiet"], check=True,
                          capture_output=True, text=True).stdout
    return json.loads(said)


def wisp_hall(o, cells, moments, vectors, precision):
    d = wisp_command(o, ["sigma", f"haldane:nx={cells},ny={cells}", "--direction", "xy", "--moments", str(moments),
                         "--vectors", str(vectors), f"--bounds=-{HALDANE},{HALDANE}", "--precision", precision])
    at = min(range(len(d["mu"])), key=lambda i: abs(d["mu"][i]))
    return {"moments": d["seconds"], "job": d["total_seconds"], "value": d["sigma"][at]}


def wisp_site(o):
    d = wisp_command(o, ["ldos", "graphene:nx=256,ny=256", "--sites", str(SITE), "--moments", "512", "--precision", "single",
                         "--bounds=-3.03,3.03", "--energies", "0.5"])
    return {"moments": d["seconds"], "job": d["total_seconds"], "value": d["dos"][0][0]}


def wisp_bands(o, at_once):
    """Ten k of a path, in one run or one after another."""
    steps = [0.1 * math.pi * (1 + k) / 10 for k in range(10)]
    lattice, common = "square:nx=600,ny=600,disorder=1", ["--moments", "512", "--bounds=-5,5"]
    step = 2 * math.pi / 600
    k = [round(s / step) * step for s in steps]
    if at_once:
        runs = [wisp_command(o, ["spectral", lattice, "--path", f"{k[0]},0:{k[-1]},0", "--k-points", "10", *common])]
    else:
        runs = [wisp_command(o, ["spectral", lattice, "--path", f"{q},0", *common]) for q in k]
    count = sum(len(d["k"]) for d in runs)
    return {"moments": sum(d["seconds"] for d in runs), "job": sum(d["total_seconds"] for d in runs), "value": count}


def lattice(second):
    """The honeycomb with hopping -1, and Haldane's hopping to second neighbours."""
    import pybinding as pb
    cells = pb.Lattice(a1=[1, 0], a2=[0.5, math.sqrt(3) / 2])
    cells.add_sublattices(("A", [0, 0], 0), ("B", [0.5, math.sqrt(3) / 6], 0))
    cells.add_hoppings(([0, 0], "A", "B", -1.0), ([-1, 0], "A", "B", -1.0), ([0, -1], "A", "B", -1.0))
    if second:
        for step in ([1, 0], [-1, 1], [0, -1]):
            cells.add_hoppings((step, "A", "A", second * 1j), (step, "B", "B", -second * 1j))
    return cells


def kite_hall(o, cells, moments, vectors, divisions):
    import h5py
    import kite
    began = time.perf_counter()
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "kite.h5")
    conf = kite.Configuration(divisions=divisions, length=[cells, cells], boundaries=["periodic", "periodic"], is_complex=True,
                              precision=1, spectrum_range=[-HALDANE, HALDANE])
    calculation = kite.Calculation(conf)
    calculation.conductivity_dc(num_points=1000, num_moments=moments, num_random=vectors, direction="xy", temperature=0.01)
    kite.config_system(lattice(0.1), conf, calculation, filename=path)
    start = time.perf_counter()
    if kite.execute.kitex(path):
        raise SystemExit("KITEx failed")
    end = time.perf_counter()
    with h5py.File(path) as f:
        gamma = f["Calculation/conductivity_dc/Gammaxy"]
        shape = list(gamma.shape)
    return {"moments": end - start, "job": end - began, "value": shape}


def pybinding_hall(o, cells, moments, vectors):
    import pybinding as pb
    began = time.perf_counter()
    model = pb.Model(lattice(0.1), pb.primitive(cells, cells), pb.translational_symmetry(cells, cells))
    e = HALDANE / 1.01
    kpm = pb.kpm(model, energy_range=(-e, e), num_threads=o.threads, silent=True)
    broadening = math.pi * kpm.scaling_factors[0] / (moments - 0.5)
    area = cells * cells * math.sqrt(3) / 2
    start = time.perf_counter()
    s = kpm.calc_conductivity([0.0], broadening, 0.01, "xy", area, vectors, 8 * moments)
    end = time.perf_counter()
    return {"moments": end - start, "job": end - began, "value": complex(s.data[0]).real * 2 * math.pi}


def pybinding_site(o):
    import pybinding as pb
    began = time.perf_counter()
    model = pb.Model(lattice(0), pb.primitive(256, 256))
    e = 3.03 / 1.01
    kpm = pb.kpm(model, energy_range=(-e, e), num_threads=o.threads, silent=True)
    broadening = math.pi * kpm.scaling_factors[0] / (512 - 0.5)
    start = time.perf_counter()
    s = kpm.calc_ldos([0.5], broadening, [0, 0])
    end = time.perf_counter()
    return {"moments": end - start, "job": end - began, "value": float(s.data[0])}


def block(columns):
    import numpy as np
    import wisp
    H = wisp.gallery("graphene", nx=200, ny=200)
    chance = np.random.default_rng(1)
    B = chance.standard_normal((H.shape[0], columns)) + 1j * chance.standard_normal((H.shape[0], columns))
    return H, B / np.linalg.norm(B, axis=0)


def wisp_evolve(o, columns, t):
    H, B = block(columns)
    start = time.perf_counter()
    psi = H.evolve(B, [t], tol=1e-13)
    end = time.perf_counter()
    return {"moments": end - start, "job": end - start, "value": abs(complex(psi[-1][0, 0]))}


def scipy_evolve(o, columns, t):
    import scipy.sparse.linalg
    H, B = block(columns)
    A = -1j * t * H.tocsr()
    start = time.perf_counter()
    psi = scipy.sparse.linalg.expm_multiply(A, B, traceA=0)
    end = time.perf_counter()
    return {"moments": end - start, "job": end - start, "value": abs(complex(psi[0, 0]))}


ROWS = {
    "hall-128": {"wisp": (wisp_hall, 128, 128, 1, "double"), "kite 1x1": (kite_hall, 128, 128, 1, [1, 1]),
                 "kite 2x1": (kite_hall, 128, 128, 1, [2, 1])},
    "hall-128-single": {"wisp": (wisp_hall, 128, 128, 1, "single"), "pybinding": (pybinding_hall, 128, 128, 1)},
    "hall-256": {"wisp": (wisp_hall, 256, 256, 10, "double"), "kite 2x1": (kite_hall, 256, 256, 10, [2, 1])},
    "site": {"wisp": (wisp_site,), "pybinding": (pybinding_site,)},
    "bands": {"wisp": (wisp_bands, True), "one by one": (wisp_bands, False)},
    "evolve": {"wisp": (wisp_evolve, 16, 20.0), "scipy": (scipy_evolve, 16, 20.0)},
}


def spread(values):
    return f"{statistics.median(values):.3g} ({min(values):.3g} .. {max(values):.3g})"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("rows", nargs="*", help=f"of {', '.join(ROWS)} (all)")
    p.add_argument("--wisp", default="wisp", help="the command")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.job:
        function, *arguments = ROWS[o.job[0]][o.job[1]]
        return print("\n" + json.dumps(function(o, *arguments)))
    for row in o.rows or ROWS:
        found = {name: [] for name in ROWS[row]}
        for _ in range(o.rounds):
            for name in random.sample(sorted(found), len(found)):
                said = subprocess.run([sys.executable, __file__, "--wisp", o.wisp, "--threads", str(o.threads), "--job", row, name],
                                      env={**os.environ, "OMP_NUM_THREADS": str(o.threads)}, capture_output=True, text=True)
                if said.returncode:
                    return f"{row}, {name}: {(said.stderr or said.stdout or 'it says nothing').strip()[-200:]}"
                found[name].append(json.loads(said.stdout.splitlines()[-1]))
        for name, runs in found.items():
            cells = [f"{part} {spread([r[part] for r in runs])} s" for part in ("moments", "job") if runs]
            for part in ("moments", "job"):
                pairs = [b[part] / a[part] for a, b in zip(found["wisp"], runs)]
                if name != "wisp" and pairs:
                    cells.append(f"{part} {spread(pairs)} times wisp's")
            print(f"{row:16} {name:10} {'; '.join(cells)}; value {runs[-1]['value'] if runs else '-'}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
