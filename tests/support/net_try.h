/*
 * net_try.h - load, plan and run a model that may be anything, within small limits
 */
#pragma once

#include "tests/support/net_ref.h"

/* Load; if that works plan and run small. Returns the first code that is not 0. */
static inline int try_bytes(const uint8_t *data, size_t len, int side, struct err *err)
{
    struct net_limits l = {1 << 20, 1 << 20, 8 << 20, 64};
    struct net *net = NULL;
    struct net_dnnl *p = NULL;
    int shape[4], rc = net_load_bytes(&net, data, len, NULL, NULL, &l, err);
    if (rc) {
        assert_null(net);
        return rc;
    }
    rc = net_output_shape(net, 1, side, side, shape, err);
    if (!rc) {
        size_t count = (size_t)shape[0] * shape[1] * shape[2] * shape[3];
        float *x = calloc((size_t)net_input_channels(net) * side * side, sizeof *x);
        float *y = calloc(count, sizeof *y);
        rc = x && y ? net_dnnl_new(&p, net, 1, side, side, &l, err) : ERR_MEMORY;
        if (!rc)
            rc = net_dnnl_run(p, x, y, err);
        net_dnnl_free(&p);
        free(x);
        free(y);
    }
    net_free(&net);
    return rc;
}

static inline void check_refused(int rc, const struct err *err)
{
    assert_true(rc == ERR_INPUT || rc == ERR_UNSUPPORTED || rc == ERR_LIMIT || rc == ERR_MEMORY);
    assert_int_equal(err->code, rc);
    assert_true(strlen(err->text) > 5);
    for (const char *s = err->text; *s; s++)
        assert_true(*s >= 0x20 && *s < 0x7f);
    for (const char *s = err->where; *s; s++)
        assert_true(*s >= 0x20 && *s < 0x7f);
}
