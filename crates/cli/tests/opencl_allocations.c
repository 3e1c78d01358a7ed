/* An OpenCL library whose clCreateBuffer fails from the n-th call on (FAIL_BUFFER), for so many calls (FAIL_CALLS; all, if it is not set), and which writes at the end how many buffers it made and how many are left (BUFFER_LOG).
 * All other functions are those of the OpenCL library that it is linked with. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)
#define MOST 65536

typedef void *(*create_buffer)(void *, unsigned long, size_t, void *, int *);
typedef int (*of_memory)(void *);

static long made;
/* The buffers there are, each with its number of references. */
static void *buffers[MOST];
static int references[MOST];

static int place(void *buffer) {
    int k = 0;
    while (k < MOST && buffers[k] != buffer) k++;
    return k;
}

void *clCreateBuffer(void *context, unsigned long flags, size_t size, void *host, int *status) {
    const char *fail = getenv("FAIL_BUFFER");
    const char *calls = getenv("FAIL_CALLS");
    if (fail && made >= atol(fail) && (!calls || made < atol(fail) + atol(calls))) {
        made++;
        if (status) *status = CL_MEM_OBJECT_ALLOCATION_FAILURE;
        return NULL;
    }
    made++;
    void *buffer = ((create_buffer)dlsym(RTLD_NEXT, "clCreateBuffer"))(context, flags, size, host, status);
    int k = buffer ? place(NULL) : MOST;
    if (k < MOST) buffers[k] = buffer, references[k] = 1;
    return buffer;
}

int clRetainMemObject(void *buffer) {
    int k = place(buffer);
    if (k < MOST) references[k]++;
    return ((of_memory)dlsym(RTLD_NEXT, "clRetainMemObject"))(buffer);
}

int clReleaseMemObject(void *buffer) {
    int k = place(buffer);
    if (k < MOST && --references[k] == 0) buffers[k] = NULL;
    return ((of_memory)dlsym(RTLD_NEXT, "clReleaseMemObject"))(buffer);
}

__attribute__((destructor)) static void tell(void) {
    const char *name = getenv("BUFFER_LOG");
    FILE *log = name ? fopen(name, "w") : NULL;
    if (!log) return;
    int left = 0;
    for (int k = 0; k < MOST; k++) left += buffers[k] != NULL;
    fprintf(log, "%ld %d\n", made, left);
    fclose(log);
}
