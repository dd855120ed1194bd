/*
 * reconctl_sheet.h - what a contact sheet has collected: of each row a picture, its depth map and
 * the cloud at that moment
 */
#ifndef RECOND_API_RECONCTL_SHEET_H
#define RECOND_API_RECONCTL_SHEET_H

#include "api/ctl/reconctl_push.h"

#define RECONCTL_SHEET_ROWS_MAX 12
#define RECONCTL_SHEET_CELL_W 320

struct reconctl_sheet_row {
    uint64_t frame;         /* index of the frame from 1 */
    uint8_t *input, *depth; /* [cell_h][RECONCTL_SHEET_CELL_W][3] */
    float *xyz;             /* [n][3] */
    uint8_t *rgb;           /* [n][3] */
    size_t n;
};

struct reconctl_sheet {
    int rows, filled, cell_h;
    float near_m, far_m; /* range of the colours of depth */
    struct rigid T_wc;   /* pose of the first row's frame */
    struct reconctl_sheet_row row[RECONCTL_SHEET_ROWS_MAX];
};

#endif
