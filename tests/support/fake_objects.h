/* fake_objects.h - objects of the fake core: rows of a table, which is every core's */
#pragma once

#include "api/api.h"

#include <stdatomic.h>

#define FAKE_OBJECTS_MAX 8

/* What was asked for last, and how often. While `hold` is set object_add() does not return. */
struct fake_objects_seen {
    atomic_int adds, running;
    atomic_bool hold;
    int n_pictures, n_names;
    size_t png_len, mesh_len;
    float mesh_scale;
    struct intrinsics camera;
    float pose[7];
    struct api_region region;
};
extern struct fake_objects_seen fake_objects_seen;
void fake_objects_clear(void);
/* Each token of edge.h has one object, "mug"; a {name} at the end of a path becomes that. */
void fake_objects_reset(char *path);
/* What a route takes by this method: an object, or the place of a submap; NULL: nothing. */
const char *fake_objects_body(const char *method, const char *path);

int fake_objects_add(struct core *c, const char *owner, const char *name, const char *class_name,
                     const struct api_shape *shape, struct api_object *object, struct err *err);
int fake_objects_match(struct core *c, const char *owner, const char (*names)[API_OBJECT_CAP],
                       int n_names, const struct api_shape *shape, struct api_match *list, int *n,
                       struct err *err);
int fake_objects_get(struct core *c, const char *owner, const char *name, struct api_object *object,
                     struct err *err);
int fake_objects_list(struct core *c, const char *owner, const char *after, struct api_object *list,
                      int cap, int *n, struct err *err);
/* Each session knows a mug, which is lost. */
int fake_objects_recognised(struct core *c, const char *id, struct api_objects *o, struct err *err);
int fake_objects_delete(struct core *c, const char *owner, const char *name, struct err *err);
