#include "daemon/session/places.h"

#include "proto/cloud/key.h"
#include "proto/geom/pose.h"

#include <string.h>

bool places_find(const struct places *p, uint32_t submap, struct rigid *T, float pose[7])
{
    static const float identity[7] = {0, 0, 0, 1, 0, 0, 0};
    bool told = submap < API_SUBMAPS_MAX && p->told[submap];
    const float *at = told ? p->pose[submap] : identity;

    if (T && pose_from_numbers(T, at, PLACES_MAX_M, NULL))
        *T = rigid_identity();
    if (pose)
        memcpy(pose, at, sizeof(identity));
    return told || submap == 0;
}

int places_tell(struct places *p, uint32_t submap, const float pose[7], struct err *err)
{
    struct rigid T;
    int rc = pose_from_numbers(&T, pose, PLACES_MAX_M, err);

    if (rc == 0) {
        memcpy(p->pose[submap], pose, sizeof(p->pose[submap]));
        p->told[submap] = true;
        p->tied[submap] = false;
    }
    return rc;
}

void places_copy(struct places *to, const struct places *from, uint32_t submap)
{
    to->told[submap] = from->told[submap];
    to->tied[submap] = from->tied[submap];
    memcpy(to->pose[submap], from->pose[submap], sizeof(to->pose[submap]));
}

void places_tie(struct places *p, const struct places *by_ties)
{
    for (int i = 0; i < API_SUBMAPS_MAX; i++)
        if (by_ties->told[i] && (!p->told[i] || p->tied[i])) {
            memcpy(p->pose[i], by_ties->pose[i], sizeof(p->pose[i]));
            p->told[i] = p->tied[i] = true;
        }
}

uint64_t places_mix(const struct places *p)
{
    uint64_t mix = 0;

    for (uint32_t i = 0; i < API_SUBMAPS_MAX; i++) {
        uint32_t word;

        for (size_t k = 0; p->told[i] && k < 7; k++) {
            memcpy(&word, &p->pose[i][k], sizeof(word));
            mix = key_mix64(mix ^ ((uint64_t)i << 32 | word));
        }
    }
    return mix;
}

void places_due_note(struct places_due *d, const struct places *p, uint32_t submap)
{
    float *pose = d->newest.pose[submap];
    bool news = !d->heard[submap] || d->newest.told[submap] != p->told[submap] ||
                memcmp(pose, p->pose[submap], sizeof(d->newest.pose[submap])) != 0;

    if (!news || (submap == 0 && !p->told[0]))
        return;
    d->heard[submap] = true;
    d->newest.told[submap] = p->told[submap];
    memcpy(pose, p->pose[submap], sizeof(d->newest.pose[submap]));
    d->n += !d->due[submap];
    d->due[submap] = true;
}

bool places_due_next(struct places_due *d, struct delta *transform)
{
    uint32_t i = 0;

    if (d->n == 0)
        return false;
    while (!d->due[i])
        i++;
    d->due[i] = false;
    d->n--;
    *transform = (struct delta){.op = DELTA_SUBMAP, .id = i};
    transform->unplaced = !places_find(&d->newest, i, NULL, transform->pose);
    return true;
}
