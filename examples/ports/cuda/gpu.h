/* One source for CUDA, HIP and a host without a GPU: the names of the runtime, and how a kernel is launched. */
#pragma once
#include <stddef.h>

#if defined(__HIP__) || defined(__HIPCC__)
#include <hip/hip_runtime.h>
#define GPU(name) hip##name
#elif defined(__CUDACC__)
#include <cuda_runtime.h>
#define GPU(name) cuda##name
#else
#include "host.h"
#define GPU(name) host##name
#endif

/* a·b + c, rounded once. */
static __device__ __forceinline__ float fused(float a, float b, float c) { return fmaf(a, b, c); }
static __device__ __forceinline__ double fused(double a, double b, double c) { return fma(a, b, c); }
