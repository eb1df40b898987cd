/* Seconds of cuSPARSE's product of a 7-point lattice, in CSR and double precision, with a column or a row-major block:
   gpu_cusparse SIDE WIDTH. The libraries are opened by their names. */
#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *open_one(const char *const *names)
{
    void *library = NULL;
    for (; *names && !library; names++) library = dlopen(*names, RTLD_NOW | RTLD_GLOBAL);
    return library;
}

static void *runtime, *sparse;
static void *find(void *library, const char *name)
{
    void *symbol = library ? dlsym(library, name) : NULL;
    if (symbol) return symbol;
    fprintf(stderr, "gpu_cusparse: there is no %s\n", name);
    exit(1);
}
#define CALL(library, f, ...)                                           \
    do {                                                                \
        __typeof__(&f) call = (__typeof__(&f))find(library, #f);        \
        const int error = (int)call(__VA_ARGS__);                       \
        if (error) {                                                    \
            fprintf(stderr, "gpu_cusparse: " #f ": error %d\n", error); \
            exit(1);                                                    \
        }                                                               \
    } while (0)

static int64_t fill(int n, int32_t *first, int32_t *col, double *val)
{
    int64_t k = 0;
    for (int32_t row = 0; row < n * n * n; row++) {
        const int x = row % n, y = row / n % n, z = row / n / n;
        first[row] = (int32_t)k;
        const int there[7] = {z > 0, y > 0, x > 0, 1, x < n - 1, y < n - 1, z < n - 1};
        const int32_t away[7] = {-n * n, -n, -1, 0, 1, n, n * n};
        for (int i = 0; i < 7; i++) {
            if (!there[i]) continue;
            col[k] = row + away[i];
            val[k++] = i == 3 ? 6 : -1;
        }
    }
    first[n * n * n] = (int32_t)k;
    return k;
}

static void *on_device(const void *host, size_t bytes)
{
    void *there = NULL;
    CALL(runtime, cudaMalloc, &there, bytes);
    if (host) CALL(runtime, cudaMemcpy, there, host, bytes, cudaMemcpyHostToDevice);
    if (!host) CALL(runtime, cudaMemset, there, 0, bytes);
    return there;
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    enum { ROUNDS = 9, EACH = 10 };
    static const char *const runtimes[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so",
                                           NULL};
    static const char *const sparses[] = {"libcusparse.so.12", "libcusparse.so.11", "libcusparse.so", NULL};
    const int n = argc > 1 ? atoi(argv[1]) : 0, width = argc > 2 ? atoi(argv[2]) : 1;
    if (n < 2 || n > 400 || width < 1) return fprintf(stderr, "usage: gpu_cusparse SIDE WIDTH\n"), 2;
    runtime = open_one(runtimes);
    sparse = open_one(sparses);
    const size_t rows = (size_t)n * (size_t)n * (size_t)n;
    int32_t *first = malloc((rows + 1) * sizeof *first), *col = malloc(7 * rows * sizeof *col);
    double *val = malloc(7 * rows * sizeof *val), one = 1, zero = 0;
    if (!first || !col || !val) return fprintf(stderr, "gpu_cusparse: out of memory\n"), 1;
    const int64_t nnz = fill(n, first, col, val), r = (int64_t)rows;
    void *dfirst = on_device(first, (rows + 1) * sizeof *first), *dcol = on_device(col, (size_t)nnz * sizeof *col),
         *dval = on_device(val, (size_t)nnz * sizeof *val), *x = on_device(NULL, rows * (size_t)width * sizeof one),
         *y = on_device(NULL, rows * (size_t)width * sizeof one), *work;
    cusparseHandle_t handle;
    cusparseSpMatDescr_t A;
    cusparseDnVecDescr_t vx, vy;
    cusparseDnMatDescr_t mx, my;
    cudaEvent_t begin, end;
    size_t bytes = 0;
    float ms[ROUNDS];
    CALL(sparse, cusparseCreate, &handle);
    CALL(sparse, cusparseCreateCsr, &A, r, r, nnz, dfirst, dcol, dval, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
         CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F);
    CALL(sparse, cusparseCreateDnVec, &vx, r, x, CUDA_R_64F);
    CALL(sparse, cusparseCreateDnVec, &vy, r, y, CUDA_R_64F);
    CALL(sparse, cusparseCreateDnMat, &mx, r, width, width, x, CUDA_R_64F, CUSPARSE_ORDER_ROW);
    CALL(sparse, cusparseCreateDnMat, &my, r, width, width, y, CUDA_R_64F, CUSPARSE_ORDER_ROW);
    const cusparseOperation_t as = CUSPARSE_OPERATION_NON_TRANSPOSE;
    if (width == 1)
        CALL(sparse, cusparseSpMV_bufferSize, handle, as, &one, A, vx, &zero, vy, CUDA_R_64F, CUSPARSE_SPMV_CSR_ALG1,
             &bytes);
    else
        CALL(sparse, cusparseSpMM_bufferSize, handle, as, as, &one, A, mx, &zero, my, CUDA_R_64F,
             CUSPARSE_SPMM_CSR_ALG2, &bytes);
    work = on_device(NULL, bytes + 1);
    CALL(runtime, cudaEventCreate, &begin);
    CALL(runtime, cudaEventCreate, &end);
    for (int i = -1; i < ROUNDS; i++) {
        CALL(runtime, cudaEventRecord, begin, NULL);
        for (int k = 0; k < EACH; k++) {
            if (width == 1)
                CALL(sparse, cusparseSpMV, handle, as, &one, A, vx, &zero, vy, CUDA_R_64F, CUSPARSE_SPMV_CSR_ALG1,
                     work);
            else
                CALL(sparse, cusparseSpMM, handle, as, as, &one, A, mx, &zero, my, CUDA_R_64F, CUSPARSE_SPMM_CSR_ALG2,
                     work);
        }
        CALL(runtime, cudaEventRecord, end, NULL);
        CALL(runtime, cudaEventSynchronize, end);
        if (i >= 0) CALL(runtime, cudaEventElapsedTime, ms + i, begin, end);
    }
    qsort(ms, ROUNDS, sizeof *ms, by_value);
    printf("{\"rows\": %zu, \"nnz\": %lld, \"width\": %d, \"seconds\": %.9g}\n", rows, (long long)nnz, width,
           1e-3 * ms[ROUNDS / 2] / EACH);
    return 0;
}
