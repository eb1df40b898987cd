/* ViennaCL's solvers on the host, by OpenMP: without a preconditioner its pipelined ones. PROGRAM FILE METHOD
 * ITERATIONS TOLERANCE none|jacobi: so many iterations at most; GMRES restarts after 30. */
#include "peer.h"
#include <viennacl/compressed_matrix.hpp>
#include <viennacl/linalg/bicgstab.hpp>
#include <viennacl/linalg/cg.hpp>
#include <viennacl/linalg/gmres.hpp>
#include <viennacl/linalg/jacobi_precond.hpp>
#include <viennacl/version.hpp>
#include <memory>
#include <vector>

struct linear_system {
    viennacl::compressed_matrix<double> A;
    typedef viennacl::linalg::jacobi_precond<viennacl::compressed_matrix<double>> jacobi;
    viennacl::vector<double> b, x;
    std::unique_ptr<jacobi> diagonal; /* NULL: no preconditioner */
    int method;
    unsigned most;
    double tolerance;
    int64_t iterations;

    template <typename tag> void by(const tag &t)
    {
        x = diagonal ? viennacl::linalg::solve(A, b, t, *diagonal) : viennacl::linalg::solve(A, b, t);
        iterations = (int64_t)t.iters();
    }
    static void step(void *arg)
    {
        linear_system *p = static_cast<linear_system *>(arg);
        if (p->method == 'c')
            p->by(viennacl::linalg::cg_tag(p->tolerance, p->most));
        else if (p->method == 'b') /* no restart */
            p->by(viennacl::linalg::bicgstab_tag(p->tolerance, p->most, p->most + 1));
        else
            p->by(viennacl::linalg::gmres_tag(p->tolerance, p->most, 30));
    }
    static double square(void *arg)
    {
        const double norm = viennacl::linalg::norm_2(static_cast<linear_system *>(arg)->x);
        return norm * norm;
    }
    static int64_t taken(void *arg) { return static_cast<linear_system *>(arg)->iterations; }
    static double residual(void *arg)
    {
        linear_system *p = static_cast<linear_system *>(arg);
        viennacl::vector<double> r = viennacl::linalg::prod(p->A, p->x);
        r -= p->b;
        return viennacl::linalg::norm_2(r) / viennacl::linalg::norm_2(p->b);
    }
    static double setup(void *arg)
    {
        linear_system *p = static_cast<linear_system *>(arg);
        p->diagonal.reset();
        const double began = peer_clock();
        p->diagonal.reset(new jacobi(p->A, viennacl::linalg::jacobi_tag()));
        return peer_clock() - began;
    }
};

int main(int argc, char **argv)
{
    if (argc < 6) peer_fail("usage", "FILE METHOD ITERATIONS TOLERANCE none|jacobi");
    const peer_matrix m = peer_read(argv[1], 0, 1);
    if (m.reals != 1) peer_fail(argv[1], "ViennaCL's solvers take real matrices alone");
    linear_system p;
    std::vector<double> b((size_t)m.rows);
    for (int64_t i = 0; i < m.rows; i++) b[(size_t)i] = peer_x(i, 0, 0);
    p.A.set(m.rowptr, m.col, m.val, (size_t)m.rows, (size_t)m.cols, (size_t)m.nnz);
    p.b = viennacl::vector<double>((size_t)m.rows);
    p.x = viennacl::vector<double>((size_t)m.rows);
    viennacl::copy(b, p.b);
    p.method = argv[2][0], p.most = (unsigned)atoi(argv[3]), p.tolerance = atof(argv[4]);
    const bool none = !strcmp(argv[5], "none");
    if (!none) p.setup(&p);
    peer all = {"ViennaCL 1.7.1, OpenMP, -O3 -march=native",
                p.step,
                p.square,
                &p,
                0,
                1,
                nullptr,
                nullptr,
                p.taken,
                p.residual,
                none ? nullptr : p.setup};
    peer_serve(&all);
    return 0;
}
