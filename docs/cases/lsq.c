/* Solves a least-squares problem of M equations and N unknowns with GSL's rank-revealing QR. */
#include <stdio.h>
#include <stdlib.h>
#include <gsl/gsl_linalg.h>

int main(int argc, char **argv)
{
  if (argc != 3) return fprintf(stderr, "lsq M N\n"), 2;
  const size_t m = atoi(argv[1]), n = atoi(argv[2]);
  gsl_matrix *a = gsl_matrix_alloc(m, n);
  gsl_vector *b = gsl_vector_alloc(m), *x = gsl_vector_alloc(n), *r = gsl_vector_alloc(m);
  gsl_vector *tau = gsl_vector_alloc(n), *norm = gsl_vector_alloc(n);
  gsl_permutation *p = gsl_permutation_alloc(n);
  unsigned long state = 1;
  int sign;
  for (size_t i = 0; i < m * n; i++) {
    state = state * 6364136223846793005UL + 1442695040888963407UL;
    a->data[i] = (double)(state >> 40) / (1 << 24);
  }
  for (size_t i = 0; i < m; i++) gsl_vector_set(b, i, (double)(i % 17));
  gsl_linalg_QRPT_decomp(a, tau, p, &sign, norm);
  gsl_linalg_QRPT_lssolve(a, tau, p, b, x, r);
  for (size_t i = 0; i < n; i++) printf("%.17g\n", gsl_vector_get(x, i));
  return 0;
}
