/*
 * models.h - the installed networks: NAME.ini beside NAME.onnx in the model directories
 *
 * A sidecar declares what an ONNX file does not say (docs/MODELS.md, "Sidecar"):
 *     [model]  kind = depth | motion      name = NAME (default)    file = NAME.onnx (default)
 *              licence = text input, output_name = tensors of the graph (default: its only ones)
 *              mean, std = three numbers  multiple = 32
 *              output = depth | inverse_depth | disparity | log_depth    disparity_range = two
 *              numbers (m)
 *              focal_px, min_depth_m, max_depth_m = number   rays = no | yes
 *     [STAGE]  NAME = number: replaces what we tuned a stage with (gpu/tuning.h)
 * Every network is read and checked once at start, so that a damaged file is reported then and not
 * when the first phone connects. Weights go to a device when the first session there needs them
 * (worker.c).
 * Threads: any; nothing changes after models_open().
 */
#pragma once

#include "api/api.h"
#include "gpu/gpu.h"

#define MODELS_MAX 32

struct models;

/*
 * models_open - read directories (separated by colons; those that do not exist are passed
 * over; $ORIGIN in front of one is the program's own directory)
 *
 * In:      depth, motion: names of the default networks, "" = the first by name
 * Returns: 0; ERR_NOT_FOUND: no depth network, or a default that was named is not there; ERR_INPUT:
 *          where = file:line of a sidecar; what net_load() says of a file
 */
MUST_CHECK int models_open(struct models **m, const char *path, const char *depth,
                           const char *motion, struct err *err);
void models_close(struct models **m);

/* Returns the network of this name ("" = the default of its kind), NULL if there is none. */
const struct gpu_model_info *models_find(const struct models *m, enum gpu_model_kind kind,
                                         const char *name);
/* Returns the network's index, 0...MODELS_MAX-1, under which workers keep their device copies. */
int models_index(const struct models *m, const struct gpu_model_info *info);
/* Fills at most cap entries and returns how many there are. */
int models_list(const struct models *m, struct api_model *models, int cap);

/* Parses one sidecar, for tests and fuzzing; info->path stays empty unless `file` is given. */
MUST_CHECK int models_parse(struct gpu_model_info *info, const char *name, const char *data,
                            size_t len, struct err *err);

#define MODELS_NET_AREA 53248 /* pixels: 416 x 128, the input of the papers' network */

/*
 * models_net_size - the network's input for a camera: sides that are multiples of `multiple`, at
 * most MODELS_NET_AREA pixels in all
 *
 * Maths:   the largest area * (ratio of the two aspects, <= 1)^2: of two sizes of the camera's own
 *          aspect the larger one, but no stretching for the sake of area. 640x480 -> 256x192,
 *          1242x375 -> 416x128, 480x640 -> 192x256, 1280x720 -> 288x160
 */
void models_net_size(int camera_w, int camera_h, int multiple, int *w, int *h);
