/* OpenMP regions whose threads share their work well and badly, each in an NVTX range of its name.
 *
 *   balanced    equal iterations, spread evenly
 *   unbalanced  iteration i takes i times as long, spread evenly: the last of 4 threads has 7/16 of the work
 *   dynamic     the same, each thread takes the next iteration when it is done
 *   tasks       one thread makes tasks, all run them
 *   critical    every thread works inside a critical section, so one at a time, then meets the others at a barrier
 *
 * No GPU is used. libgomp tells tools nothing, LLVM's libomp does, so link that one:
 *   gcc -O2 -fopenmp -I/usr/local/cuda/include -c openmp_regions.c && gcc openmp_regions.o -l:libomp.so.5 -o openmp_regions
 */
#include <nvtx3/nvToolsExt.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { ITERATIONS = 64, TASKS = 8, TURNS = 2 };
static volatile double result[ITERATIONS], first = 1.5; /* volatile: no compiler leaves the work out */

/* Some 2 µs per unit. */
static double work(int units) {
  double x = first;
  for (long i = 0; i < 1000L * units; i++) x = x * 0.9999999 + 1e-7;
  return x;
}

static void balanced(void) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < ITERATIONS; i++) result[i] = work(ITERATIONS / 2);
}

static void unbalanced(void) {
#pragma omp parallel for schedule(static)
  for (int i = 0; i < ITERATIONS; i++) result[i] = work(i);
}

static void dynamic(void) {
#pragma omp parallel for schedule(dynamic, 1)
  for (int i = 0; i < ITERATIONS; i++) result[i] = work(i);
}

static void tasks(void) {
#pragma omp parallel
#pragma omp single
  for (int i = 0; i < TASKS; i++)
#pragma omp task firstprivate(i)
    result[i] = work(100);
}

static void critical(void) {
#pragma omp parallel
  {
    double own = work(50);
    for (int turn = 0; turn < TURNS; turn++)
#pragma omp critical
      result[0] = result[0] + own + work(50);
#pragma omp barrier
    result[omp_get_thread_num()] += work(50);
  }
}

static void region(const char *name, void (*run)(void)) {
  nvtxRangePushA(name);
  run();
  nvtxRangePop();
}

int main(int count, char **words) {
  int rounds = count > 1 ? atoi(words[1]) : 10;
  for (int round = 0; round < rounds; round++) {
    char name[32];
    snprintf(name, sizeof name, "round_%d", round);
    nvtxRangePushA(name);
    region("balanced", balanced);
    region("unbalanced", unbalanced);
    region("dynamic", dynamic);
    region("tasks", tasks);
    region("critical", critical);
    nvtxRangePop();
  }
  printf("%g, %d threads\n", result[0], omp_get_max_threads());
}
