/* MKL's inspector-executor: mkl_sparse_?_mv, and mkl_sparse_?_mm with row-major blocks, after hints and optimize. */
#define MKL_Complex16 peer_complex
typedef struct {
    double real, imag;
} peer_complex;
#include "peer.h"
#include <mkl.h>

typedef struct {
    sparse_matrix_t A;
    struct matrix_descr kind;
    int64_t n; /* reals in y */
    double *x, *y;
    int reals, width;
} product;

static void check(sparse_status_t status, const char *what)
{
    if (status == SPARSE_STATUS_SUCCESS) return;
    fprintf(stderr, "MKL: %s: status %d\n", what, (int)status);
    exit(1);
}

static void step(void *arg)
{
    const product *p = arg;
    const sparse_operation_t op = SPARSE_OPERATION_NON_TRANSPOSE;
    const peer_complex one = {1, 0}, zero = {0, 0};
    const peer_complex *x = (const peer_complex *)p->x;
    peer_complex *y = (peer_complex *)p->y;
    const int w = p->width;
    if (p->reals == 1 && w == 1)
        check(mkl_sparse_d_mv(op, 1, p->A, p->kind, p->x, 0, p->y), "mkl_sparse_d_mv");
    else if (p->reals == 1)
        check(mkl_sparse_d_mm(op, 1, p->A, p->kind, SPARSE_LAYOUT_ROW_MAJOR, p->x, w, w, 0, p->y, w),
              "mkl_sparse_d_mm");
    else if (w == 1)
        check(mkl_sparse_z_mv(op, one, p->A, p->kind, x, zero, y), "mkl_sparse_z_mv");
    else
        check(mkl_sparse_z_mm(op, one, p->A, p->kind, SPARSE_LAYOUT_ROW_MAJOR, x, w, w, zero, y, w), "mkl_sparse_z_mm");
}

static double square(void *arg)
{
    const product *p = arg;
    double sum = 0;
    for (int64_t i = 0; i < p->n; i++) sum += p->y[i] * p->y[i];
    return sum;
}

static void open_matrix(product *p, const peer_matrix *m)
{
    const MKL_INT rows = (MKL_INT)m->rows, cols = (MKL_INT)m->cols;
    const sparse_operation_t op = SPARSE_OPERATION_NON_TRANSPOSE;
    p->kind.type = SPARSE_MATRIX_TYPE_GENERAL;
    if (m->reals == 1)
        check(mkl_sparse_d_create_csr(&p->A, SPARSE_INDEX_BASE_ZERO, rows, cols, m->rowptr, m->rowptr + 1, m->col,
                                      m->val),
              "mkl_sparse_d_create_csr");
    else
        check(mkl_sparse_z_create_csr(&p->A, SPARSE_INDEX_BASE_ZERO, rows, cols, m->rowptr, m->rowptr + 1, m->col,
                                      (peer_complex *)m->val),
              "mkl_sparse_z_create_csr");
    const MKL_INT calls = 100000;
    if (p->width == 1)
        check(mkl_sparse_set_mv_hint(p->A, op, p->kind, calls), "mkl_sparse_set_mv_hint");
    else
        check(mkl_sparse_set_mm_hint(p->A, op, p->kind, SPARSE_LAYOUT_ROW_MAJOR, p->width, calls),
              "mkl_sparse_set_mm_hint");
    check(mkl_sparse_set_memory_hint(p->A, SPARSE_MEMORY_AGGRESSIVE), "mkl_sparse_set_memory_hint");
    check(mkl_sparse_optimize(p->A), "mkl_sparse_optimize");
}

/* The kernels that MKL took for this processor, by the library it has loaded: "def" is the generic one. */
static void kernels(char *name, size_t size)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    snprintf(name, size, "?");
    while (maps && fgets(line, sizeof line, maps)) {
        static const char *const names[] = {"def", "mc3", "avx2", "avx512", "avx10"};
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            char file[32];
            snprintf(file, sizeof file, "libmkl_%s.so", names[i]);
            if (strstr(line, file)) snprintf(name, size, "%s", names[i]);
        }
    }
    if (maps) fclose(maps);
}

int main(int argc, char **argv)
{
    if (argc < 3 || atoi(argv[2]) < 1) peer_fail("usage", "FILE WIDTH");
    const peer_matrix m = peer_read(argv[1], 0, 1);
    product p = {.width = atoi(argv[2]), .reals = m.reals};
    open_matrix(&p, &m);
    p.n = m.rows * p.width * p.reals;
    p.x = peer_alloc((size_t)(m.cols * p.width * p.reals) * sizeof(double));
    p.y = peer_alloc((size_t)p.n * sizeof(double));
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < m.cols; i++)
        for (int64_t k = 0; k < (int64_t)p.width * p.reals; k++)
            p.x[i * p.width * p.reals + k] = peer_x(i, k / p.reals, (int)(k % p.reals));
    MKLVersion v;
    char version[128], isa[16];
    mkl_get_version(&v);
    kernels(isa, sizeof isa);
    snprintf(version, sizeof version, "MKL %d.%d with its %s kernels", v.MajorVersion, v.UpdateVersion, isa);
    peer_serve(&(peer){.version = version, .step = step, .square = square, .arg = &p, .ranks = 1});
    return 0;
}
