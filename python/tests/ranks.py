"""One program for any number of processes, `ranks.py RESULTS [mpi]`: calls of all kinds, whose numbers rank 0 keeps in a
.npz. test_ranks.py compares those of several processes with those of one."""
import os
import sys

import numpy as np
import scipy.sparse as sp
from conftest import hermitian

import wisp


def calls(ctx, folder):
    """Name and numbers of each call."""
    H = wisp.gallery("haldane", nx=9, ny=7, t2=0.1, phi=0.4, disorder=1)
    n = H.shape[0]
    known = {"bounds": (-8, 8)}  # to find them takes longer than the call
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 3))
    B = hermitian(n, complex, 2)
    R = sp.random(31, 17, 0.2, random_state=5, format="csr")
    yield "csr", H.tocsr().toarray()
    yield "rectangular", wisp.Matrix(R) @ X[:17]
    yield "borrowed", wisp.Matrix(B, copy=False) @ X
    yield "rows", wisp.Matrix.from_rows(lambda i: B[i], B.shape, int(np.diff(B.indptr).max()), dtype=complex) @ X[:, 0]
    sp.save_npz(f"{folder}/B{ctx.rank}.npz", B)
    yield "npz", wisp.Matrix(f"{folder}/B{ctx.rank}.npz") @ X
    rho = H.spectral_density(5, 33)
    yield "moments", rho.moments
    rho.add_vectors(2)
    yield "more vectors", rho.moments
    rho.save(folder + "/m.h5")
    if ctx.comm is not None:
        ctx.comm.Barrier()
    yield "loaded", wisp.load(folder + "/m.h5").moments
    yield "exact", H.spectral_density(num_moments=8, exact=True, **known)([0.0, 0.5])
    yield "vectors", H.spectral_density(num_moments=8, vectors=X, **known).moments
    yield "operator", H.spectral_density(2, 8, operator=B, **known).moments
    yield "ldos", H.ldos([0, n - 1, 40], 20, **known).moments
    yield "random map", H.ldos_map([0.0, 1.0], None, 20, num_vectors=5, **known).densities
    yield "map", H.ldos_map([0.0, 1.0], H.positions[:, 0] < 3, 20, **known).densities
    yield "greens", H.greens([0, 5], [n - 1, 7], eta=0.3, **known)(0.2)
    yield "waves", H.spectral_function(np.zeros((1, 2)), 16, **known)([0.0, 1.0])
    yield "orbitals", H.spectral_function(np.ones((2, 2)), 16, orbitals=np.arange(n) % 3 % 2, **known).moments
    yield "conductivity", H.conductivity("x", "y", 2, 8, **known)([0.0, 0.3])
    yield "thermal", H.thermal([1.0], 4, **known).energy.value
    cold = H.thermal([0.001, 1.0], 9, cool=True, **known)
    yield "cooled", [cold.log_z.value, cold.energy.value, cold.entropy.value]
    w, v = H.eigs(2)
    yield "eigs", w
    yield "residuals", abs(H @ v - v * w) < 1e-6
    u, s, vh = wisp.Matrix(R).svds(3)
    yield "singular values", s
    yield "singular vectors", abs(R @ vh.conj().T - u * s) < 1e-6
    shifted = wisp.Matrix(B + 50 * sp.eye(n))
    yield "solve", shifted.solve(X, rtol=1e-9, precond="jacobi", x0=X[::-1])[0]
    L = wisp.Matrix(sp.diags([[1.0] + [2.0] * 13 + [1.0], [-1.0] * 14, [-1.0] * 14], [0, 1, -1]))
    yield "singular", L.solve(X[:15, 0], rtol=1e-10, null=np.ones(15))[0]
    yield "apply", H.apply(np.exp, X, **known)
    yield "evolve", H.evolve(X, [0.5, 1.0], **known)
    yield "observed", H.evolve(X[:, 0], [0.5], observe=lambda t, psi: abs(psi) ** 2, **known)
    yield "expected", H.evolve(X[:, 0], [0.5, 1.0], operators=[B, H], **known)
    yield "absorbed", H.evolve(X[:, 0], [1.0], absorb=np.linspace(0, 1, n), **known)
    yield "evolution", [psi for _, psi in H.evolution(X[:, 0], [0.3, 0.6], **known)]


def refused(ctx, folder):
    """What one process can do alone, and what ends a call on all of them."""
    H = wisp.gallery("graphene", nx=20, ny=20)
    arbitrary = H.spectral_density(2, 8, rng=None, bounds=(-4, 4)).moments
    assert (ctx.agreed(arbitrary) == arbitrary).all()
    for call in (lambda: wisp.Matrix(H.aslinearoperator()), lambda: H.solve(np.ones(800), precond=lambda X: X)):
        try:
            call()
            raise AssertionError("it is not refused")
        except wisp.UnsupportedError:
            pass

    def progress(task, done):
        if ctx.rank == ctx.ranks - 1:
            raise KeyboardInterrupt

    try:
        H.spectral_density(4, 4000, progress=progress, bounds=(-4, 4))
        raise AssertionError("it is not ended")
    except KeyboardInterrupt:
        assert ctx.rank == ctx.ranks - 1
    except wisp.CancelledError:
        assert ctx.rank != ctx.ranks - 1
    assert H.spectral_density(2, 8, progress=True, bounds=(-4, 4)).complete
    path, told = folder + "/ranks.ck", []

    def end(task, done):
        told.append(task)
        if len(told) == 20:  # on all ranks
            raise KeyboardInterrupt

    run = dict(num_vectors=4, num_moments=400, bounds=(-4, 4), rows=[1, 2])
    try:
        H.spectral_density(checkpoint=wisp.Checkpoint(path, every=0), progress=end, **run)
        raise AssertionError("it is not ended")
    except KeyboardInterrupt:
        pass
    for other in (dict(rows=[1, 3]), dict(rows=[1, 2, 3]), dict(rows=None)):
        try:
            H.spectral_density(checkpoint=path, **{**run, **other})
            raise AssertionError("it is not refused")
        except wisp.ArgumentError as failure:
            assert "ranks.ck is of a call with" in str(failure) and "rows" in str(failure)
    again = H.spectral_density(checkpoint=path, **run).moments
    assert (again == H.spectral_density(**run).moments).all()
    try:
        H.spectral_density(2, 8, bounds=(-4, 4)).save("/nowhere/m.h5")
        raise AssertionError("it is not told")
    except OSError:
        pass


def main(results, mpi):
    comm = None
    if mpi:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    with wisp.Context(comm=comm, threads=1) as ctx:
        assert (ctx.rank, ctx.ranks) == ((comm.rank, comm.size) if mpi else (0, 1))
        found = {name: np.asarray(value) for name, value in calls(ctx, os.path.dirname(results))}
        for name, value in found.items():  # the same on all ranks
            assert np.array_equal(ctx.agreed(value), value), name
        if mpi:
            refused(ctx, os.path.dirname(results))
        if ctx.rank == 0:
            np.savez(results, **found)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:] == ["mpi"])
