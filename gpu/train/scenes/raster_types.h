/*
 * raster_types.h - what the renderer reads and writes; render.py, raster_mesh.py, build.py and
 * assets.py mirror the layouts
 *
 * Frames:  world z up, metres; camera x right, y down, z forward; pixel centres at integers.
 *          R, t of a view take world points to camera points.
 * Key:     depth (f32 bits, metres along z) << 32 | instance (16 bits, of its scene) << 16 |
 *          triangle; shadow maps keep the depth alone
 * Outputs: a null pointer in frame = not wanted
 * Textures: RGBA8 mip chains, power-of-two sides, one buffer; colours sRGB-coded.
 */
#ifndef RASTER_TYPES_H
#define RASTER_TYPES_H

#include <stdint.h>

#define CLUSTER 32 /* neighbouring triangles that are culled together */
#define EMPTY_KEY 0xffffffffffffffffull
#define EMPTY_DEPTH 0xffffffffu
/* watertight, counter-clockwise seen from outside: its back faces never show */
#define MESH_CLOSED 1

/* the steps of a draw, for those who want to time them apart */
enum { PHASE_CULL, PHASE_SHADOW, PHASE_VISIBILITY, PHASE_SHADE, PHASE_CAMERA, N_PHASES };
enum { INST_BOX_UV = 1, INST_ONLY_PLAIN = 2, INST_NO_SHADOW = 4, INST_GLOSS = 8, INST_HIDE = 16 };
enum { LIGHT_SUN = 0, LIGHT_POINT = 1 };

struct mesh {
    int32_t tri0, n_tri, mat0, cluster0;
    float c[3], r; /* bounding sphere */
    int32_t flags, pad;
};
struct cluster {
    float c[3], r;
}; /* triangles CLUSTER*k.. of a mesh */
struct mat {
    int32_t tex;
    uint8_t r, g, b, gloss;
};
struct tex {
    int32_t offset, log_w, log_h, pad;
}; /* offset in texels */
struct inst {
    float m[12];            /* world from object, rows of a 3x4 */
    int32_t mesh, tex;      /* tex: replaces the mesh's textures, -1 = keep */
    uint8_t r, g, b, gloss; /* tint, 128 = 1.0; gloss 0..255 where INST_GLOSS */
    int32_t flags;
    float su, sv; /* texture repeats: per uv unit, or per metre with INST_BOX_UV */
    float emit;   /* radiance of the surface itself, times its colour */
    int32_t id;   /* object number for instance masks, 0 = background */
    uint32_t
        object; /* movable thing of its scene, 1..255; 0 = static; one number for all its parts */
};
struct view {
    float R[9], t[3], fx, fy, cx, cy;
    int32_t scene, ortho, light;
    int32_t moment; /* 0, or 1: things have made their motion */
};
struct scene {
    int32_t inst0, n_inst, light0, n_light;
    float amb_up[3], amb_dn[3];
    int32_t env_tex, sky_tex;
    float env_gain, sky_gain, fog, ao;
    float fog_col[3];
    int32_t motion0; /* row of frame.motion that is this scene's object 0 */
};
struct light {
    int32_t type, shadow; /* shadow: view index in the shadow set, -1 = none */
    float size_px, range; /* softness in shadow-map texels; metres at which a point light halves */
    float pos[3], dir[3], col[3];
    float cone; /* cosine of the half angle of a point light's cone, -1 = all round */
    float pad[2];
};
struct effects { /* one a view; see resolve_pixel */
    float exposure, wb[3];
    float contrast, saturation, gamma, black;
    float vignette, blur_x, blur_y, roll_blur;
    float defocus, shot, read, haze;
    uint32_t seed;
    float glow, pad[2];
};
struct frame {                    /* everything a draw needs; pointers are the back end's memory */
    const float *vert, *uv;       /* [NV][3], [NV][2] */
    const int32_t *tri, *tri_mat; /* [NT][3], [NT] */
    const struct mesh *mesh;
    const struct cluster *cluster;
    const struct mat *mat;
    const struct tex *tex;
    const uint32_t *texel; /* r | g << 8 | b << 16 */
    const struct inst *inst;
    const struct scene *scene;
    const struct light *light;
    const struct view *view, *shadow; /* cameras, shadow cameras */
    const struct effects *fx;
    const float *motion;  /* [][12] rows of a 3x4: world motion of an object from moment 0 to 1 */
    uint64_t *key;        /* [n_view][h][w] */
    uint32_t *shadow_key; /* [n_shadow][sn][sn] depth as f32 bits */
    float *hdr, *hdr2;    /* [n_view][h][w][4], linear colour and mirror weight */
    float *lum_part,
        *mean_lum; /* sums of log(luminance) of hdr2 over LUM_W x LUM_H pixels; [n_view] mean */
    float *rgb, *depth; /* [n_view][3][h/ss][w/ss] 0..1, [n_view][h/ss][w/ss] metres, 0 = sky */
    float *normal;      /* [n_view][3][h/ss][w/ss] unit, camera frame, towards the camera; sky 0 */
    int32_t *id;        /* [n_view][h/ss][w/ss] inst.id, sky 0 */
    uint8_t *object;    /* [n_view][h/ss][w/ss] inst.object, sky 0 */
    int32_t n_view, n_shadow, w, h, ss, sn;
};

#define LUM_W 32
#define LUM_H 8
#define MAX_SS 4 /* samples along a pixel's side */

#endif
