/* Exact sums of several threads: each adds its own terms, and their merged sum is rounded once. Compile: cc sums.c -pthread $(pkg-config --cflags --libs lanefield) */
#include <lanefield.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, TERMS = 30000 };

static double terms[THREADS * TERMS];

struct rank {
    int number;
    lf_exact_sum *sum;
};

static void must(lf_status status) {
    if (status != LF_OK) {
        fprintf(stderr, "%s\n", lf_last_error());
        exit(1);
    }
}

static void *add(void *argument) {
    struct rank *rank = argument;
    must(lf_exact_sum_create(&rank->sum));
    must(lf_exact_sum_add_array(rank->sum, terms + rank->number * TERMS, TERMS));
    return NULL;
}

int main(void) {
    /* Large terms that cancel, and a small one that remains. */
    for (int k = 0; k < THREADS * TERMS; ++k)
        terms[k] = (k % 2 ? -1e300 : 1e300) / (1 + k / 2 % 7);
    pthread_t threads[THREADS];
    struct rank ranks[THREADS];
    for (int k = 0; k < THREADS; ++k) {
        ranks[k].number = k;
        if (pthread_create(&threads[k], NULL, add, &ranks[k]))
            return 1;
    }
    lf_exact_sum *total;
    must(lf_exact_sum_create(&total));
    must(lf_exact_sum_add(total, 0x1p-1074));
    int64_t words[LF_EXACT_SUM_WORDS] = {0}, of_rank[LF_EXACT_SUM_WORDS];
    for (int k = 0; k < THREADS; ++k) {
        pthread_join(threads[k], NULL);
        /* As MPI_Allreduce would with MPI_SUM. */
        must(lf_exact_sum_words(ranks[k].sum, of_rank));
        for (int word = 0; word < LF_EXACT_SUM_WORDS; ++word)
            words[word] += of_rank[word];
        lf_exact_sum_free(ranks[k].sum);
    }
    lf_exact_sum *reduced;
    must(lf_exact_sum_create(&reduced));
    must(lf_exact_sum_set_words(reduced, words));
    must(lf_exact_sum_merge(total, reduced));
    double value;
    must(lf_exact_sum_round(total, &value));
    printf("the sum of %d terms is %a\n", THREADS * TERMS + 1, value);
    lf_exact_sum_free(reduced);
    lf_exact_sum_free(total);
    return value != 0x1p-1074;
}
