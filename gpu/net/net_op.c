#include "gpu/net/net_op.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int net_op_has_attr(const struct net_op *op, const char *name)
{
    char key[64];
    if (!*name || strchr(name, ' '))
        return 0;
    if ((size_t)snprintf(key, sizeof key, " %s ", name) >= sizeof key)
        return 0;
    return strstr(op->attrs, key) != NULL;
}

void net_op_escape(char *out, size_t cap, const char *name)
{
    size_t n = 0;
    for (const unsigned char *p = (const unsigned char *)(name ? name : ""); *p; p++) {
        int plain = *p >= 0x20 && *p < 0x7f && *p != '\\' && *p != '\'';
        if (n + (plain ? 1 : 4) + 3 >= cap) {
            memcpy(out + n, "..", 2);
            n += 2;
            break;
        }
        if (plain)
            out[n++] = (char)*p;
        else
            n += (size_t)snprintf(out + n, cap - n, "\\x%02x", *p);
    }
    out[n] = 0;
}

int net_op_fail(struct err *err, int code, const struct net_node *n, const char *fmt, ...)
{
    char where[ERR_WHERE_CAP], text[ERR_TEXT_CAP];
    va_list args;
    snprintf(where, sizeof where, "node '%s' (%s)", n->name, n->op->name);
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return err_at(err, code, where, "%s", text);
}

const struct net_attr *net_op_attr(const struct net_node *n, const char *name)
{
    for (int i = 0; i < n->n_attr; i++)
        if (!strcmp(n->attr[i].name, name))
            return &n->attr[i];
    return NULL;
}

/* The node's attribute, or NULL if it has none. `what`: the required kind, in words. */
static int net_op_find(const struct net_attr **a, const struct net_node *n, const char *name,
                       enum net_attr_kind kind, const char *what, struct err *err)
{
    *a = net_op_attr(n, name);
    if (*a && (*a)->kind != kind)
        return net_op_fail(err, ERR_INPUT, n, "attribute '%s' is not %s", name, what);
    return 0;
}

int net_op_int(const struct net_node *n, const char *name, int64_t *v, int64_t def, struct err *err)
{
    const struct net_attr *a;
    int rc = net_op_find(&a, n, name, NET_ATTR_INT, "an integer", err);
    *v = a && !rc ? a->i : def;
    return rc;
}

int net_op_float(const struct net_node *n, const char *name, float *v, float def, struct err *err)
{
    const struct net_attr *a;
    int rc = net_op_find(&a, n, name, NET_ATTR_FLOAT, "a float", err);
    *v = a && !rc ? a->f : def;
    return rc;
}

int net_op_string(const struct net_node *n, const char *name, const char **v, const char *def,
                  struct err *err)
{
    const struct net_attr *a;
    int rc = net_op_find(&a, n, name, NET_ATTR_STRING, "a string", err);
    *v = a && !rc ? a->s : def;
    return rc;
}

int net_op_ints(const struct net_node *n, const char *name, int *v, int want, int *found,
                struct err *err)
{
    const struct net_attr *a = net_op_attr(n, name);
    *found = 0;
    if (!a)
        return 0;
    if (a->kind != NET_ATTR_INTS || a->n != want)
        return net_op_fail(err, ERR_INPUT, n, "attribute '%s' is not %d integers", name, want);
    for (int i = 0; i < want; i++) {
        if (a->ints[i] < -NET_SIDE_MAX || a->ints[i] > NET_SIDE_MAX)
            return net_op_fail(err, ERR_LIMIT, n, "attribute '%s' holds %lld", name,
                               (long long)a->ints[i]);
        v[i] = (int)a->ints[i];
    }
    *found = 1;
    return 0;
}

static float half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = (h >> 10) & 31, m = h & 0x3ff, u;
    float f;
    if (e == 0) { /* zero and subnormals: m * 2^-24 */
        f = (float)m * 0x1p-24f;
        memcpy(&u, &f, 4);
        u |= sign;
    } else if (e == 31) {
        u = sign | 0x7f800000u | m << 13;
    } else {
        u = sign | (e + 112) << 23 | m << 13;
    }
    memcpy(&f, &u, 4);
    return f;
}

double net_op_value(const struct net_const *c, size_t i)
{
    switch (c->type) {
    case NET_F32:
        return ((const float *)c->data)[i];
    case NET_F16:
        return half_to_float(((const uint16_t *)c->data)[i]);
    case NET_F64:
        return ((const double *)c->data)[i];
    case NET_I32:
        return ((const int32_t *)c->data)[i];
    case NET_I64:
        return (double)((const int64_t *)c->data)[i];
    case NET_BOOL:
        return ((const uint8_t *)c->data)[i] != 0;
    case NET_I8:
        return ((const int8_t *)c->data)[i];
    case NET_U8:
        return ((const uint8_t *)c->data)[i];
    }
    return 0;
}
