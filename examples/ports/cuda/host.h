/* The names of CUDA on a host without a GPU: threads run one after the other, in blocks of one. So the port's arithmetic can be tested anywhere. */
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#define ON_HOST 1
#define __device__
#define __host__
#define __global__
#define __shared__ static
#define __forceinline__ inline
#define __launch_bounds__(threads)

struct Index {
    unsigned x;
};
static Index blockIdx, blockDim, threadIdx, gridDim;

static inline void __syncthreads() {}
static inline void atomicAdd(unsigned long long* to, unsigned long long a) { *to += a; }
static inline void atomicOr(unsigned* to, unsigned a) { *to |= a; }
static inline long long __double_as_longlong(double a) {
    long long bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}
using std::fabs;
using std::signbit;

typedef int hostError_t;
enum { hostSuccess, hostMemcpyHostToDevice, hostMemcpyDeviceToHost };
static inline hostError_t hostMalloc(void** data, size_t bytes) { return (*data = malloc(bytes)) ? hostSuccess : 1; }
static inline hostError_t hostFree(void* data) { return free(data), hostSuccess; }
static inline hostError_t hostMemcpy(void* to, const void* from, size_t bytes, int) { return memcpy(to, from, bytes), hostSuccess; }
static inline hostError_t hostGetLastError() { return hostSuccess; }
static inline const char* hostGetErrorString(hostError_t) { return "out of memory"; }
