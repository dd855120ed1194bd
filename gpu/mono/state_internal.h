/*
 * state_internal.h - the table of sections that state*.c share
 */
#pragma once

#include "gpu/mono/state.h"
#include "proto/bytes.h"
#include "proto/section.h"

/* How one section is written, read and checked. */
struct state_part {
    uint32_t tag;
    unsigned version;
    /* Does a state of these numbers have the section? NULL: every state has it. */
    int (*wanted)(const struct state_head *h);
    /* Places its arrays if its body begins at `at`. Returns where the body ends. */
    size_t (*lay)(struct state_layout *l, const struct state_head *h, size_t at);
    /* Writes the body's head, and zeros between its arrays. NULL: it has neither. */
    void (*put)(uint8_t *buf, struct bytes_writer *head, const struct state_head *h,
                const struct state_layout *l);
    /* Reads the body's head; check() or the limits find its errors. */
    void (*get)(struct state_head *h, struct bytes_reader *head, unsigned version);
    /* Checks the arrays, all of which lie in buf. */
    int (*check)(const struct state_head *h, const struct state_layout *l, const uint8_t *buf,
                 struct err *err);
};

extern const struct state_part state_model, state_normals, state_keyframes, state_worlds,
    state_cells, state_views, state_path;

/* Places an array of n bytes behind `*end`, which moves behind it. Returns where it begins. */
size_t state_take(size_t *end, size_t n);
/* Writes zeros just before an array; the array before it, which is written later, may overwrite
 * some of them. */
void state_gap(uint8_t *buf, size_t array);

static inline uint32_t state_word(const uint8_t *from, size_t i)
{
    uint32_t v;

    memcpy(&v, from + i * sizeof v, sizeof v);
    return v;
}

/* The tag of a slot's point; 0: the slot is free. */
static inline uint32_t state_tag(const uint8_t *place, uint32_t slot)
{
    return state_word(place + (size_t)slot * sizeof(struct point_place), 3);
}

int state_finite(const uint8_t *from, size_t n); /* n floats */
