#include "gpu/track/corner_point.h"

/* (L5) Keeps one track in each quarter of a cell. */
static void thin(struct track *t)
{
    for (int i = 0; i < 4 * t->n_cells; i++)
        t->claim[i] = CORNER_NO_CLAIM;
    for (int i = 0; i < t->n_cells; i++)
        t->best[i] = CORNER_NO_CLAIM;
    for (int i = 0; i < t->n_slots; i++) {
        const struct track_slot *s = &t->slot[i];
        uint64_t claim = corner_claim(s, (uint32_t)i), *quarter;
        if (s->id == 0)
            continue;
        quarter = &t->claim[corner_quarter(t, s)];
        *quarter = claim < *quarter ? claim : *quarter;
    }
    for (int i = 0; i < t->n_slots; i++) {
        struct track_slot *s = &t->slot[i];
        if (s->id && t->claim[corner_quarter(t, s)] != corner_claim(s, (uint32_t)i))
            s->id = 0;
    }
}

/* (L6) Sums of products of gradients over columns of a window, then along a row. */
static void respond_row(const struct track *t, const uint8_t *p, int y, int32_t (*column)[3])
{
    int w = t->w;
    float *out = t->response + (size_t)y * (size_t)w;

    for (int x = 1; x < w - 1; x++) {
        int32_t xx = 0, xy = 0, yy = 0;
        for (int i = -CORNER_RADIUS; i <= CORNER_RADIUS; i++) {
            const uint8_t *at = p + (size_t)(y + i) * (size_t)w + (size_t)x;
            int32_t gx = at[1] - at[-1], gy = at[w] - at[-w];
            xx += gx * gx;
            xy += gx * gy;
            yy += gy * gy;
        }
        column[x][0] = xx;
        column[x][1] = xy;
        column[x][2] = yy;
    }
    for (int x = CORNER_BORDER - 1; x < w - CORNER_BORDER + 1; x++) {
        int32_t s[3] = {0, 0, 0};
        for (int k = -CORNER_RADIUS; k <= CORNER_RADIUS; k++)
            for (int j = 0; j < 3; j++)
                s[j] += column[x + k][j];
        out[x] = corner_response(s[0], s[1], s[2]);
    }
}

/* (L6) Finds the best corner of each cell without a track. */
static void offer(struct track *t, const uint8_t *mask)
{
    int w = t->w;

    for (int y = CORNER_BORDER; y < t->h - CORNER_BORDER; y++)
        for (int x = CORNER_BORDER; x < w - CORNER_BORDER; x++) {
            uint32_t at = (uint32_t)(y * w + x);
            int cell = corner_cell(t, x, y);
            uint64_t best;
            if (!corner_is_empty(t, cell) || (mask && mask[at]) || !corner_is_peak(t, x, y))
                continue;
            best = corner_best(t->response[at], at);
            t->best[cell] = best < t->best[cell] ? best : t->best[cell];
        }
}

/* Begins tracks in the order of cells and unused slots; the last cells may get no slot. */
static void bear(struct track *t)
{
    int slot = 0;

    t->n_new = 0;
    for (int c = 0; c < t->n_cells; c++) {
        if (t->best[c] == CORNER_NO_CLAIM)
            continue;
        while (slot < t->n_slots && t->slot[slot].id)
            slot++;
        if (slot == t->n_slots)
            break;
        t->slot[slot] = corner_born(t, t->next_id + t->n_new++, (uint32_t)t->best[c]);
    }
    t->next_id += t->n_new;
}

/* Notes where this frame saw its tracks. */
static void record(struct track *t)
{
    float *seen = t->seen + 2 * (size_t)(t->n_frames % TRACK_KEPT) * (size_t)t->n_slots;

    t->n_live = 0;
    for (int i = 0; i < t->n_slots; i++) {
        seen[2 * i] = t->slot[i].x;
        seen[2 * i + 1] = t->slot[i].y;
        t->n_live += t->slot[i].id != 0;
    }
}

void corner_cpu(struct track *t, const struct track_frame *f)
{
    const uint8_t *p = t->pyramid[t->n_frames % 2];

    thin(t);
    for (int y = CORNER_BORDER - 1; y < t->h - CORNER_BORDER + 1; y++)
        respond_row(t, p, y, t->column);
    offer(t, f->mask);
    bear(t);
    record(t);
}
