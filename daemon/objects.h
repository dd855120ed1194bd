/*
 * objects.h - the objects that were enrolled, by owner and name, in memory and on the disk
 *
 * All objects are loaded at the start and stay in memory. A file is written before an object can be
 * got, and gone before it counts as deleted. An object that is held (struct enrolled) stays whole
 * when it is deleted meanwhile: only its name is free then.
 *
 * File:    OWNER@NAME.object: head of 16 bytes (OBJECTS_MAGIC u32, version u32, CRC-32C u32 of all
 *          that follows the head, 0 u32), then a row of sections (proto/section.h): "DOBJ" (owner,
 *          class, when it was made) and those of gpu/recognise/object.h
 * Write:   to OWNER@NAME.part, fsync, rename, fsync of the folder; a .part that an earlier process
 *          left is removed, since its object was not acknowledged
 * Refuse:  a file that is damaged, another build's or another object's is renamed to *.aside, and
 *          an event tells the operator; nothing of it is lost
 * Threads: any; one lock, never held over input or output
 */
#pragma once

#include "api/api.h"
#include "daemon/config.h"
#include "gpu/recognise/object.h"

#include <stdatomic.h>

#define OBJECTS_MAGIC 0x4a424f52u /* "ROBJ" */
#define OBJECTS_VERSION 1u
#define OBJECTS_MAX 4096 /* objects of all owners */
/* Longest file that is read: more than the limits of gpu/recognise/object.h make possible. */
#define OBJECTS_BYTES_MAX (80 << 20)

struct objects;

/* An enrolled object. Nothing of it changes while it is held. */
struct enrolled {
    struct object object; /* object.name is its name */
    char owner[API_NAME_CAP];
    char class_name[OBJECT_NAME_CAP]; /* sort of object; "" = not given */
    double created_s;                 /* Unix time */
    uint64_t bytes;                   /* bytes of its file */
    atomic_int holders;               /* references; the store has one */
};

struct objects_limits {
    int per_owner;      /* objects of one owner at most */
    uint64_t max_bytes; /* bytes of one file at most */
};

/* Finds the configured folder: objects.path, or `objects` in journal.path or in the folder of the
 * service manager ($STATE_DIRECTORY). False: none, objects end with the process. */
#define OBJECTS_PATH_CAP (CONFIG_TEXT_CAP + 16)
bool objects_choose_path(const struct config *config, char path[OBJECTS_PATH_CAP]);
/* Could objects_open() have that folder? Makes nothing. */
MUST_CHECK int objects_check(const struct config *config, struct err *err);

/*
 * objects_open - the store, with what its folder holds
 *
 * In:      path: the folder, made if it is not there; "" = objects end with the process
 * Returns: 0; ERR_INPUT, ERR_IO: what folder_open() says; ERR_MEMORY
 */
MUST_CHECK int objects_open(struct objects **o, const char *path,
                            const struct objects_limits *limits, struct err *err);
/* Objects that are still held stay whole. */
void objects_close(struct objects **o);

/*
 * objects_add - keep an object
 *
 * In:      owner, as session_info.owner has it; class_name: "" or as object_name_valid() wants it
 * In/out:  object, whose name is valid and not the owner's yet; empty after a success, else as it
 *          was
 * Out:     *made, held: objects_put() it; or NULL: it is not wanted
 * Returns: 0; ERR_STATE: there is one of that name; ERR_LIMIT: too large; ERR_BUSY: the owner has
 *          as many as it may, or all together have; ERR_INPUT: owner or names; ERR_IO; ERR_MEMORY
 */
MUST_CHECK int objects_add(struct objects *o, const char *owner, const char *class_name,
                           struct object *object, const struct enrolled **made, struct err *err);

/* Holds an object; the caller calls objects_put(). Returns NULL if there is none of that name. */
const struct enrolled *objects_get(struct objects *o, const char *owner, const char *name);
/* Takes NULL. */
void objects_put(const struct enrolled *e);

/* Holds an owner's objects with names after `after` ("" = all), at most cap; returns how many. */
int objects_list(struct objects *o, const char *owner, const char *after,
                 const struct enrolled **list, int cap);

/* Removes the file and frees the name. Returns 0; ERR_NOT_FOUND; ERR_IO: the object stays. */
MUST_CHECK int objects_remove(struct objects *o, const char *owner, const char *name,
                              struct err *err);

/* Counts the objects of all owners and the bytes of their files. */
void objects_count(struct objects *o, int *n, uint64_t *bytes);
