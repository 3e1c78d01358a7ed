// A few operations that an OpenCL device does not compute as IEEE 754 and OpenCL C define them: each rounded once, to nearest even, subnormal numbers
// kept, nothing contracted (FP_CONTRACT OFF; fma where it is asked for). They were found in FOUND_ON kernels.
//
//     cc -o least least.c -lOpenCL && ./least [PLATFORM [OPTIONS]]
//
// PLATFORM is a number, 0 where it is not given; OPTIONS are options of the build. Exit status: 0 the bits are right, 1 they are not, 2 it did not run.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *source =
SOURCE;

static const cl_ulong inputs[] = {INPUTS};
static const cl_ulong expected[] = {EXPECTED};

static void check(cl_int status, const char *call) {
    if (status != CL_SUCCESS) {
        fprintf(stderr, "%s failed with status %d\n", call, status);
        exit(2);
    }
}

static int is_nan(cl_ulong bits) { return (bits & ~(1ull << 63)) > 0x7ff0000000000000ull; }

int main(int argc, char **argv) {
    cl_platform_id platforms[16];
    cl_uint number = argc > 1 ? (cl_uint)atoi(argv[1]) : 0, count = 0;
    cl_device_id device;
    cl_int status;
    check(clGetPlatformIDs(16, platforms, &count), "clGetPlatformIDs");
    if (number >= count) {
        fprintf(stderr, "there are %u platforms, and no number %u\n", count, number);
        return 2;
    }
    check(clGetDeviceIDs(platforms[number], CL_DEVICE_TYPE_ALL, 1, &device, NULL), "clGetDeviceIDs");
    char name[256] = "", version[256] = "";
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL);
    clGetDeviceInfo(device, CL_DRIVER_VERSION, sizeof version, version, NULL);
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &status);
    check(status, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &status);
    check(status, "clCreateCommandQueue");
    cl_program program = clCreateProgramWithSource(context, 1, &source, NULL, &status);
    check(status, "clCreateProgramWithSource");
    cl_device_fp_config single = 0;
    clGetDeviceInfo(device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof single, &single, NULL);
    char options[1024];
    snprintf(options, sizeof options, "-cl-std=CL1.2 %s %s",
             single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT ? "-cl-fp32-correctly-rounded-divide-sqrt" : "",
             argc > 2 ? argv[2] : "");
    check(clBuildProgram(program, 1, &device, options, NULL, NULL), "clBuildProgram");
    cl_kernel kernel = clCreateKernel(program, "least", &status);
    check(status, "clCreateKernel");
    cl_mem in = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof inputs, (void *)inputs, &status);
    check(status, "clCreateBuffer");
    cl_mem out = clCreateBuffer(context, CL_MEM_WRITE_ONLY, sizeof expected, NULL, &status);
    check(status, "clCreateBuffer");
    check(clSetKernelArg(kernel, 0, sizeof in, &in), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof out, &out), "clSetKernelArg");
    size_t one = 1;
    check(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL), "clEnqueueNDRangeKernel");
    cl_ulong found[2];
    check(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL), "clEnqueueReadBuffer");
    printf("%s, driver %s, built with %s\n", name, version, options);
    int wrong = 0;
    for (int k = 0; k < 2; ++k) {
        double x, y;
        int differs = found[k] != expected[k] && !(is_nan(found[k]) && is_nan(expected[k]));
        memcpy(&x, &found[k], sizeof x);
        memcpy(&y, &expected[k], sizeof y);
        printf("%s part: %a, expected %a%s\n", k == 0 ? "real" : "imaginary", x, y, differs ? ", DIFFERENT" : "");
        wrong |= differs;
    }
    return wrong;
}
