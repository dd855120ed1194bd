/* solve.h - small systems of linear algebra, in double */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/*
 * solve_eigen - eigenvalues and eigenvectors of a symmetric matrix, by Jacobi's rotations
 * In/out:  a [n][n], n <= 4: destroyed
 * Out:     value [n] descending; vector [n][n]: row i belongs to value[i] and has length 1
 * Maths:   A v_i = value_i v_i
 */
void solve_eigen(double *value, double *vector, double *a, int n);

#ifdef __cplusplus
}
#endif
