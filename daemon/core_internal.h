/* core_internal.h - what core*.c share: admission of a session, its device, its streams */
#pragma once

#include "daemon/core.h"

/* ----------------------------------------------------------------------- admission of a session */

/* Fills the setup of a session with these options.
 * Returns: 0; ERR_INPUT, ERR_NOT_FOUND, ERR_UNSUPPORTED with where = JSON pointer; ERR_MEMORY */
MUST_CHECK int core_admit_setup(struct core *c, const struct session_options *options,
                                const char *owner, struct session_setup *setup, struct err *err);
/* Holds the objects that the options nameand counts their bytes. Returns as
 * object_search_admit(). */
MUST_CHECK int core_admit_objects(struct core *c, struct session_setup *setup, struct err *err);
/* Makes a new session, with files if it has a journal, and registers it. Returns: 0; ERR_BUSY: the
 * server or the owner's quota is full; ERR_MEMORY; ERR_IO */
MUST_CHECK int core_admit(struct core *c, struct session_setup *setup, struct session **s,
                          struct err *err);
/* Could a session of the configured options be admitted now? Returns 0; ERR_BUSY. */
MUST_CHECK int core_room(struct core *c, struct err *err);
/* The store calls these (store_ops) to make, to register and to remove a session. */
MUST_CHECK int core_admit_again(void *core, const struct store_manifest *m, struct session **s,
                                char origin[STORE_ORIGIN_CAP], struct err *err);
MUST_CHECK int core_register_again(void *core, struct session *s, struct err *err);
void core_free_session(struct session *s);

/* ------------------------------------------------------------------------- its device */

/*
 * core_place - the device with the least to do that has the memory
 *
 * Load is what sessions ask for, in frames a second (session_load()); differences below
 * CORE_PLACE_FPS are none, then the smaller share of the memory budget decides.
 * In:      setup: memory_bytes and options.fps are read; frames_per_s: what the sessions of a
 *          device may be counted with together, by their options' fps; 0 = no bound. Closed and
 *          faulty ones count no more.
 * Out:     worker, from whose budget the bytes are taken
 * Returns: 0; ERR_BUSY: no device has room, or there is none; ERR_INPUT: none takes such networks
 * Runs:    any thread; two at once may both see the same device idle, which evens out as far as
 *          load goes, and is found out by core_place_confirm() where it breaks the bound
 */
#define CORE_PLACE_FPS 10
MUST_CHECK int core_place(struct core *c, const struct session_setup *setup, double frames_per_s,
                          struct worker **worker, struct err *err);
/* Could core_place() succeed? Takes nothing. Returns 0; ERR_BUSY. */
MUST_CHECK int core_place_fits(struct core *c, const struct session_setup *setup,
                               double frames_per_s, struct err *err);
/* Checks that the device of a registered session is still within its bound. Two sessions that came
 * at once may both be refused; never are too many admitted. Returns 0; ERR_BUSY. */
MUST_CHECK int core_place_confirm(struct core *c, const struct session *s, double frames_per_s,
                                  struct err *err);
/* Returns the seconds after which a client should ask again: until the first retention ends, if
 * that is within CORE_RETRY_LIMIT_S, else CORE_RETRY_S, because other clients delete sessions. */
#define CORE_RETRY_S 10
#define CORE_RETRY_LIMIT_S 600
int core_retry_s(struct core *c);

/* Counts of all sessions. The sessions of a device ask for load_fps now (session_load()); their
 * options promise promised_fps. Closed and faulty sessions do not count in the latter. */
struct core_census {
    int states[SESSION_STATES], views[API_VIEWS_STATES];
    uint64_t points;
    struct core_census_device {
        uint32_t sessions, queued;
        float load_fps;
        double promised_fps;
    } devices[CORE_DEVICES_MAX]; /* indexed as core.workers */
};
void core_take_census(struct core *c, struct core_census *all);

/* ------------------------------------------------------------------------- its cloud */

/* Gets a session that has a map, with the results of its frames; the caller calls session_unref().
 * Returns 0; ERR_NOT_FOUND; ERR_BUSY: it is being recovered; ERR_STATE: its kind has no map. */
MUST_CHECK int core_find_whole(struct core *c, const char *id, struct session **s, struct err *err);
/* Reserves one more copy of a cloud, in all and for its reader (a tenant, NULL = there was no
 * memory for it), until it is given back. Returns 0; ERR_BUSY; ERR_MEMORY. */
MUST_CHECK int core_take_export(struct core *c, struct tenant *reader, struct err *err);
void core_give_export(struct core *c, struct tenant *reader);

/* ------------------------------------------------------------------------- objects: core_ops */

MUST_CHECK int core_objects_add(struct core *c, const char *owner, const char *name,
                                const char *class_name, const struct api_shape *shape,
                                struct api_object *object, struct err *err);
MUST_CHECK int core_objects_match(struct core *c, const char *owner,
                                  const char (*names)[API_OBJECT_CAP], int n_names,
                                  const struct api_shape *shape, struct api_match *list, int *n,
                                  struct err *err);
MUST_CHECK int core_objects_get(struct core *c, const char *owner, const char *name,
                                struct api_object *object, struct err *err);
MUST_CHECK int core_objects_list(struct core *c, const char *owner, const char *after,
                                 struct api_object *list, int cap, int *n, struct err *err);
MUST_CHECK int core_objects_delete(struct core *c, const char *owner, const char *name,
                                   struct err *err);

/* ------------------------------------------------------------------------- streams: core_ops */

MUST_CHECK int core_stream_expect(struct core *c, const char *id, int *retry_after_s,
                                  struct err *err);
MUST_CHECK int core_stream_open(struct core *c, const char *id, enum control_role role,
                                void *cookie, struct stream **s, struct err *err);
MUST_CHECK int core_stream_start(struct stream *s, const struct control_start *start,
                                 struct err *err);
MUST_CHECK int core_stream_frame(struct stream *s, const uint8_t *msg, size_t len, struct err *err);
uint64_t core_stream_ahead_us(struct stream *s);
MUST_CHECK int core_stream_control(struct stream *s, const struct control_message *m,
                                   struct err *err);
enum stream_kind core_stream_next(struct stream *s, const uint8_t **msg, size_t *len);
void core_stream_close(struct stream *s);
