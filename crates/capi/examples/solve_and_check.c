/* A solve, and a check of a hop with an error in it. Compile: cc solve_and_check.c $(pkg-config --cflags --libs lanefield) */
#include <lanefield.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program if a function failed. */
static void must(lf_status status, const char *what) {
    if (status != LF_OK) {
        fprintf(stderr, "%s: %s: %s\n", what, lf_status_name(status), lf_last_error());
        exit(1);
    }
}

static void *room(size_t bytes) {
    void *memory = malloc(bytes);
    if (!memory) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return memory;
}

/* Counts iterations in what `user` points to. */
static int32_t progress(void *user, uint64_t iteration, double residual) {
    *(uint64_t *)user = iteration;
    if (iteration % 20 == 0)
        printf("iteration %llu: |r|/|b| = %.2e\n", (unsigned long long)iteration, residual);
    return 0;
}

/* Solves M psi = eta for a point source, and applies M to the solution. */
static void solve(const lf_context *context, const lf_configuration *configuration) {
    lf_parameter mass = {"mass", 0.5, NULL};
    lf_operator *wilson;
    must(lf_operator_create(context, configuration, "wilson", &mass, 1, &wilson), "lf_operator_create");
    size_t reals;
    must(lf_operator_reals(wilson, &reals), "lf_operator_reals");
    double *eta = room(reals * sizeof *eta), *psi = room(reals * sizeof *psi);
    memset(eta, 0, reals * sizeof *eta);
    eta[0] = 1; /* Site 0, spin 0, colour 0, real part. */

    uint64_t iterations = 0;
    lf_solve_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.tolerance = 1e-9;
    options.progress = progress;
    options.user = &iterations;
    lf_solve_info info;
    memset(&info, 0, sizeof info);
    info.size = sizeof info;
    must(lf_solve(wilson, eta, psi, reals, &options, &info), "lf_solve");
    if (info.iterations == 0 || info.iterations != iterations || info.history_length != iterations + 1) {
        fprintf(stderr, "%llu iterations were told\n", (unsigned long long)iterations);
        exit(1);
    }

    /* The residual, by hand: the array psi becomes eta - M psi. */
    must(lf_operator_apply_f64(wilson, LF_FULL, LF_ALL_SITES, 0, psi, psi, reals), "lf_operator_apply_f64");
    for (size_t k = 0; k < reals; ++k)
        psi[k] = eta[k] - psi[k];
    double residual;
    must(lf_norm2_f64(context, psi, reals / 24, 12, &residual), "lf_norm2_f64");
    printf("%llu iterations, |eta - M psi|^2 = %.2e\n", (unsigned long long)info.iterations, residual);
    if (!(residual < 1e-16) || !(info.solution_residual < 1e-8))
        exit(1);
    free(eta);
    free(psi);
    lf_operator_free(wilson);
}

/* A hop that we pretend to have computed, in f32, with one bit wrong. */
static void check(const lf_context *context, const lf_configuration *configuration) {
    lf_operator *hop;
    must(lf_operator_create(context, configuration, "hop", NULL, 0, &hop), "lf_operator_create");
    size_t reals;
    must(lf_operator_reals(hop, &reals), "lf_operator_reals");
    float *source = room(reals * sizeof *source), *result = room(reals * sizeof *result);
    for (size_t k = 0; k < reals; ++k)
        source[k] = (float)(k % 17) - 8;
    must(lf_operator_apply_f32(hop, LF_FULL, LF_EVEN, 0, source, result, reals), "lf_operator_apply_f32");

    lf_report report;
    memset(&report, 0, sizeof report);
    report.size = sizeof report;
    must(lf_check_hop_f32(context, configuration, NULL, 0, LF_EVEN, 0, source, result, reals, &report), "lf_check_hop_f32");
    printf("%s\n", report.text);

    size_t place = 24 * 5 + 2 * (3 * 2 + 1) + 1; /* Site 5, spin 2, colour 1, imaginary part. */
    uint32_t bits;
    memcpy(&bits, &result[place], sizeof bits);
    bits ^= 1;
    memcpy(&result[place], &bits, sizeof bits);
    lf_status status = lf_check_hop_f32(context, configuration, NULL, 0, LF_EVEN, 0, source, result, reals, &report);
    printf("%s: %s\n", lf_status_name(status), report.text);
    if (status != LF_DIFFERENT || report.differing != 1 || report.ulp != 1 || report.spin != 2 || report.colour != 1 || report.part != 1 ||
        report.site[0] != 1 || report.site[1] != 1 || report.site[2] != 0 || report.site[3] != 0)
        exit(1);
    free(source);
    free(result);
    lf_operator_free(hop);
}

int main(int argc, char **argv) {
    lf_context *context;
    must(lf_context_create(argc > 1 ? argv[1] : "cpu", 2, &context), "lf_context_create");
    const char *device;
    must(lf_context_describe(context, &device), "lf_context_describe");
    printf("running on %s\n", device);

    const int32_t extents[4] = {4, 2, 2, 4};
    lf_configuration *configuration;
    must(lf_configuration_hot(context, extents, 7, &configuration), "lf_configuration_hot");
    solve(context, configuration);
    check(context, configuration);

    /* A failure says why. */
    lf_operator *none = NULL;
    lf_status status = lf_operator_create(context, configuration, "overlap", NULL, 0, &none);
    printf("%s: %s\n", lf_status_name(status), lf_last_error());
    if (status != LF_INVALID_ARGUMENT || none)
        return 1;
    lf_configuration_free(configuration);
    lf_context_free(context);
    return 0;
}
