/* object_bytes.c - packs an object into sections, and unpacks it */
#include "gpu/recognise/object.h"
#include "gpu/recognise/tensor_point.h"

#include "proto/bytes.h"
#include "proto/section.h"

#include <stdlib.h>
#include <string.h>

#define HEAD SECTION_TAG('G', 'O', 'B', 'J')
#define TENSORS SECTION_TAG('G', 'O', 'T', 'E')
#define POINTS SECTION_TAG('G', 'O', 'P', 'T')
#define COARSE SECTION_TAG('G', 'O', 'C', 'O') /* an empty section that marks a coarse object */
#define VERSION 1
#define HEAD_BYTES (OBJECT_NAME_CAP + 24)
#define TENSOR_BYTES 60 /* without its entries */
#define POINT_BYTES 24
#define FAR_M 1e3f
#define UNIT_TOLERANCE 1e-3f

static size_t tensors_bytes(const struct object *o)
{
    return o->n_tensors * TENSOR_BYTES + o->n_entries * 4;
}

size_t object_bytes(const struct object *o)
{
    return section_bytes(HEAD_BYTES) + section_bytes(tensors_bytes(o)) +
           section_bytes(o->n_points * POINT_BYTES) + (o->is_coarse ? section_bytes(0) : 0);
}

static void put_vec3(struct bytes_writer *w, struct vec3 v)
{
    bytes_put_f32(w, v.x);
    bytes_put_f32(w, v.y);
    bytes_put_f32(w, v.z);
}

static void pack_tensors(struct bytes_writer *w, const struct object *o)
{
    for (size_t i = 0; i < o->n_tensors; i++) {
        const struct object_tensor *t = &o->tensor[i];
        for (int k = 0; k < 9; k++)
            bytes_put_f32(w, t->T_ob.r[k]);
        for (int k = 0; k < 3; k++)
            bytes_put_f32(w, t->T_ob.t[k]);
        bytes_put_f32(w, t->cosine);
        bytes_put_u32(w, t->view);
        bytes_put_u32(w, t->n);
        for (uint32_t k = 0; k < t->n; k++)
            bytes_put_u32(w, o->entry[t->first + k]);
    }
}

void object_pack(uint8_t *out, const struct object *o)
{
    size_t at = 0, cap = object_bytes(o);
    struct bytes_writer w = bytes_writer(section_open(out, cap, at, HEAD_BYTES), HEAD_BYTES);

    for (int i = 0; i < OBJECT_NAME_CAP; i++)
        bytes_put_u8(&w, (uint8_t)o->name[i]);
    bytes_put_f32(&w, o->unit_m);
    bytes_put_f32(&w, o->voxel);
    bytes_put_u32(&w, o->n_views);
    bytes_put_u32(&w, (uint32_t)o->n_tensors);
    bytes_put_u32(&w, (uint32_t)o->n_entries);
    bytes_put_u32(&w, (uint32_t)o->n_points);
    section_close(out, &at, HEAD, VERSION, 0, HEAD_BYTES);

    w = bytes_writer(section_open(out, cap, at, tensors_bytes(o)), tensors_bytes(o));
    pack_tensors(&w, o);
    section_close(out, &at, TENSORS, VERSION, 0, tensors_bytes(o));

    w = bytes_writer(section_open(out, cap, at, o->n_points * POINT_BYTES),
                     o->n_points * POINT_BYTES);
    for (size_t i = 0; i < o->n_points; i++) {
        put_vec3(&w, o->point[i].p);
        put_vec3(&w, o->point[i].normal);
    }
    section_close(out, &at, POINTS, VERSION, 0, o->n_points * POINT_BYTES);
    if (o->is_coarse)
        section_close(out, &at, COARSE, VERSION, SECTION_OPTIONAL, 0);
}

static struct vec3 get_vec3(struct bytes_reader *r)
{
    struct vec3 v;
    v.x = bytes_get_f32(r);
    v.y = bytes_get_f32(r);
    v.z = bytes_get_f32(r);
    return v;
}

static int near(float a, float b, float tolerance)
{
    return a >= b - tolerance && a <= b + tolerance;
}

/* Is v finite and within reach? */
static int placed(struct vec3 v)
{
    return near(v.x, 0, FAR_M) && near(v.y, 0, FAR_M) && near(v.z, 0, FAR_M);
}

/* Are the rows orthonormal and right-handed? */
static int rotates(const float r[9])
{
    struct vec3 x = {r[0], r[1], r[2]}, y = {r[3], r[4], r[5]}, z = {r[6], r[7], r[8]};
    return near(vec3_norm2(x), 1, UNIT_TOLERANCE) && near(vec3_norm2(y), 1, UNIT_TOLERANCE) &&
           near(surface_dot(x, y), 0, UNIT_TOLERANCE) &&
           near(surface_dot(surface_cross(x, y), z), 1, UNIT_TOLERANCE) &&
           near(vec3_norm2(z), 1, UNIT_TOLERANCE);
}

static int unpack_head(struct object *o, const struct section *s, struct err *err)
{
    struct bytes_reader r = bytes_reader(s->body, s->len);

    for (int i = 0; i < OBJECT_NAME_CAP; i++)
        o->name[i] = (char)bytes_get_u8(&r);
    o->unit_m = bytes_get_f32(&r);
    o->voxel = bytes_get_f32(&r);
    o->n_views = bytes_get_u32(&r);
    o->n_tensors = bytes_get_u32(&r);
    o->n_entries = bytes_get_u32(&r);
    o->n_points = bytes_get_u32(&r);
    if (r.bad || bytes_left(&r) || o->name[OBJECT_NAME_CAP - 1] || !object_name_valid(o->name) ||
        !(o->unit_m > 0 && o->unit_m <= 1) || !(o->voxel > 0 && o->voxel <= 100) ||
        o->n_views > OBJECT_VIEWS_MAX)
        return err_set(err, ERR_INPUT, "the object's head is damaged");
    if (o->n_tensors > OBJECT_TENSORS_MAX || o->n_entries > OBJECT_ENTRIES_MAX ||
        o->n_points > OBJECT_POINTS_MAX)
        return err_set(err, ERR_LIMIT, "the object is larger than objects may be");
    return 0;
}

/* Do entries ascend by voxel, each with an area? */
static int get_entries(uint32_t *entry, uint32_t n, struct bytes_reader *r)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t e = bytes_get_u32(r), voxel = TENSOR_VOXEL_OF(e), area = TENSOR_AREA_OF(e);
        if (voxel < next || voxel >= TENSOR_VOXELS || area == 0 || area > TENSOR_VALUE_MAX)
            return 0;
        next = voxel + 1;
        entry[i] = e;
    }
    return !r->bad;
}

static int unpack_tensors(struct object *o, const struct section *s, struct err *err)
{
    struct bytes_reader r = bytes_reader(s->body, s->len);
    size_t at = 0;

    if (s->len != tensors_bytes(o))
        return err_set(err, ERR_INPUT, "the object's tensors are not as many as its head says");
    o->tensor = calloc(o->n_tensors + 1, sizeof *o->tensor);
    o->entry = calloc(o->n_entries + 1, sizeof *o->entry);
    if (!o->tensor || !o->entry)
        return err_set(err, ERR_MEMORY, "no memory for an object's tensors");
    for (size_t i = 0; i < o->n_tensors; i++) {
        struct object_tensor *t = &o->tensor[i];
        for (int k = 0; k < 9; k++)
            t->T_ob.r[k] = bytes_get_f32(&r);
        for (int k = 0; k < 3; k++)
            t->T_ob.t[k] = bytes_get_f32(&r);
        t->cosine = bytes_get_f32(&r);
        t->view = bytes_get_u32(&r);
        t->n = bytes_get_u32(&r);
        t->first = (uint32_t)at;
        if (r.bad || !rotates(t->T_ob.r) ||
            !placed(vec3_make(t->T_ob.t[0], t->T_ob.t[1], t->T_ob.t[2])) ||
            !(t->cosine >= -1.01f && t->cosine <= 1.0f) || t->view >= o->n_views ||
            t->n > o->n_entries - at || !get_entries(o->entry + at, t->n, &r))
            return err_set(err, ERR_INPUT, "tensor %zu of the object is damaged", i);
        t->bin = tensor_bin(t->cosine);
        at += t->n;
    }
    if (at != o->n_entries)
        return err_set(err, ERR_INPUT, "the object's tensors are not as many as its head says");
    return 0;
}

static int unpack_points(struct object *o, const struct section *s, struct err *err)
{
    struct bytes_reader r = bytes_reader(s->body, s->len);

    if (s->len != o->n_points * POINT_BYTES)
        return err_set(err, ERR_INPUT, "the object's points are not as many as its head says");
    o->point = calloc(o->n_points + 1, sizeof *o->point);
    if (!o->point)
        return err_set(err, ERR_MEMORY, "no memory for an object's points");
    for (size_t i = 0; i < o->n_points; i++) {
        o->point[i].p = get_vec3(&r);
        o->point[i].normal = get_vec3(&r);
        if (!placed(o->point[i].p) || !placed(o->point[i].normal) ||
            !near(vec3_norm2(o->point[i].normal), 1, UNIT_TOLERANCE))
            return err_set(err, ERR_INPUT, "point %zu of the object is damaged", i);
    }
    return 0;
}

int object_unpack(struct object *o, const uint8_t *row, size_t len, struct err *err)
{
    static int (*const unpack[])(struct object *, const struct section *,
                                 struct err *) = {unpack_head, unpack_tensors, unpack_points};
    static const uint32_t tag[] = {HEAD, TENSORS, POINTS};
    struct section coarse;
    int rc = 0;

    *o = (struct object){0};
    for (int i = 0; i < 3 && rc == 0; i++) {
        struct section s;
        if (!section_find(&s, row, len, tag[i]))
            rc = err_set(err, ERR_INPUT, "the object lacks one of its sections");
        else if ((rc = section_use(&s, VERSION, err)) == 0) /* every object has it */
            rc = err_set(err, ERR_UNSUPPORTED, "the object is of another version");
        else if (rc == 1)
            rc = unpack[i](o, &s, err);
    }
    if (rc)
        object_free(o);
    else
        o->is_coarse = section_find(&coarse, row, len, COARSE);
    return rc;
}
