/* UCB on Bernoulli arms as fast as C goes: the limit. ucb(rounds, K, means, seed) returns the pseudo-regret. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static uint64_t state;

static double uniform(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
}

double ucb(int64_t rounds, int64_t K, const double *means, uint64_t seed) {
    double *pulls = calloc(K, sizeof(double)), *sums = calloc(K, sizeof(double)), regret = 0.0, highest = 0.0;
    state = seed;
    for (int64_t k = 0; k < K; k++) highest = fmax(highest, means[k]);
    for (int64_t t = 0; t < rounds; t++) {
        double scale = 2.0 * log((double)t + 1.0), top = -INFINITY;
        int64_t best = 0;
        for (int64_t k = 0; k < K; k++) {
            if (pulls[k] == 0.0) { best = k; break; }
            double index = sums[k] / pulls[k] + sqrt(scale / pulls[k]);
            if (index > top) { best = k; top = index; }
        }
        pulls[best] += 1.0;
        sums[best] += uniform() < means[best] ? 1.0 : 0.0;
        regret += highest - means[best];
    }
    free(pulls);
    free(sums);
    return regret;
}
