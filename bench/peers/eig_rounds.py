"""Alternates `wisp eig` with the eigensolvers of SLEPc, PRIMME and scipy, in shuffled order, and prints the medians of their seconds and their
ratio to wisp's. What a solver finds is told too, for the questions differ in small ways: wisp completes multiplets, and
looks for what may be missing. A run that takes more than --limit times as long as wisp's is given up."""
import argparse, json, os, random, statistics, subprocess, sys

SLEPC = "SLEPc "  # begins the names of its solvers; the other peers are those of eig_python.py
INVERT = "-eps_target {target} -eps_target_magnitude -st_type sinvert -st_ksp_type preonly -st_pc_type lu " \
         "-st_pc_factor_mat_solver_type mumps"
# Of all in the interval, which is that of wisp's first result; with the filter's degree that wisp took.
FILTER = "-eps_all -eps_interval {low},{high} -st_type filter -st_filter_degree {degree} -eps_nev {found}"


def inner(count, target, more=None):
    """The pairs nearest to a number, which shall not be an eigenvalue: the factors of a singular matrix give wrong ones."""
    return {SLEPC + "shift-invert": f"-eps_nev {count} -eps_tol 1e-9 " + INVERT.replace("{target}", str(target)),
            **(more or {})}


def ends(which, count):
    """The pairs at an end of the spectrum."""
    short = {"smallest": "SA", "largest": "LA"}[which]
    return {SLEPC + "krylov-schur": f"-eps_nev {count} -eps_{which}_real -eps_tol 1e-8",
            "primme": f"{count} {short} 1e-8", "scipy": f"{count} {short} 1e-8"}


# name: matrix, wisp's options, kind of SLEPc's build, Hermitian, {peer: its options}
CASES = {
    "inner": ("topi:nx=40,ny=40,nz=20", "--target 0 -n 100 --tol 1e-9", "complex", 1,
              inner(100, 1e-3, {SLEPC + "filter": "-eps_tol 1e-9 " + FILTER, "primme": "100 0 1e-9"})),
    "graphene-inner": ("graphene:nx=200,ny=200,disorder=0.5", "--target 0 -n 100 --tol 1e-9", "real", 1, inner(100, 0)),
    "hubbard": ("hubbard:sites=12,up=4,down=3,disorder=1", "--target -8 -n 50 --tol 1e-9", "real", 1, inner(50, -8)),
    "graphene": ("graphene:nx=707,ny=707", "--smallest 20", "real", 1, ends("smallest", 20)),
    "graphene-200": ("graphene:nx=200,ny=200", "--smallest 20", "real", 1, ends("smallest", 20)),
    "graphene-200-disorder": ("graphene:nx=200,ny=200,disorder=0.5", "--smallest 20", "real", 1, ends("smallest", 20)),
    "delaunay-largest": ("delaunay:nx=400,ny=400", "--largest 10", "real", 1, ends("largest", 10)),
    "spinchain": ("spinchain:sites=20", "--smallest 20", "real", 1, ends("smallest", 20)),
    "matpde": ("matpde:nx=1024,ny=1024", "--largest-real 10 --search 20 --tol 1e-6", "real", 0,
               {SLEPC + "krylov-schur": "-eps_nev 10 -eps_ncv 20 -eps_largest_real -eps_tol 1e-6"}),
}
ONE = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def has(python, package):
    return os.path.exists(python) and subprocess.run([python, "-c", f"import {package}"],
                                                     stderr=subprocess.DEVNULL).returncode == 0


def prepare(o, case, name, options, matrix):
    """What starts a peer, but for what wisp's result has to tell; or None and why there is none."""
    _, _, kind, hermitian, _ = CASES[case]
    if not name.startswith(SLEPC):
        python = f"{o.build}/venv-eig/bin/python"
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "eig_python.py")
        if not has(python, name):
            return None, f"{python} has no package {name}"
        return ([python, program, matrix, name, *options.split()], {}), None
    program = f"{o.build}/eig-slepc-{kind}"
    if not os.path.exists(program):
        return None, f"{program} is missing"
    return (["mpiexec", "--allow-run-as-root", "--oversubscribe", "-n", "2", program, matrix, str(hermitian),
             *options.split()], ONE), None


def told(command, first):
    """With what wisp's first result tells: the range of the eigenvalues, a little widened, the degree, their number."""
    if not any("{" in word for word in command):
        return command
    low, high = min(first["eigenvalues"]), max(first["eigenvalues"])
    more = 1e-3 * (high - low)
    return [word.format(low=low - more, high=high + more, degree=first["degree"], found=first["found"])
            for word in command]


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


def outcome(result):
    values = result.get("eigenvalues", [])
    if "low" in result:  # a peer's
        return (f"{result['found']} from {result['low']:.9g} to {result['high']:.9g}, "
                f"residual {result['residual']:.1e}")
    if values and all(isinstance(v, float) for v in values):
        return f"{result['found']} from {min(values):.9g} to {max(values):.9g}"
    return str(result["found"])


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
        spec, options, _, _, peers = CASES[case]
        matrix = f"{o.build}/{case}.crs"
        subprocess.run([wisp, "gen", spec, "-o", matrix], check=True, stdout=subprocess.DEVNULL)
        jobs = {"wisp": ([wisp, "eig", spec, *options.split(), "--json"], {})}
        for name, more in peers.items():
            job, why = prepare(o, case, name, more, matrix)
            if job:
                jobs[name] = job
            else:
                print(f"{case}: {name} is left out, for {why}")
        seconds, found, limit, first = {j: [] for j in jobs}, {}, None, None
        for _ in range(o.rounds):
            order = list(jobs) if limit is None else random.sample(list(jobs), len(jobs))
            for job in order:
                command, environment = jobs[job]
                result = run(told(command, first), limit, environment)
                if job == "wisp" and not result:
                    sys.exit(f"eig: wisp gives no result for {case}")
                taken = result["seconds"] if result else float("inf")
                seconds[job].append(taken["total"] if isinstance(taken, dict) else taken)
                found[job] = outcome(result) if result else "given up, or failed"
                if job == "wisp":
                    first = first or result
                    limit = o.limit * max(seconds["wisp"]) + 10
        base = statistics.median(seconds["wisp"])
        for job, times in seconds.items():
            print(f"{case:14} {job:22} {statistics.median(times):9.3f} s  ({min(times):.3f} to {max(times):.3f})  "
                  f"{statistics.median(times) / base:6.2f}  found: {found[job]}", flush=True)


main()
