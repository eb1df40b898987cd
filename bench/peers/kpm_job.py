"""One job of a peer, in its own Python: kpm_job.py PEER OPTIONS (JSON). Its last line of output is the result, JSON.

Times are in seconds: "moments" is what the peer says about its moments alone (KITE: its whole computing program),
"job" is from the first line about the lattice to the result."""
import importlib.metadata
import importlib.util
import json
import math
import os
import sys
import time

import numpy as np
import pybinding as pb


def lattice():
    """The honeycomb with hopping -1, as wisp's gallery has it."""
    cells = pb.Lattice(a1=[1, 0], a2=[0.5, math.sqrt(3) / 2])
    cells.add_sublattices(("A", [0, 0], 0), ("B", [0.5, math.sqrt(3) / 6], 0))
    cells.add_hoppings(([0, 0], "A", "B", -1.0), ([-1, 0], "A", "B", -1.0), ([0, -1], "A", "B", -1.0))
    return cells


def write_crs(path, matrix):
    """By the function that users are shown."""
    example = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "write_crs.py")
    spec = importlib.util.spec_from_file_location("write_crs", example)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.write_crs(path, matrix)


def moments_of_dos(kpm, count, broadening, vectors):
    """mu_n / mu_0 from a density at the zeros of a Chebyshev polynomial, where the sums are exact. The Jackson kernel
    is taken out again."""
    a, b = kpm.scaling_factors
    angle = (np.arange(2 * count) + 0.5) * math.pi / (2 * count)
    order = np.argsort(np.cos(angle))
    energy = a * np.cos(angle[order]) + b
    density = np.asarray(kpm.calc_dos(energy, broadening, vectors).data) * np.sin(angle[order])
    q = math.pi / (count + 1)
    n = np.arange(9)
    kernel = ((count - n + 1) * np.cos(q * n) + np.sin(q * n) / np.tan(q)) / (count + 1)
    mu = np.array([np.sum(density * np.cos(k * angle[order])) for k in n]) / kernel
    return list(mu / mu[0])


def pybinding(o):
    began = time.perf_counter()
    chance = np.random.default_rng(o["seed"])

    @pb.site_state_modifier
    def vacancies(state, x):
        state[chance.random(len(x)) < o["vacancies"]] = False
        return state

    model = pb.Model(lattice(), pb.primitive(o["nx"], o["ny"]), vacancies)
    # It widens the interval that it is given by a hundredth.
    e = o["halfwidth"] / 1.01
    kpm = pb.kpm(model, energy_range=(-e, e), num_threads=o["threads"], silent=True)
    # The number of moments follows from the broadening, and is rounded up to 4 k + 2.
    broadening = math.pi * kpm.scaling_factors[0] / (o["moments"] - 0.5)
    energy = np.linspace(-e, e, 2 * o["moments"])
    kpm.calc_dos(energy, broadening, o["vectors"])
    job = time.perf_counter() - began
    stats = kpm.impl.stats
    result = {"moments": stats.moments_time, "job": job, "count": stats.num_moments, "rows": model.hamiltonian.shape[0],
              "nnz": model.hamiltonian.nnz, "type": str(model.hamiltonian.dtype), "report": kpm.report(True)}
    if o.get("write"):
        write_crs(o["write"], model.hamiltonian)
    result["mu"] = moments_of_dos(kpm, o["moments"], broadening, o["vectors"]) if o.get("check") else None
    return result


def kite(o):
    import h5py
    import kite as peer

    began = time.perf_counter()
    cells = lattice()
    configuration = peer.Configuration(divisions=o["divisions"], length=[o["nx"], o["ny"]],
                                       boundaries=["periodic", "periodic"], is_complex=False, precision=0,
                                       spectrum_range=[-o["halfwidth"], o["halfwidth"]])
    calculation = peer.Calculation(configuration)
    calculation.dos(num_points=2 * o["moments"], num_moments=o["moments"], num_random=o["vectors"], num_disorder=1)
    peer.config_system(cells, configuration, calculation, filename=o["file"])
    start = time.perf_counter()
    status = peer.execute.kitex(o["file"])
    end = time.perf_counter()
    if status:
        raise SystemExit(f"KITEx ended with {status}")
    with h5py.File(o["file"]) as f:
        mu = np.array(f["Calculation/dos/MU"][:, 0], dtype=float)
    os.remove(o["file"])
    return {"moments": end - start, "job": end - began, "count": len(mu), "rows": 2 * o["nx"] * o["ny"], "nnz": None,
            "type": "float32", "mu": list(mu[:9] / mu[0])}


def main():
    job, package = {"pybinding": (pybinding, "pybinding-dev"), "kite": (kite, "quantum-kite")}[sys.argv[1]]
    result = job(json.loads(sys.argv[2]))
    print("\n" + json.dumps({**result, "version": f"{package} {importlib.metadata.version(package)}"}))


main()
