/*
 * reconctl_things.h - recognised things in a picture: their boxes and names, as the page shows them
 */
#ifndef RECOND_API_RECONCTL_THINGS_H
#define RECOND_API_RECONCTL_THINGS_H

#include "api/client/client_splat.h"
#include "api/ctl/reconctl_link.h"

#define RECONCTL_THINGS_MAX 64

struct reconctl_thing {
    struct rigid T_wo; /* object to the cloud's world */
    float box[2][3];   /* box in its own axes: lowest corner, highest corner */
    char name[2 * RECONCTL_SHOWN + 4];
};

struct reconctl_things {
    struct reconctl_thing at[RECONCTL_THINGS_MAX];
    int n;
};

/*
 * reconctl_things_load - the things that are there
 *
 * In:      from: a file of what GET /v1/sessions/{id}/objects answers; else a session (as
 *          reconctl_find_session() finds it). Of a file those of submaps other than 0 are left out,
 *          of a session those of submaps without a place; lost ones always
 * Returns: 0; ERR_INPUT: no such document; as client_request()
 */
MUST_CHECK int reconctl_things_load(struct reconctl_things *things, const char *from,
                                    const struct reconctl_common *common, struct err *err);

/*
 * reconctl_things_draw - their boxes over a picture
 *
 * Lines are fainter where the cloud hides them. A name stands at the highest corner of a box.
 * In/out:  rgb [h][w][3], drawn by client_splat_draw()
 * In:      view with its depth
 * Returns: 0; ERR_MEMORY
 */
MUST_CHECK int reconctl_things_draw(uint8_t *rgb, const struct client_splat_view *view,
                                    const struct reconctl_things *things, struct err *err);

#endif
