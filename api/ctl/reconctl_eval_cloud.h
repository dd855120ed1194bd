/*
 * reconctl_eval_cloud.h - clouds of sessions, and how the measures of a cloud are shown
 */
#ifndef RECOND_API_RECONCTL_EVAL_CLOUD_H
#define RECOND_API_RECONCTL_EVAL_CLOUD_H

#include "api/eval/eval_cloud.h"
#include "api/ctl/reconctl_eval.h"
#include "proto/cloud/ply.h"

/* Reads a session's export by way of a temporary file. Returns as client_download() and
 * ply_read_file(). */
MUST_CHECK int reconctl_eval_session_cloud(struct ply_cloud *cloud, struct client *client,
                                           const char *session, struct err *err);

/* Puts members into the open object: points, distances, Chamfer, completeness, radii. */
void reconctl_eval_cloud_put(struct json_writer *w, const struct eval_cloud_report *r);
void reconctl_eval_cloud_print(const struct eval_cloud_report *r);

/* Draws how many of the distances lie in each twentieth of the threshold, up to three times it; the
 * last column holds all beyond, too. Returns as eval_plot_write(). */
MUST_CHECK int reconctl_eval_cloud_plot_distances(const char *path, const double *distance,
                                                  size_t n, double threshold_m, struct err *err);
/* Draws FNE, FPE and mean L_E against r. */
MUST_CHECK int reconctl_eval_cloud_plot_radii(const char *path, const struct eval_cloud_report *r,
                                              struct err *err);

#endif
