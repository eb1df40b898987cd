/* The words of CUDA C++ that kernel/dialect.h takes, as HIP's own headers have them: for hip.py, which goes without
 * those. */
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(n) __attribute__((launch_bounds(n)))
#define __longlong_as_double(n) __builtin_bit_cast(double, (long long)(n))
#define isfinite(x) __builtin_isfinite(x)
#pragma clang force_cuda_host_device begin
struct hip_place {
    unsigned x;
};
#define threadIdx (hip_place{__builtin_amdgcn_workitem_id_x()})
#define blockIdx (hip_place{__builtin_amdgcn_workgroup_id_x()})
#define gridDim (hip_place{__builtin_amdgcn_grid_size_x() / GROUP_SIZE})
#define __threadfence() __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent")
#define __syncthreads() (__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"), __builtin_amdgcn_s_barrier())
#define atomicAdd(at, n) __atomic_fetch_add(at, n, __ATOMIC_RELAXED)
#define pow library_pow /* HIP's own library has it; without it the compiler knows none */
extern "C" __device__ double fma(double, double, double), sqrt(double), hypot(double, double), pow(double, double),
    fabs(double), fmax(double, double), fmin(double, double);
