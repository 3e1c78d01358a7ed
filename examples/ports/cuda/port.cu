/* A port of the Wilson hop, clover's even-odd kernels and the exact norm to CUDA and HIP, by docs/arithmetic.md, that stands by itself: it takes nothing
   from Lanefield but golden data to check itself with.

     port golden DIR OUT    computes the cases of DIR that it has: then `lanefield golden check DIR --against OUT`
     port bench X Y Z T     times its kernels */
#include "golden.h"
#ifndef ON_HOST
#include "bench.h"
#endif

static int usage() {
    fprintf(stderr, "usage: port golden DIR OUT\n       port bench X Y Z T (X even)\n");
    return 2;
}

int main(int count, char** arguments) {
    const std::string command = count > 1 ? arguments[1] : "";
    try {
        if (command == "golden" && count == 4) {
            const int computed = golden(arguments[2], arguments[3]);
            printf("%d cases of %s computed, to be compared: lanefield golden check %s --against %s\n", computed, arguments[2], arguments[2], arguments[3]);
            return computed > 0 ? 0 : 2;
        }
#ifndef ON_HOST
        if (command == "bench" && count == 6) {
            unsigned extent[4];
            for (int d = 0; d < 4; d++) {
                extent[d] = (unsigned)strtoul(arguments[2 + d], nullptr, 10);
                if (extent[d] == 0 || extent[d] > 1024)
                    return usage();
            }
            if (extent[0] % 2)
                return usage();
            bench(extent);
            return 0;
        }
#endif
    } catch (const std::exception& error) {
        fprintf(stderr, "error: %s\n", error.what());
        return 2;
    }
    return usage();
}
