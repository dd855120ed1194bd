#include "tests/support/fake_objects.h"

#include "tests/support/fake_core.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct fake_objects_seen fake_objects_seen;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct row {
    char owner[API_NAME_CAP];
    struct api_object object; /* name "" = free */
} rows[FAKE_OBJECTS_MAX];

void fake_objects_clear(void)
{
    pthread_mutex_lock(&lock);
    memset(rows, 0, sizeof rows);
    pthread_mutex_unlock(&lock);
}

static struct row *find(const char *owner, const char *name)
{
    for (int i = 0; i < FAKE_OBJECTS_MAX; i++)
        if (rows[i].object.name[0] && strcmp(rows[i].owner, owner) == 0 &&
            strcmp(rows[i].object.name, name) == 0)
            return &rows[i];
    return NULL;
}

static void look(const struct api_shape *shape)
{
    struct fake_objects_seen *s = &fake_objects_seen;

    s->region = shape->region ? *shape->region : (struct api_region){.session = ""};
    s->n_pictures = shape->n_pictures;
    s->mesh_len = shape->mesh_len;
    s->mesh_scale = shape->mesh_scale;
    s->png_len = shape->n_pictures ? shape->picture[0].len : 0;
    if (shape->n_pictures) {
        s->camera = shape->picture[0].camera;
        memcpy(s->pose, shape->picture[0].pose, sizeof s->pose);
    }
}

static int put(const char *owner, const char *name, const char *class_name,
               struct api_object *object, struct err *err)
{
    if (strcmp(name, "flat") == 0)
        return err_at(err, ERR_INPUT, "/mesh", "nothing of it can be recognised");
    if (strcmp(name, "lost") == 0)
        return err_set(err, ERR_NOT_FOUND, "no such session");
    if (strchr(name, '/'))
        return err_at(err, ERR_INPUT, "/name", "no name has a slash");
    if (find(owner, name))
        return err_at(err, ERR_STATE, "/name", "there is an object '%s' already", name);
    for (int i = 0; i < FAKE_OBJECTS_MAX; i++)
        if (!rows[i].object.name[0]) {
            rows[i].object = (struct api_object){.created_s = 1.7e9,
                                                 .views = 14,
                                                 .tensors = 100,
                                                 .points = 400,
                                                 .bytes = 5000,
                                                 .box = {{-1, -2, -3}, {1, 2, 3}}};
            snprintf(rows[i].owner, sizeof rows[i].owner, "%s", owner);
            snprintf(rows[i].object.name, sizeof rows[i].object.name, "%s", name);
            snprintf(rows[i].object.class_name, sizeof rows[i].object.class_name, "%s", class_name);
            *object = rows[i].object;
            return 0;
        }
    return err_set(err, ERR_BUSY, "there are %d objects, as many as may be", FAKE_OBJECTS_MAX);
}

void fake_objects_reset(char *path)
{
    static const char *const owners[] = {"boss", "phone", "wall"};
    struct api_object object;
    char *hole = strstr(path, "{name}");

    if (hole)
        strcpy(hole, "mug");
    fake_objects_clear();
    pthread_mutex_lock(&lock);
    for (int i = 0; i < 3; i++)
        (void)put(owners[i], "mug", "cup", &object, NULL);
    pthread_mutex_unlock(&lock);
}

const char *fake_objects_body(const char *method, const char *path)
{
    if (strcmp(method, "PUT") == 0)
        return "{\"pose\":[0,0,0,1,0,0,0]}";
    if (strcmp(method, "POST") != 0 || !strstr(path, "/v1/objects"))
        return NULL;
    return strstr(path, "/match") ? "{\"mesh\":\"AAEC\"}" : "{\"name\":\"can\",\"mesh\":\"AAEC\"}";
}

int fake_objects_add(struct core *c, const char *owner, const char *name, const char *class_name,
                     const struct api_shape *shape, struct api_object *object, struct err *err)
{
    int rc;

    (void)c;
    atomic_fetch_add(&fake_objects_seen.running, 1);
    while (atomic_load(&fake_objects_seen.hold))
        usleep(1000);
    pthread_mutex_lock(&lock);
    look(shape);
    rc = put(owner, name, class_name, object, err);
    pthread_mutex_unlock(&lock);
    atomic_fetch_sub(&fake_objects_seen.running, 1);
    atomic_fetch_add(&fake_objects_seen.adds, 1);
    return rc;
}

int fake_objects_match(struct core *c, const char *owner, const char (*names)[API_OBJECT_CAP],
                       int n_names, const struct api_shape *shape, struct api_match *list, int *n,
                       struct err *err)
{
    int rc = 0;

    (void)c;
    *n = 0;
    pthread_mutex_lock(&lock);
    look(shape);
    fake_objects_seen.n_names = n_names;
    for (int i = 0; i < n_names && rc == 0; i++)
        if (!find(owner, names[i]))
            rc = err_set(err, ERR_NOT_FOUND, "there is no object '%s'", names[i]);
    for (int i = 0; i < FAKE_OBJECTS_MAX && rc == 0; i++)
        if (rows[i].object.name[0] && strcmp(rows[i].owner, owner) == 0) {
            list[*n] = (struct api_match){.pose = {0, 0, 0, 1, 0.5f, 0, 1},
                                          .score = 0.97f,
                                          .support = 0.5f,
                                          .points = 90,
                                          .votes = 3};
            memcpy(list[*n].name, rows[i].object.name, sizeof list[*n].name);
            memcpy(list[*n].class_name, rows[i].object.class_name, sizeof list[*n].class_name);
            (*n)++;
        }
    pthread_mutex_unlock(&lock);
    return rc;
}

int fake_objects_get(struct core *c, const char *owner, const char *name, struct api_object *object,
                     struct err *err)
{
    struct row *r;

    (void)c;
    pthread_mutex_lock(&lock);
    r = find(owner, name);
    if (r)
        *object = r->object;
    pthread_mutex_unlock(&lock);
    return r ? 0 : err_set(err, ERR_NOT_FOUND, "there is no object '%s'", name);
}

int fake_objects_list(struct core *c, const char *owner, const char *after, struct api_object *list,
                      int cap, int *n, struct err *err)
{
    (void)c;
    (void)after;
    (void)err;
    *n = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < FAKE_OBJECTS_MAX && *n < cap; i++)
        if (rows[i].object.name[0] && strcmp(rows[i].owner, owner) == 0)
            list[(*n)++] = rows[i].object;
    pthread_mutex_unlock(&lock);
    return 0;
}

int fake_objects_delete(struct core *c, const char *owner, const char *name, struct err *err)
{
    struct row *r;

    (void)c;
    pthread_mutex_lock(&lock);
    r = find(owner, name);
    if (r)
        r->object.name[0] = '\0';
    pthread_mutex_unlock(&lock);
    return r ? 0 : err_set(err, ERR_NOT_FOUND, "there is no object '%s'", name);
}

int fake_objects_recognised(struct core *c, const char *id, struct api_objects *o, struct err *err)
{
    struct control_object mug = {.id = 1,
                                 .object = "mug",
                                 .class_name = "cup",
                                 .pose = {0, 0, 0, 1, 0.5f, 0.25f, -1},
                                 .box = {-1, -1, 0, 1, 1, 2},
                                 .score = 0.97f,
                                 .support = 0.61f,
                                 .seq = 7,
                                 .revision = 43};
    struct session_info info;

    if (fake_core_ops()->session_get(c, id, &info, err))
        return ERR_NOT_FOUND;
    *o = (struct api_objects){.looks = 9, .skipped = 1, .n = 1, .n_history = 2};
    o->history[0] = mug;
    mug.state = CONTROL_OBJECT_LOST;
    o->list[0] = o->history[1] = mug;
    return 0;
}
