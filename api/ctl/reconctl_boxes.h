/*
 * reconctl_boxes.h - tracked objects in a picture: their boxes and names, as the page shows them
 */
#ifndef RECOND_API_RECONCTL_BOXES_H
#define RECOND_API_RECONCTL_BOXES_H

#include "api/client/client_splat.h"
#include "api/ctl/reconctl_link.h"

#define RECONCTL_BOXES_MAX 64

struct reconctl_box {
    struct rigid T_wo; /* object to the cloud's world */
    float box[2][3];   /* box in its own axes: lowest corner, highest corner */
    char name[2 * RECONCTL_SHOWN + 4];
};

struct reconctl_boxes {
    struct reconctl_box at[RECONCTL_BOXES_MAX];
    int n;
};

/*
 * reconctl_boxes_load - the boxes of present objects
 *
 * In:      from: a file of what GET /v1/sessions/{id}/objects answers; else a session (as
 *          reconctl_find_session() finds it). Of a file those of submaps other than 0 are left out,
 *          of a session those of submaps without a place; lost ones always
 * Returns: 0; ERR_INPUT: no such document; as client_request()
 */
MUST_CHECK int reconctl_boxes_load(struct reconctl_boxes *boxes, const char *from,
                                    const struct reconctl_common *common, struct err *err);

/*
 * reconctl_boxes_draw - their boxes over a picture
 *
 * Lines are fainter where the cloud hides them. A name stands at the highest corner of a box.
 * In/out:  rgb [h][w][3], drawn by client_splat_draw()
 * In:      view with its depth
 * Returns: 0; ERR_MEMORY
 */
MUST_CHECK int reconctl_boxes_draw(uint8_t *rgb, const struct client_splat_view *view,
                                    const struct reconctl_boxes *boxes, struct err *err);

#endif
