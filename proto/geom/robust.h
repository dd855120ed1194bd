/* robust.h - what a few wrong values cannot move: ranks */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * robust_select - the value of rank k, counted from 0: the median for k = n / 2
 * In/out:  v [n], n > k, finite: reordered
 * Cost:    O(n) where values are in any order
 */
float robust_select(float *v, size_t n, size_t k);

#ifdef __cplusplus
}
#endif
