/*
 * objects_job.h - slow work with objects: to enrol one, and to search for enrolled ones
 *
 * Both run on the caller's thread, on the host with either back end, and touch no session: a
 * session searches on its device (gpu/recognise).
 */
#pragma once

#include "daemon/objects.h"

/* Checked between two views: once it is set a job ends with ERR_BUSY. */
typedef const atomic_bool objects_job_stop;

/* The recogniser's configuration of every enrolled object, so that any of them fit one library. */
#define OBJECTS_JOB_UNIT_M 0.004f

/*
 * objects_job_enrol - an object out of pictures or a mesh
 *
 * Out:     o, without a name; object_free() it, also after an error
 * Returns: 0; ERR_INPUT, ERR_LIMIT: a picture, the mesh, or no pair of points that could be
 *          recognised, where = the JSON pointer; ERR_UNSUPPORTED; ERR_MEMORY
 */
MUST_CHECK int objects_job_enrol(struct object *o, const struct api_shape *shape,
                                 objects_job_stop *stop, struct err *err);

/* The same from points in the object's frame (gpu/recognise/object.h). where = "/region". */
MUST_CHECK int objects_job_enrol_cloud(struct object *o, const struct object_point *point, size_t n,
                                       struct err *err);

/*
 * objects_job_match - which objects one picture, or a mesh seen from all around, shows
 *
 * In:      enrolled [n], held by the caller
 * Out:     list [API_MATCHES_MAX], the best supported first; *found
 * Returns: 0, also where n = 0; as objects_job_enrol()
 */
MUST_CHECK int objects_job_match(struct api_match *list, int *found,
                                 const struct enrolled *const *enrolled, int n,
                                 const struct api_shape *shape, objects_job_stop *stop,
                                 struct err *err);
