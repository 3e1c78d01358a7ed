// What emitted kernels take from the headers of HIP and CUDA, so that clang compiles them where these are not.
#pragma once

#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __forceinline__ __inline__ __attribute__((always_inline))

struct place_of_a_thread {
    unsigned int x, y, z;
};
extern const __device__ place_of_a_thread blockIdx, blockDim, threadIdx;

__device__ void __syncthreads();
__device__ unsigned int __float_as_uint(float);
__device__ int atomicAdd(int*, int);
__device__ int atomicMin(int*, int);
__device__ int atomicMax(int*, int);
__device__ unsigned int atomicAdd(unsigned int*, unsigned int);
__device__ unsigned int atomicMin(unsigned int*, unsigned int);
__device__ unsigned int atomicMax(unsigned int*, unsigned int);

#define DEVICE static __device__ inline
DEVICE float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
DEVICE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
DEVICE float sqrtf(float a) { return __builtin_sqrtf(a); }
DEVICE double sqrt(double a) { return __builtin_sqrt(a); }
DEVICE float fabsf(float a) { return __builtin_fabsf(a); }
DEVICE double fabs(double a) { return __builtin_fabs(a); }

#ifdef __CUDA__
#define ROUNDED(letter, fma, real)                                                                                     \
    __device__ real __##letter##add_rn(real, real);                                                                    \
    __device__ real __##letter##sub_rn(real, real);                                                                    \
    __device__ real __##letter##mul_rn(real, real);                                                                    \
    __device__ real __##letter##div_rn(real, real);                                                                    \
    __device__ real __##letter##sqrt_rn(real);                                                                         \
    __device__ real fma(real, real, real);
ROUNDED(f, __fmaf_rn, float)
ROUNDED(d, __fma_rn, double)
__device__ int __float_as_int(float);
__device__ long long __double_as_longlong(double);
#endif
