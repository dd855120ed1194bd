/*
 * ply_layout.h - what the header of a PLY file announces
 *
 * A header is text: a format, then elements in the order in which they follow, each with its
 * properties. Everything in it is bounded: lines, their length, elements, properties. Nothing that
 * it says about sizes is trusted here: ply_read.c compares it with the file.
 */
#ifndef RECOND_PROTO_PLY_LAYOUT_H
#define RECOND_PROTO_PLY_LAYOUT_H

#include "proto/err.h"

#include <stdint.h>
#include <stdio.h>

#define PLY_LAYOUT_LINES_MAX 512
#define PLY_LAYOUT_LINE_BYTES 1024
#define PLY_LAYOUT_ELEMENTS_MAX 16
#define PLY_LAYOUT_PROPERTIES_MAX 128 /* properties of all elements together */

enum ply_layout_format {
    PLY_LAYOUT_NONE,
    PLY_LAYOUT_ASCII,
    PLY_LAYOUT_LITTLE_ENDIAN,
    PLY_LAYOUT_BIG_ENDIAN
};

enum ply_layout_type {
    PLY_LAYOUT_I8,
    PLY_LAYOUT_U8,
    PLY_LAYOUT_I16,
    PLY_LAYOUT_U16,
    PLY_LAYOUT_I32,
    PLY_LAYOUT_U32,
    PLY_LAYOUT_F32,
    PLY_LAYOUT_F64,
    PLY_LAYOUT_TYPES
};

enum ply_layout_field {
    PLY_LAYOUT_X,
    PLY_LAYOUT_Y,
    PLY_LAYOUT_Z,
    PLY_LAYOUT_RED,
    PLY_LAYOUT_GREEN,
    PLY_LAYOUT_BLUE,
    PLY_LAYOUT_CONFIDENCE,
    PLY_LAYOUT_FIELDS,                     /* of points */
    PLY_LAYOUT_CORNERS = PLY_LAYOUT_FIELDS /* list of the point indices of a face */
};

struct ply_layout_property {
    int type;  /* enum ply_layout_type */
    int count; /* type of a list's length; -1 = one value, no list */
    int field; /* enum ply_layout_field; -1 = skipped */
};

struct ply_layout_element {
    uint64_t n;
    int first, n_properties; /* first index in ply_layout.property */
    int lists;               /* number of the element's properties that are lists */
    uint32_t stride;         /* least bytes of a binary record; exact without lists */
};

struct ply_layout {
    enum ply_layout_format format;
    struct ply_layout_element element[PLY_LAYOUT_ELEMENTS_MAX];
    struct ply_layout_property property[PLY_LAYOUT_PROPERTIES_MAX];
    int n_elements, n_properties;
    int points; /* index of the element "vertex" */
    int faces;  /* index of the element "face", if it has a list of corners; -1 = none */
    int has_colour, has_confidence, has_hash;
    uint64_t hash; /* frame of the comment that ply_header() writes */
    char up[3];    /* up axis of that comment; "" = none */
};

/*
 * ply_layout_read - from "ply" to "end_header"; the file stands behind it afterwards
 *
 * In:      path: for errors
 * Returns: 0: a format, one element "vertex" with x, y and z, each a number and there once;
 *          ERR_INPUT; ERR_LIMIT; ERR_UNSUPPORTED: fields as lists, more than one "vertex", colours
 *          of a type that has no full scale
 */
MUST_CHECK int ply_layout_read(struct ply_layout *l, const char *path, FILE *f, struct err *err);

/* Size of a value in a binary file, in bytes. */
uint32_t ply_layout_bytes(int type);

#endif
