#include "daemon/objects.h"

#include "daemon/clock.h"
#include "daemon/disk/folder.h"
#include "daemon/log.h"
#include "daemon/objects_file.h"
#include "proto/lock.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum stage {
    COMING, /* its file is being written: its name is taken, and the object cannot be found */
    HERE,
    GOING /* its file is being removed */
};

struct place {
    struct enrolled *enrolled;
    enum stage stage;
};

struct objects {
    struct objects_limits limits;
    int folder;       /* -1: objects end with the process */
    struct lock lock; /* guards all that follows */
    int n;
    struct place at[OBJECTS_MAX]; /* sorted by owner, then by name */
};

/* ------------------------------------------------------------------------- one object */

static void enrolled_free(struct enrolled *e)
{
    if (!e)
        return;
    object_free(&e->object);
    free(e);
}

static const struct enrolled *enrolled_hold(struct enrolled *e)
{
    atomic_fetch_add(&e->holders, 1);
    return e;
}

void objects_put(const struct enrolled *e)
{
    struct enrolled *own = (struct enrolled *)(uintptr_t)e;
    if (own && atomic_fetch_sub(&own->holders, 1) == 1)
        enrolled_free(own);
}

/* ------------------------------------------------------------------------- the table */

static int place_compare(const struct enrolled *e, const char *owner, const char *name)
{
    int order = strcmp(e->owner, owner);
    return order ? order : strcmp(e->object.name, name);
}

/* Returns the first place whose object does not come before that owner and name. */
static int place_seek(const struct objects *o, const char *owner, const char *name)
{
    int low = 0, high = o->n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (place_compare(o->at[middle].enrolled, owner, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int place_find(const struct objects *o, const char *owner, const char *name)
{
    int i = place_seek(o, owner, name);
    return i < o->n && place_compare(o->at[i].enrolled, owner, name) == 0 ? i : -1;
}

/* Inserts an object. There is room, and no object of that name. */
static void place_insert(struct objects *o, struct enrolled *e, enum stage stage)
{
    int i = place_seek(o, e->owner, e->object.name);
    memmove(&o->at[i + 1], &o->at[i], (size_t)(o->n - i) * sizeof *o->at);
    o->at[i] = (struct place){e, stage};
    o->n++;
}

static void take_out(struct objects *o, int i)
{
    o->n--;
    memmove(&o->at[i], &o->at[i + 1], (size_t)(o->n - i) * sizeof *o->at);
}

/* ------------------------------------------------------------------------- called at the start */

bool objects_choose_path(const struct config *config, char path[OBJECTS_PATH_CAP])
{
    const char *state = getenv("STATE_DIRECTORY");

    path[0] = '\0';
    if (config->objects.path[0])
        snprintf(path, OBJECTS_PATH_CAP, "%s", config->objects.path);
    else if (config->journal.path[0])
        snprintf(path, OBJECTS_PATH_CAP, "%s/objects", config->journal.path);
    else if (state && state[0])
        snprintf(path, OBJECTS_PATH_CAP, "%.*s/objects", (int)strcspn(state, ":"), state);
    return path[0] != '\0';
}

int objects_check(const struct config *config, struct err *err)
{
    char path[OBJECTS_PATH_CAP];

    /* The journal's folder is made at the start, which has its own check. */
    if (!objects_choose_path(config, path) || !config->objects.path[0])
        return 0;
    return folder_check(path, err);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Has the object of a file the name of the file, and may it be loaded? */
static int objects_judge_file(const struct objects *o, const struct enrolled *e, const char *file,
                              struct err *err)
{
    char name[OBJECTS_FILE_NAME_CAP];

    objects_file_name(name, e->owner, e->object.name, OBJECTS_FILE_SUFFIX);
    if (strcmp(name, file) != 0)
        return err_set(err, ERR_INPUT, "it holds the object '%s' of '%s'", e->object.name,
                       e->owner);
    if (e->class_name[0] && !object_name_valid(e->class_name))
        return err_set(err, ERR_INPUT, "its class is no name");
    if (o->n == OBJECTS_MAX)
        return err_set(err, ERR_LIMIT, "there are %d objects already", OBJECTS_MAX);
    return 0;
}

/* Loads a file. A wrong one is set aside; one that cannot be read stays. */
static int objects_load(struct objects *o, const char *file, struct err *err)
{
    struct enrolled *e = calloc(1, sizeof *e);
    char aside[OBJECTS_FILE_NAME_CAP + 16] = "";
    struct err why = {0}, moved = {0};
    int rc;

    if (!e)
        return err_set(err, ERR_MEMORY, "no memory for an object");
    rc = objects_file_read(o->folder, file, e, &why);
    if (rc == 0)
        rc = objects_judge_file(o, e, file, &why);
    if (rc == 0) {
        atomic_init(&e->holders, 1);
        place_insert(o, e, HERE);
        return 0;
    }
    enrolled_free(e);
    if (rc == ERR_MEMORY)
        return err_set(err, rc, "%s", why.text);
    if (rc != ERR_IO && objects_file_set_aside(o->folder, file, aside, sizeof aside, &moved) == 0)
        LOG_EVENT(LOG_ERR, LOG_EVENT_OBJECT_REFUSED, "the object %s is refused and kept as %s: %s",
                  file, aside, why.text);
    else
        LOG_EVENT(LOG_ERR, LOG_EVENT_OBJECT_REFUSED, "the object %s is refused: %s%s%s", file,
                  why.text, moved.text[0] ? "; it cannot be renamed: " : "", moved.text);
    return 0;
}

static int load_all(struct objects *o, struct err *err)
{
    int fd = dup(o->folder), rc = 0;
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *d;

    if (!dir) {
        if (fd >= 0)
            close(fd);
        return err_set(err, ERR_IO, "the folder of the objects: %s", strerror(errno));
    }
    while (rc == 0 && (d = readdir(dir))) {
        if (ends_with(d->d_name, OBJECTS_FILE_SUFFIX))
            rc = objects_load(o, d->d_name, err);
        else if (ends_with(d->d_name, OBJECTS_FILE_PART))
            (void)unlinkat(o->folder, d->d_name, 0);
    }
    closedir(dir);
    return rc;
}

int objects_open(struct objects **out, const char *path, const struct objects_limits *limits,
                 struct err *err)
{
    struct objects *o = calloc(1, sizeof *o);
    int rc = 0;

    *out = NULL;
    if (!o)
        return err_set(err, ERR_MEMORY, "no memory for the objects");
    o->limits = *limits;
    o->folder = -1;
    lock_init(&o->lock, LOCK_OBJECTS);
    if (path[0] && mkdir(path, 0700) && errno != EEXIST)
        rc =
            err_at(err, ERR_IO, path, "cannot make the folder of the objects: %s", strerror(errno));
    if (rc == 0 && path[0])
        rc = folder_open(&o->folder, path, err);
    if (rc == 0 && path[0])
        rc = load_all(o, err);
    if (rc)
        objects_close(&o);
    *out = o;
    return rc;
}

void objects_close(struct objects **out)
{
    struct objects *o = *out;

    if (!o)
        return;
    for (int i = 0; i < o->n; i++)
        objects_put(o->at[i].enrolled);
    if (o->folder >= 0)
        close(o->folder);
    lock_destroy(&o->lock);
    free(o);
    *out = NULL;
}

/* ------------------------------------------------------------------------- in and out */

/* Under the lock: may the object be added? */
static int objects_admit(const struct objects *o, const struct enrolled *e, struct err *err)
{
    int own = 0;

    if (place_find(o, e->owner, e->object.name) >= 0)
        return err_at(err, ERR_STATE, "/name", "there is an object '%s' already", e->object.name);
    for (int i = place_seek(o, e->owner, "");
         i < o->n && strcmp(o->at[i].enrolled->owner, e->owner) == 0; i++)
        own++;
    if (own >= o->limits.per_owner)
        return err_set(err, ERR_BUSY, "there are %d objects, as many as an owner may have", own);
    if (o->n == OBJECTS_MAX)
        return err_set(err, ERR_BUSY, "there are %d objects of all owners, as many as may be",
                       OBJECTS_MAX);
    return 0;
}

static int objects_check_name(const struct objects *o, const struct enrolled *e, struct err *err)
{
    if (!object_name_valid(e->object.name))
        return err_at(err, ERR_INPUT, "/name",
                      "a name has 1 to %d letters, digits, '-', '_' and '.', not first",
                      OBJECT_NAME_CAP - 1);
    if (e->class_name[0] && !object_name_valid(e->class_name))
        return err_at(err, ERR_INPUT, "/class",
                      "a class has 1 to %d letters, digits, '-', '_' and '.', not first",
                      OBJECT_NAME_CAP - 1);
    if (strpbrk(e->owner, "@/"))
        return err_set(err, ERR_INPUT, "no owner's name has '@' or '/'");
    if (e->bytes > o->limits.max_bytes)
        return err_set(err, ERR_LIMIT, "the object would have %llu bytes, %llu are allowed",
                       (unsigned long long)e->bytes, (unsigned long long)o->limits.max_bytes);
    return 0;
}

/* Its name is taken while its file is written, without the lock. */
static int bring_in(struct objects *o, struct enrolled *e, const struct enrolled **made,
                    struct err *err)
{
    int rc;

    lock_take(&o->lock);
    rc = objects_admit(o, e, err);
    if (rc == 0)
        place_insert(o, e, COMING);
    lock_give(&o->lock);
    if (rc)
        return rc;
    if (o->folder >= 0)
        rc = objects_file_write(o->folder, e, err);
    lock_take(&o->lock);
    if (rc == 0) {
        o->at[place_find(o, e->owner, e->object.name)].stage = HERE;
        if (made)
            *made = enrolled_hold(e);
    } else {
        take_out(o, place_find(o, e->owner, e->object.name));
    }
    lock_give(&o->lock);
    return rc;
}

int objects_add(struct objects *o, const char *owner, const char *class_name, struct object *object,
                const struct enrolled **made, struct err *err)
{
    struct enrolled *e = calloc(1, sizeof *e);
    int rc;

    if (made)
        *made = NULL;
    if (!e)
        return err_set(err, ERR_MEMORY, "no memory for an object");
    if (strlen(owner) >= sizeof e->owner || strlen(class_name) >= sizeof e->class_name) {
        free(e);
        return err_set(err, ERR_INPUT, "the name of an owner or a class is too long");
    }
    e->object = *object;
    strcpy(e->owner, owner);
    strcpy(e->class_name, class_name);
    e->created_s = clock_unix_s();
    e->bytes = objects_file_bytes(e);
    atomic_init(&e->holders, 1);
    rc = objects_check_name(o, e, err);
    if (rc == 0)
        rc = bring_in(o, e, made, err);
    if (rc)
        free(e); /* the object stays the caller's */
    else
        *object = (struct object){0};
    return rc;
}

const struct enrolled *objects_get(struct objects *o, const char *owner, const char *name)
{
    const struct enrolled *e = NULL;
    int i;

    lock_take(&o->lock);
    i = place_find(o, owner, name);
    if (i >= 0 && o->at[i].stage == HERE)
        e = enrolled_hold(o->at[i].enrolled);
    lock_give(&o->lock);
    return e;
}

int objects_list(struct objects *o, const char *owner, const char *after,
                 const struct enrolled **list, int cap)
{
    int n = 0;

    lock_take(&o->lock);
    for (int i = place_seek(o, owner, after); i < o->n && n < cap; i++) {
        if (strcmp(o->at[i].enrolled->owner, owner) != 0)
            break;
        if (o->at[i].stage == HERE && strcmp(o->at[i].enrolled->object.name, after) != 0)
            list[n++] = enrolled_hold(o->at[i].enrolled);
    }
    lock_give(&o->lock);
    return n;
}

int objects_remove(struct objects *o, const char *owner, const char *name, struct err *err)
{
    struct enrolled *e = NULL;
    int i, rc = 0;

    lock_take(&o->lock);
    i = place_find(o, owner, name);
    if (i >= 0 && o->at[i].stage == HERE) {
        e = o->at[i].enrolled;
        o->at[i].stage = GOING;
    }
    lock_give(&o->lock);
    if (!e)
        return err_set(err, ERR_NOT_FOUND, "there is no object '%.63s'", name);
    if (o->folder >= 0)
        rc = objects_file_remove(o->folder, e, err);
    lock_take(&o->lock);
    i = place_find(o, owner, name);
    if (rc)
        o->at[i].stage = HERE;
    else
        take_out(o, i);
    lock_give(&o->lock);
    if (rc == 0)
        objects_put(e);
    return rc;
}

void objects_count(struct objects *o, int *n, uint64_t *bytes)
{
    *bytes = 0;
    lock_take(&o->lock);
    *n = o->n;
    for (int i = 0; i < o->n; i++)
        *bytes += o->at[i].enrolled->bytes;
    lock_give(&o->lock);
}
