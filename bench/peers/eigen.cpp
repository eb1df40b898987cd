/* Eigen's row-major sparse matrix times a vector or a row-major block, whose width is a template argument for the
 * usual widths. */
#include "peer.h"
#include <Eigen/Sparse>
#include <complex>

template <typename T, int W> struct product {
    using block = Eigen::Matrix<T, Eigen::Dynamic, W, W == 1 ? Eigen::ColMajor : Eigen::RowMajor>;
    Eigen::Map<const Eigen::SparseMatrix<T, Eigen::RowMajor, int32_t>> A;
    block x, y;

    static void step(void *arg)
    {
        product *p = static_cast<product *>(arg);
        p->y.noalias() = p->A * p->x;
    }
    static double square(void *arg) { return static_cast<product *>(arg)->y.squaredNorm(); }
};

static double element(int64_t i, int j, double) { return peer_x(i, j, 0); }
static std::complex<double> element(int64_t i, int j, std::complex<double>)
{
    return {peer_x(i, j, 0), peer_x(i, j, 1)};
}

template <typename T, int W> static void serve(const peer_matrix &m, int width)
{
    product<T, W> p = {{m.rows, m.cols, m.nnz, m.rowptr, m.col, reinterpret_cast<const T *>(m.val)}, {}, {}};
    p.x.resize(m.cols, width);
    p.y.resize(m.rows, width);
    for (int64_t i = 0; i < m.cols; i++)
        for (int j = 0; j < width; j++) p.x(i, j) = element(i, j, T());
    char version[128];
    snprintf(version, sizeof version, "Eigen %d.%d.%d, gcc %d -O3 -march=native", EIGEN_WORLD_VERSION,
             EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION, __GNUC__);
    const peer all = {version, p.step, p.square, &p, 0, 1, nullptr, nullptr};
    peer_serve(&all);
}

template <typename T> static void choose(const peer_matrix &m, int width)
{
    switch (width) {
    case 1: return serve<T, 1>(m, width);
    case 4: return serve<T, 4>(m, width);
    case 8: return serve<T, 8>(m, width);
    case 16: return serve<T, 16>(m, width);
    case 32: return serve<T, 32>(m, width);
    default: return serve<T, Eigen::Dynamic>(m, width);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3 || atoi(argv[2]) < 1) peer_fail("usage", "FILE WIDTH");
    const peer_matrix m = peer_read(argv[1], 0, 1);
    m.reals == 2 ? choose<std::complex<double>>(m, atoi(argv[2])) : choose<double>(m, atoi(argv[2]));
    return 0;
}
