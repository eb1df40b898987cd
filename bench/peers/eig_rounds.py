"""Alternates `wisp eig` with SLEPc's eigensolvers, in shuffled order, and prints the medians of their seconds and their
ratio to wisp's. What a solver finds is told too, for the questions differ in small ways: wisp completes multiplets, and
looks for what may be missing. A run that takes more than --limit times as long as wisp's is given up."""
import argparse, json, os, random, statistics, subprocess, sys

INVERT = "-eps_target 0 -eps_target_magnitude -st_type sinvert -st_ksp_type preonly -st_pc_type lu " \
         "-st_pc_factor_mat_solver_type mumps"
# name: matrix, wisp's options, kind of SLEPc's build, Hermitian, {name: SLEPc's options}
CASES = {
    "inner": ("topi:nx=40,ny=40,nz=20", "--target 0 -n 100 --tol 1e-9", "complex", 1,
              {"shift-invert": "-eps_nev 100 -eps_tol 1e-9 " + INVERT}),
    "graphene": ("graphene:nx=707,ny=707", "--smallest 20", "real", 1,
                 {"krylov-schur": "-eps_nev 20 -eps_smallest_real -eps_tol 1e-8"}),
    "spinchain": ("spinchain:sites=20", "--smallest 20", "real", 1,
                  {"krylov-schur": "-eps_nev 20 -eps_smallest_real -eps_tol 1e-8"}),
    "matpde": ("matpde:nx=1024,ny=1024", "--largest-real 10 --search 20 --tol 1e-6", "real", 0,
               {"krylov-schur": "-eps_nev 10 -eps_ncv 20 -eps_largest_real -eps_tol 1e-6"}),
}


def run(command, limit, environment):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=limit,
                              env={**os.environ, **environment})
    except subprocess.TimeoutExpired:
        return None
    try:
        return json.loads(done.stdout)
    except ValueError:
        return None


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("cases", nargs="*", help="of " + ", ".join(CASES))
    p.add_argument("--build", required=True, help=argparse.SUPPRESS)
    p.add_argument("--no-build", action="store_true", help="take the programs that are there")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--limit", type=float, default=5)
    o = p.parse_args()
    if unknown := [c for c in o.cases if c not in CASES]:
        sys.exit(f"eig: no case {unknown[0]}; there are {', '.join(CASES)}")
    wisp = f"{o.build}/wisp-build/wisp"
    for case in o.cases or CASES:
        spec, options, kind, hermitian, peers = CASES[case]
        matrix = f"{o.build}/{case}.crs"
        subprocess.run([wisp, "gen", spec, "-o", matrix], check=True, stdout=subprocess.DEVNULL)
        one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        jobs = {"wisp": ([wisp, "eig", spec, *options.split(), "--json"], {})}
        for name, more in peers.items():
            program = f"{o.build}/eig-slepc-{kind}"
            if not os.path.exists(program):
                print(f"{case}: {name} is left out, for {program} is missing")
                continue
            jobs["SLEPc " + name] = (["mpiexec", "--allow-run-as-root", "--oversubscribe", "-n", "2", program, matrix,
                                      str(hermitian), *more.split()], one)
        seconds, found, limit = {j: [] for j in jobs}, {}, None
        for _ in range(o.rounds):
            order = list(jobs) if limit is None else random.sample(list(jobs), len(jobs))
            for job in order:
                result = run(jobs[job][0], limit, jobs[job][1])
                if job == "wisp" and not result:
                    sys.exit(f"eig: wisp gives no result for {case}")
                taken = result["seconds"] if result else float("inf")
                seconds[job].append(taken["total"] if isinstance(taken, dict) else taken)
                found[job] = result["found"] if result else "given up"
                if job == "wisp":
                    limit = o.limit * max(seconds["wisp"]) + 10
        base = statistics.median(seconds["wisp"])
        for job, times in seconds.items():
            print(f"{case:10} {job:22} {statistics.median(times):9.3f} s  ({min(times):.3f} to {max(times):.3f})  "
                  f"{statistics.median(times) / base:6.2f}  found: {found[job]}", flush=True)


main()
