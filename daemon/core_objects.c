/* The core's functions for the edges about objects: struct core_ops of api.h. */
#include "daemon/core_internal.h"

#include "daemon/log.h"
#include "daemon/objects_job.h"
#include "daemon/session/places.h"
#include "daemon/session/region.h"
#include "daemon/session/session_submaps.h"
#include "gpu/recognise/library.h"

#include <stdlib.h>
#include <string.h>

static void object_tell(struct api_object *to, const struct enrolled *e)
{
    const struct object *o = &e->object;

    *to = (struct api_object){.created_s = e->created_s,
                              .views = o->n_views,
                              .tensors = (uint32_t)o->n_tensors,
                              .points = (uint32_t)o->n_points,
                              .bytes = e->bytes};
    memcpy(to->name, o->name, sizeof(to->name));
    memcpy(to->class_name, e->class_name, sizeof(to->class_name));
    object_box((float *)to->box, o);
}

/* Refuses a taken name before anything is computed; objects_add() checks again. */
static int is_free(struct core *c, const char *owner, const char *name, struct err *err)
{
    const struct enrolled *e = objects_get(c->objects, owner, name);

    objects_put(e);
    return e ? err_at(err, ERR_STATE, "/name", "there is an object '%s' already", name) : 0;
}

/* Takes the cloud's points in a box. The copy of the cloud counts as an export of the owner's. */
static int take_region(struct core *c, const char *owner, const struct api_region *r,
                       struct object_point **points, size_t *n, struct err *err)
{
    struct tenant *reader = NULL;
    struct places places;
    struct region_box box;
    struct session *s;
    int rc = core_find_whole(c, r->session, &s, err);

    if (rc)
        return rc;
    rc = region_box(&box, r, session_setup(s)->options.up, err);
    if (rc == 0) {
        reader = tenant_get(c->tenants, owner);
        rc = core_take_export(c, reader, err);
    }
    if (rc == 0) {
        session_get_places(s, &places);
        rc = region_take(points, n, session_mirror(s), &places, session_setup(s)->options.step_m,
                         &box, err);
        core_give_export(c, reader);
        if ((rc == ERR_INPUT || rc == ERR_LIMIT) && err)
            snprintf(err->where, sizeof(err->where), "/region");
    }
    session_unref(s);
    return rc;
}

static int enrol_region(struct core *c, const char *owner, const struct api_region *r,
                        struct object *o, struct err *err)
{
    struct object_point *points = NULL;
    size_t n;
    int rc = take_region(c, owner, r, &points, &n, err);

    if (rc == 0)
        rc = objects_job_enrol_cloud(o, points, n, err);
    free(points);
    return rc;
}

int core_objects_add(struct core *c, const char *owner, const char *name, const char *class_name,
                     const struct api_shape *shape, struct api_object *object, struct err *err)
{
    const struct enrolled *made = NULL;
    struct object o = {0};
    int rc = 0;

    if (atomic_load(&c->draining))
        rc = err_set(err, ERR_BUSY, "the server is stopping");
    else if (!object_name_valid(name))
        rc = err_at(err, ERR_INPUT, "/name",
                    "has 1 to %d letters, digits, '-', '_' and '.', which is not the first",
                    OBJECT_NAME_CAP - 1);
    if (rc == 0)
        rc = is_free(c, owner, name, err);
    if (rc == 0)
        rc = shape->region ? enrol_region(c, owner, shape->region, &o, err)
                           : objects_job_enrol(&o, shape, &c->draining, err);
    if (rc == 0) {
        snprintf(o.name, sizeof(o.name), "%s", name);
        rc = objects_add(c->objects, owner, class_name, &o, &made, err);
    }
    if (rc == 0) {
        object_tell(object, made);
        LOG_AT(LOG_INFO, "object %s enrolled for '%s': %u views, %u tensors", name, owner,
               object->views, object->tensors);
    }
    if (rc == ERR_IO)
        LOG_AT(LOG_ERR, "object %s of '%s' was not kept: %s: %s", name, owner, err->where,
               err->text);
    objects_put(made);
    object_free(&o);
    return rc;
}

/* Holds the objects that a request searches for. */
static int objects_choose(struct core *c, const char *owner, const char (*names)[API_OBJECT_CAP],
                          int n_names, const struct enrolled **list, int *n, struct err *err)
{
    if (n_names == 0)
        *n = objects_list(c->objects, owner, "", list, LIBRARY_OBJECTS_MAX);
    for (int i = 0; i < n_names; i++) {
        list[i] = objects_get(c->objects, owner, names[i]);
        if (!list[i])
            return err_set(err, ERR_NOT_FOUND, "there is no object '%s'", names[i]);
        (*n)++;
    }
    return 0;
}

int core_objects_match(struct core *c, const char *owner, const char (*names)[API_OBJECT_CAP],
                       int n_names, const struct api_shape *shape, struct api_match *list, int *n,
                       struct err *err)
{
    const struct enrolled **chosen = calloc(LIBRARY_OBJECTS_MAX, sizeof(*chosen));
    int n_chosen = 0, rc;

    *n = 0;
    if (!chosen)
        return err_set(err, ERR_MEMORY, "no memory to search for objects");
    if (n_names > LIBRARY_OBJECTS_MAX)
        rc = err_set(err, ERR_LIMIT, "at most %d objects are searched for", LIBRARY_OBJECTS_MAX);
    else
        rc = objects_choose(c, owner, names, n_names, chosen, &n_chosen, err);
    if (rc == 0)
        rc = objects_job_match(list, n, chosen, n_chosen, shape, &c->draining, err);
    for (int i = 0; i < n_chosen; i++)
        objects_put(chosen[i]);
    free(chosen);
    return rc;
}

int core_objects_get(struct core *c, const char *owner, const char *name, struct api_object *object,
                     struct err *err)
{
    const struct enrolled *e = objects_get(c->objects, owner, name);

    if (!e)
        return err_set(err, ERR_NOT_FOUND, "there is no object '%.63s'", name);
    object_tell(object, e);
    objects_put(e);
    return 0;
}

int core_objects_list(struct core *c, const char *owner, const char *after, struct api_object *list,
                      int cap, int *n, struct err *err)
{
    const struct enrolled *page[64];
    int got;

    (void)err;
    *n = 0;
    while (*n < cap) {
        got = objects_list(c->objects, owner, *n ? list[*n - 1].name : after, page,
                           cap - *n < 64 ? cap - *n : 64);
        for (int i = 0; i < got; i++) {
            object_tell(&list[(*n)++], page[i]);
            objects_put(page[i]);
        }
        if (got == 0)
            break;
    }
    return 0;
}

int core_objects_delete(struct core *c, const char *owner, const char *name, struct err *err)
{
    int rc = objects_remove(c->objects, owner, name, err);

    if (rc == 0)
        LOG_AT(LOG_INFO, "object %s of '%s' deleted", name, owner);
    else if (rc == ERR_IO)
        LOG_AT(LOG_ERR, "object %s of '%s' was not deleted: %s", name, owner, err->text);
    return rc;
}
