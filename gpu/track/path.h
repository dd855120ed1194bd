/*
 * path.h - the camera's poses, from its tracks and a network's depth
 *
 * A session without poses keeps a landmark in the world for each track, and the last PATH_KEPT
 * keyframes that saw them. A frame's pose is the one under which the landmarks fall on the tracks.
 * A keyframe gives new tracks a landmark at the network's depth; it then adjusts all kept
 * keyframes' poses and depth scales, and their landmarks, until all observations agree best. The
 * network's depths keep the path's scale.
 *
 * Order:   both back ends run path_block.h, the CPU as one lane, CUDA as blocks of them. A sum over
 *          landmarks has PATH_PARTS parts, added in one order in double, so both give the same
 *          bits.
 * Memory:  all of it is laid out when the session is made.
 * Maths:   MATH.md (P1)-(P11)
 */
#pragma once

#include "gpu/track/track.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PATH_KEPT 6     /* keyframes that are adjusted together */
#define PATH_POSE 7     /* unknowns of each: move, turn, log of its depth's scale */
#define PATH_POINTS 768 /* landmarks that are adjusted with them, at most */
#define PATH_PARTS 32   /* parts of a sum: part q has the landmarks q, q + 32 ... */
#define PATH_UNKNOWNS (PATH_KEPT * PATH_POSE)
#define PATH_PAIRS (PATH_UNKNOWNS * (PATH_UNKNOWNS + 1) / 2)

/* World to camera. */
struct path_pose {
    double r[9], t[3];
};

/* What a keyframe saw of a landmark. */
struct path_seen {
    float x, y;  /* pixels */
    float log_d; /* ln of the network's depth, or PATH_NO_DEPTH */
};

/* A slot s of the tracks has landmarks 2 s and 2 s + 1: when its track changes, older keyframes
 * still need the last track's landmark. */
struct path_landmark {
    double p[3];     /* world */
    uint32_t id;     /* its track's, 0 = none */
    uint32_t kept;   /* bit k: keyframe k has seen it */
    uint32_t is_bad; /* 1: keyframes disagree about it, and it is not used again */
    uint32_t pad;
    struct path_seen seen[PATH_KEPT];
};

/* A camera's turn: the rotation takes directions of the earlier camera to the later one. */
struct path_turn {
    double r[9];
    double variance; /* about each axis; 0: it is not known */
};

struct path_keyframe {
    struct path_pose T;
    double bias;           /* ln of the network's depth over the true one */
    struct path_turn turn; /* since the keyframe before it */
};

/* A keyframe's sight of a landmark in the system: three rows, weighted. */
struct path_row {
    double j[PATH_POSE][3], w[PATH_POSE][3], y[PATH_POSE][3], r[3];
};

/* A landmark in the system. */
struct path_point {
    uint32_t landmark, pad;
    double h[6], g[3]; /* xx xy xz yy yz zz of the inverse of its own 3 x 3; right hand side */
};

enum path_state {
    PATH_NONE,  /* there is no path, or it has had no frame */
    PATH_BEGUN, /* first frame, or first one after a restart */
    PATH_FOUND, /* the tracks gave the pose */
    PATH_LOST   /* too few landmarks agree: the pose is the guess, and the landmarks begin anew */
};

/* What a frame's answer may say. */
struct path_told {
    uint32_t state; /* enum path_state */
    uint32_t n_landmarks, n_inliers, is_keyframe;
    float error_px;   /* the inliers' root mean square error */
    float log_scale;  /* ln of the network's depth over the landmarks' */
    float log_sigma;  /* its standard error (P4); 0: the frame's tracks gave none */
    float correction; /* factor from the network's depth to the path's (P11) */
};

/* One frame. */
struct path_frame {
    const float *depth; /* [h][w] the network's, 0 = none */
    /* guess of the pose for a lost camera, in the path's own world */
    const struct rigid *T_wc;
    struct intrinsics K;
    int restart; /* 1: nothing connects it with the last frame */
    /* Of inertial samples (P10): the quaternion (1, turn/2), normalised, takes directions of this
     * camera to the last frame's, turn_s seconds ago; 0: unknown. */
    float turn[3], turn_s;
};

struct path {
    struct track_params params;
    struct path_pose T; /* the last frame's */
    double bias;
    struct path_turn since; /* turn since the last keyframe */
    struct intrinsics K;
    int n_slots;
    uint32_t n_frames;         /* so far */
    uint32_t n_kept;           /* keyframes */
    uint32_t n_points;         /* landmarks of the system */
    uint32_t is_refining;      /* 1: rounds of this frame's system are to come */
    uint32_t order[PATH_KEPT]; /* the kept keyframes' places, oldest first */
    struct path_keyframe keyframe[PATH_KEPT];
    struct path_told told;
    struct path_landmark *landmark; /* [2 n_slots] */
    uint32_t *list;                 /* [2 n_slots] landmarks of this frame's tracks */
    struct path_point *point;       /* [PATH_POINTS] */
    struct path_row *row;           /* [PATH_POINTS][PATH_KEPT] */
    double *term;                   /* [PATH_TERMS][2 n_slots] terms of sums */
    /* [PATH_PAIRS] lower half by rows, [PATH_UNKNOWNS] right side, which becomes the solution */
    double *system;
};

#define PATH_TERMS 16

#define PATH_LANES 1024 /* lanes of a block, at most */

/* A step's sums, in a block's shared memory. */
struct path_shared {
    double A[PATH_PAIRS], b[PATH_UNKNOWNS]; /* lower half, by rows */
    double sum[4];
    struct path_pose pose; /* the frame's, while it is searched */
    double bias, error;
    uint32_t n, n_inliers, done;
    uint32_t count[PATH_LANES / PATH_PARTS]; /* finds of a group's lanes */
};

/* Lays a path of n_slots tracks out in zeroed memory; NULL only counts. Returns its bytes. */
size_t path_lay_out(struct path *p, uint8_t *base, int n_slots);

/* The last frame's pose, camera to world. */
struct rigid path_T_wc(const struct path *p);

/*
 * path_cpu - the pose of a frame whose tracks are known
 *
 * In/out:  p; p->told is the frame's
 * In:      t: after the frame's track_cpu(); f
 * Maths:   MATH.md (P1)-(P11)
 * Twins:   path_cpu.c, path_cuda.cu (tests/twin/gpu_track.c)
 * Cost:    about 1 ms on one core, 10 ms where the frame becomes a keyframe
 */
void path_cpu(struct path *p, const struct track *t, const struct path_frame *f);

#ifdef __cplusplus
}
#endif
