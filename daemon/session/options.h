/*
 * options.h - a client's options of a session, completed and checked
 */
#pragma once

#include "daemon/config.h"
#include "daemon/models.h"

/*
 * options_resolve - fill in defaults, check every field against configuration and networks
 *
 * In/out:  options; nothing is left at "default" but net_w, net_h, which wait for the first picture
 *          if the camera is not known, or if no network runs
 * In:      line: of the session's kind, which says which networks it runs; has_journal: the server
 *          keeps journals; without one sessions have none unless they ask
 * Out:     *depth, NULL if the line has none; *motion, NULL if poses come with the frames;
 *          *multiple of the networks' sides
 * Returns: 0; ERR_INPUT, ERR_NOT_FOUND, ERR_UNSUPPORTED with where = JSON pointer
 */
MUST_CHECK int options_resolve(struct session_options *options, const struct gpu_line *line,
                               const struct gpu_model_info **depth,
                               const struct gpu_model_info **motion, int *multiple,
                               const struct config *config, const struct models *models,
                               bool has_journal, struct err *err);

/* Returns the world's unit vector away from the ground; +y where that is not known. */
struct vec3 options_up(enum session_up up);
