// What the kernels take from HIP's headers, so that clang compiles them where ROCm is not (`make gfx90a`).
#pragma once

#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __launch_bounds__(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))

struct IndexX { __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_id_x(); } };
struct ThreadX { __device__ operator unsigned() const { return __builtin_amdgcn_workitem_id_x(); } };
struct GroupX { __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_size_x(); } };
struct GroupsX { __device__ operator unsigned() const { return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(); } };
static struct { IndexX x; } const __device__ blockIdx;
static struct { ThreadX x; } const __device__ threadIdx;
static struct { GroupX x; } const __device__ blockDim;
static struct { GroupsX x; } const __device__ gridDim;

#define STUB static __device__ inline
STUB float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
STUB double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
STUB float fabs(float a) { return __builtin_fabsf(a); }
STUB double fabs(double a) { return __builtin_fabs(a); }
STUB bool signbit(float a) { return __builtin_signbit(a); }
STUB bool signbit(double a) { return __builtin_signbit(a); }
STUB long long __double_as_longlong(double a) { return __builtin_bit_cast(long long, a); }
STUB void __syncthreads() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup"); __builtin_amdgcn_s_barrier(); }
STUB void atomicAdd(unsigned long long* to, unsigned long long a) { __atomic_fetch_add(to, a, __ATOMIC_RELAXED); }
STUB void atomicOr(unsigned* to, unsigned a) { __atomic_fetch_or(to, a, __ATOMIC_RELAXED); }
