/*
 * raster_shade.h - from visibility keys to pictures, one element at a time, for both back ends
 *
 * shade    one sample: mip-mapped textures, lights with shadow maps, hemisphere light, screen-space
 *          occlusion
 * mirror   one sample: what a glossy surface reflects, by a walk over the depth of the same view
 * resolve  one pixel: samples are gathered along motion and defocus, then exposed and developed
 * geometry one pixel: depth, normal and masks
 */
#ifndef RASTER_SHADE_H
#define RASTER_SHADE_H

#include "raster_point.h"

HD v3 srgb_to_linear(v3 c)
{
    return V(c.x * (c.x * (c.x * 0.305306f + 0.682171f) + 0.012522f),
             c.y * (c.y * (c.y * 0.305306f + 0.682171f) + 0.012522f),
             c.z * (c.z * (c.z * 0.305306f + 0.682171f) + 0.012522f));
}

/* texture_level - bilinear, repeating, on one mip level; sRGB-coded result 0..1 */
HD v3 texture_level(const frame *f, const tex *t, float u, float v, int level)
{
    int lw = t->log_w, lh = t->log_h, off = t->offset;
    for (int k = 0; k < level; k++) {
        off += (1 << lw) << lh;
        lw = lw > 0 ? lw - 1 : 0;
        lh = lh > 0 ? lh - 1 : 0;
    }
    int w = 1 << lw, h = 1 << lh;
    float x = (u - floorf(u)) * w - 0.5f, y = (1.0f - (v - floorf(v))) * h - 0.5f;
    int x0 = (int)floorf(x), y0 = (int)floorf(y);
    float ax = x - x0, ay = y - y0;
    v3 c = V(0, 0, 0);
    for (int k = 0; k < 4; k++) {
        int xx = (x0 + (k & 1)) & (w - 1), yy = (y0 + (k >> 1)) & (h - 1);
        uint32_t p = f->texel[(size_t)off + ((size_t)yy << lw) + xx];
        float wt = ((k & 1) ? ax : 1 - ax) * ((k >> 1) ? ay : 1 - ay) * (1.0f / 255.0f);
        c = add(c, V((p & 255) * wt, (p >> 8 & 255) * wt, (p >> 16 & 255) * wt));
    }
    return c;
}

HD v3 texture_at(const frame *f, int i, float u, float v, float lod)
{
    const tex *t = &f->tex[i];
    float top = (float)(t->log_w > t->log_h ? t->log_w : t->log_h);
    lod = clampf(lod, 0.0f, top);
    int l = (int)lod;
    v3 a = texture_level(f, t, u, v, l);
    if (lod - l < 0.02f)
        return a;
    v3 b = texture_level(f, t, u, v, l + 1 > (int)top ? (int)top : l + 1);
    return add(mul(a, 1 - (lod - l)), mul(b, lod - l));
}

/* environment - equirectangular look-up along a world direction; linear radiance */
HD v3 environment(const frame *f, int i, v3 d, float lod)
{
    float u = atan2f(d.y, d.x) * 0.15915494f + 0.5f;
    float v = asinf(clampf(d.z, -1, 1)) * 0.31830989f + 0.5f;
    return srgb_to_linear(texture_at(f, i, u, clampf(v, 0.002f, 0.998f), lod));
}

/*
 * texture_coords - of the point e1 b1 + e2 b2 of triangle t, seen from its first corner
 * Returns: their change per metre; area: twice that of the triangle, square metres
 */
HD float texture_coords(const frame *f, const inst *o, int t, float b1, float b2, float area,
                        float *u, float *v)
{
    const int32_t *idx = &f->tri[3 * t];
    if ((o->flags & INST_BOX_UV)) {
        float sx = len(V(o->m[0], o->m[4], o->m[8])), sy = len(V(o->m[1], o->m[5], o->m[9]));
        float sz = len(V(o->m[2], o->m[6], o->m[10]));
        v3 q[3];
        for (int k = 0; k < 3; k++) {
            const float *c = &f->vert[3 * idx[k]];
            q[k] = V(c[0] * sx, c[1] * sy, c[2] * sz);
        }
        v3 nl = cross(sub(q[1], q[0]), sub(q[2], q[0]));
        v3 l = add(q[0], add(mul(sub(q[1], q[0]), b1), mul(sub(q[2], q[0]), b2)));
        float ax = fabsf(nl.x), ay = fabsf(nl.y), az = fabsf(nl.z);
        *u = az >= ax && az >= ay ? l.x : ax >= ay ? l.y : l.x;
        *v = az >= ax && az >= ay ? l.y : l.z;
        *u *= o->su;
        *v *= o->sv;
        return sqrtf(fabsf(o->su * o->sv));
    }
    const float *a0 = &f->uv[2 * idx[0]], *a1 = &f->uv[2 * idx[1]], *a2 = &f->uv[2 * idx[2]];
    float du1 = a1[0] - a0[0], dv1 = a1[1] - a0[1], du2 = a2[0] - a0[0], dv2 = a2[1] - a0[1];
    float su = o->tex >= 0 ? o->su : 1.0f, sv = o->tex >= 0 ? o->sv : 1.0f;
    *u = (a0[0] + b1 * du1 + b2 * du2) * su;
    *v = (a0[1] + b1 * dv1 + b2 * dv2) * sv;
    return sqrtf(fabsf((du1 * dv2 - du2 * dv1) * su * sv) / fmaxf(area, 1e-12f));
}

/* pos, n: at the view's moment; pos0, n0: at moment 0, where the shadow maps know the thing */
struct surface {
    v3 pos, n, pos0, n0, albedo;
    float z, gloss, emit;
    const inst *o;
    bool sky;
    v3 dir;
};

/* surface_at - the surface point of one sample, in world coordinates, or sky */
HD void surface_at(const frame *f, const view *v, uint64_t key, int x, int y, surface *s)
{
    v3 d = V((x - v->cx) / v->fx, (y - v->cy) / v->fy, 1.0f);
    s->dir = norm(rot_t(v->R, d));
    s->sky = key == EMPTY_KEY;
    if (s->sky)
        return;
    const scene *sc = &f->scene[v->scene];
    const inst *o = &f->inst[sc->inst0 + ((key >> 16) & 0xffff)];
    const mesh *g = &f->mesh[o->mesh];
    int t = g->tri0 + (int)(key & 0xffff);
    float m[12];
    v3 p[3];
    camera_from_object(f, v, o, m);
    tri_camera(f, m, t, p);
    v3 e1 = sub(p[1], p[0]), e2 = sub(p[2], p[0]), n = cross(e1, e2);
    float area = len(n), nd = dot(n, d);
    s->z = bits_float((uint32_t)(key >> 32));
    v3 pc = mul(d, s->z), w = sub(pc, p[0]);
    float inv = area > 1e-20f ? 1.0f / (area * area) : 0.0f;
    float b1 = clampf(dot(cross(w, e2), n) * inv, 0, 1),
          b2 = clampf(dot(cross(e1, w), n) * inv, 0, 1 - b1);
    n = mul(n, (nd > 0 ? -1.0f : 1.0f) / fmaxf(area, 1e-20f));
    float cos_view = fabsf(nd) / (fmaxf(area, 1e-20f) * len(d));
    s->pos = rot_t(v->R, sub(pc, V(v->t[0], v->t[1], v->t[2])));
    s->n = rot_t(v->R, n);
    s->pos0 = s->pos;
    s->n0 = s->n;
    const float *g1 = thing_motion(f, v, o);
    if (g1) {
        float R1[9] = {g1[0], g1[1], g1[2], g1[4], g1[5], g1[6], g1[8], g1[9], g1[10]};
        s->pos0 = rot_t(R1, sub(s->pos, V(g1[3], g1[7], g1[11])));
        s->n0 = rot_t(R1, s->n);
    }
    s->o = o;
    const mat *a = &f->mat[g->mat0 + f->tri_mat[t]];
    s->gloss = ((o->flags & INST_GLOSS) ? o->gloss : a->gloss) * (1.0f / 255.0f);
    s->emit = o->emit;
    bool plain = a->tex < 0;
    int ti = (o->tex >= 0 && (plain || !(o->flags & INST_ONLY_PLAIN))) ? o->tex : a->tex;
    v3 kd = V(a->r / 255.0f, a->g / 255.0f, a->b / 255.0f);
    if (o->tex >= 0 && !(o->flags & INST_ONLY_PLAIN))
        kd = V(1, 1, 1);
    kd = V(fminf(kd.x * o->r / 128.0f, 1), fminf(kd.y * o->g / 128.0f, 1),
           fminf(kd.z * o->b / 128.0f, 1));
    s->albedo = srgb_to_linear(kd);
    if (ti < 0)
        return;
    float tu, tv, per_m = texture_coords(f, o, t, b1, b2, area, &tu, &tv);
    const tex *tt = &f->tex[ti];
    float texels = per_m * exp2f(0.5f * (tt->log_w + tt->log_h));
    float foot =
        s->z * f->ss / v->fx / sqrtf(fmaxf(cos_view, 0.08f)); /* of a pixel: see sample_twin */
    v3 c = texture_at(f, ti, tu, tv, log2f(fmaxf(texels * foot, 1e-6f)) - 0.3f);
    v3 lin = srgb_to_linear(c);
    s->albedo = V(s->albedo.x * lin.x, s->albedo.y * lin.y, s->albedo.z * lin.z);
}

/* shadow_at - share of a light's rays that reach a point: five depth comparisons, spread by size */
HD float shadow_at(const frame *f, const light *l, v3 pos, v3 n, uint32_t rnd)
{
    if (l->shadow < 0)
        return 1.0f;
    const view *v = &f->shadow[l->shadow];
    float texel = v->ortho ? 1.0f / v->fx : 0.0f;
    v3 p = add(rot(v->R, pos), V(v->t[0], v->t[1], v->t[2]));
    if (!v->ortho)
        texel = p.z / v->fx;
    p = add(p, mul(rot(v->R, n), 1.5f * texel + 0.004f));
    if (p.z < 0.02f)
        return 1.0f;
    float iz = v->ortho ? 1.0f : 1.0f / p.z;
    float x = p.x * iz * v->fx + v->cx, y = p.y * iz * v->fy + v->cy;
    if (x < 1 || y < 1 || x > f->sn - 2 || y > f->sn - 2)
        return 1.0f;
    float lit = 0.0f, a = hash01(rnd) * 6.2831853f, ca = cosf(a), sa = sinf(a),
          bias = 2.0f * texel * (1 + l->size_px * 0.5f) + 0.003f;
    const uint32_t *key = f->shadow_key + (size_t)l->shadow * f->sn * f->sn;
    for (int k = 0; k < 5; k++) {
        float r = k ? l->size_px * (0.4f + 0.2f * k) : 0.0f, turn = ca;
        int xi = (int)clampf(x + r * ca + 0.5f, 0, f->sn - 1.0f);
        int yi = (int)clampf(y + r * sa + 0.5f, 0, f->sn - 1.0f);
        ca = -sa; /* a right angle on */
        sa = turn;
        uint32_t z = key[(size_t)yi * f->sn + xi];
        lit += z == EMPTY_DEPTH || bits_float(z) + bias >= p.z;
    }
    return lit * 0.2f;
}

/* occlusion_at - screen-space ambient occlusion, 8 taps within 0.35 m, range-checked */
HD float occlusion_at(const frame *f, const view *v, const uint64_t *key, int x, int y, float z,
                      v3 n, uint32_t rnd)
{
    float r_px = clampf(0.35f * v->fx / z, 3.0f, 0.12f * f->w), a = hash01(rnd) * 6.2831853f,
          occ = 0.0f;
    float ca = cosf(a), sa = sinf(a);
    v3 p = V((x - v->cx) / v->fx * z, (y - v->cy) / v->fy * z, z);
    for (int k = 0; k < 8; k++) {
        float r = r_px * (k + 0.6f) * 0.125f, turn = ca;
        int xi = x + (int)(r * ca), yi = y + (int)(r * sa);
        ca = -0.737369f * ca - 0.675490f * sa; /* the golden angle on */
        sa = -0.737369f * sa + 0.675490f * turn;
        if (xi < 0 || yi < 0 || xi >= f->w || yi >= f->h)
            continue;
        uint64_t q = key[(size_t)yi * f->w + xi];
        if (q == EMPTY_KEY)
            continue;
        float zs = bits_float((uint32_t)(q >> 32));
        v3 d = sub(V((xi - v->cx) / v->fx * zs, (yi - v->cy) / v->fy * zs, zs), p);
        float l2 = dot(d, d), l = sqrtf(l2) + 1e-6f;
        occ += fmaxf(dot(d, n) / l - 0.12f, 0.0f) / (1.0f + l2 * 8.0f);
    }
    return clampf(1.0f - occ * 0.32f, 0.0f, 1.0f);
}

HD v3 sky_colour(const frame *f, const scene *sc, v3 d)
{
    v3 c;
    if (sc->sky_tex >= 0) {
        c = environment(f, sc->sky_tex, d, 0.5f);
    } else {
        float t = clampf(d.z * 1.5f, 0, 1);
        c = V(sc->fog_col[0] * (1 - t) + sc->amb_up[0] * t,
              sc->fog_col[1] * (1 - t) + sc->amb_up[1] * t,
              sc->fog_col[2] * (1 - t) + sc->amb_up[2] * t);
    }
    return mul(c, sc->sky_gain);
}

/*
 * light_gain - Returns: how much of a light's colour arrives at a point, shadows aside; its
 * direction
 */
HD float light_gain(const light *l, v3 pos, v3 *to_light)
{
    *to_light = mul(V(l->dir[0], l->dir[1], l->dir[2]), -1.0f);
    if (l->type != LIGHT_POINT)
        return 1.0f;
    v3 to = sub(V(l->pos[0], l->pos[1], l->pos[2]), pos);
    float d2 = dot(to, to);
    *to_light = mul(to, 1.0f / sqrtf(fmaxf(d2, 1e-6f)));
    float c = -(to_light->x * l->dir[0] + to_light->y * l->dir[1] + to_light->z * l->dir[2]);
    return l->range * l->range / (d2 + 0.1f) * clampf((c - l->cone) * 6.0f, 0, 1);
}

/* shade_sample - light one sample into hdr (linear r, g, b, weight of the mirrored part) */
HD void shade_sample(const frame *f, int vi, int x, int y)
{
    const view *v = &f->view[vi];
    const scene *sc = &f->scene[v->scene];
    const uint64_t *key = f->key + (size_t)vi * f->w * f->h;
    size_t at = (size_t)y * f->w + x;
    float *out = f->hdr + 4 * ((size_t)vi * f->w * f->h + at);
    surface s;
    surface_at(f, v, key[at], x, y, &s);
    if (s.sky) {
        v3 c = sky_colour(f, sc, s.dir);
        out[0] = c.x;
        out[1] = c.y;
        out[2] = c.z;
        out[3] = 0;
        return;
    }
    uint32_t rnd = hash32((uint32_t)at * 9781u + (uint32_t)vi * 6271u);
    float ao = occlusion_at(f, v, key, x, y, s.z, rot(v->R, s.n), rnd);
    ao = 1.0f - sc->ao * (1.0f - ao);
    float up = 0.5f + 0.5f * s.n.z;
    v3 e = V(sc->amb_dn[0] + (sc->amb_up[0] - sc->amb_dn[0]) * up,
             sc->amb_dn[1] + (sc->amb_up[1] - sc->amb_dn[1]) * up,
             sc->amb_dn[2] + (sc->amb_up[2] - sc->amb_dn[2]) * up);
    e = mul(e, ao);
    v3 spec = V(0, 0, 0);
    float power = 4.0f + 200.0f * s.gloss * s.gloss, k_spec = 0.02f + 0.35f * s.gloss * s.gloss;
    for (int k = 0; k < sc->n_light; k++) {
        const light *l = &f->light[sc->light0 + k];
        v3 dl;
        float gain = light_gain(l, s.pos, &dl);
        float nl = dot(s.n, dl);
        if (nl <= 0 || gain < 1e-4f)
            continue;
        gain *= shadow_at(f, l, s.pos0, s.n0, rnd + 17u * k) * (0.5f + 0.5f * ao);
        v3 c = V(l->col[0] * gain, l->col[1] * gain, l->col[2] * gain);
        e = add(e, mul(c, nl));
        v3 hv = norm(sub(dl, s.dir));
        spec = add(spec, mul(c, k_spec * 0.12f * (power + 8.0f) *
                                    powf(fmaxf(dot(s.n, hv), 0.0f), power) * nl));
    }
    v3 c = V(s.albedo.x * e.x, s.albedo.y * e.y, s.albedo.z * e.z);
    c = add(add(c, spec), mul(s.albedo, s.emit));
    float fres = powf(1.0f - clampf(-dot(s.n, s.dir), 0, 1), 5.0f);
    float mirror = s.gloss * s.gloss * (0.05f + 0.6f * fres);
    if (sc->fog > 0) {
        float a = 1.0f - expf(-sc->fog * s.z);
        c = add(mul(c, 1 - a), V(sc->fog_col[0] * a, sc->fog_col[1] * a, sc->fog_col[2] * a));
    }
    out[0] = c.x;
    out[1] = c.y;
    out[2] = c.z;
    out[3] = mirror;
}

/*
 * sample_twin - which of a pixel's samples stands for sample k: the first on the same triangle
 * x, y: the pixel. A triangle is shaded once a pixel, however many samples it covers.
 */
HD int sample_twin(const frame *f, int vi, int x, int y, int k)
{
    const uint64_t *key = f->key + ((size_t)vi * f->h + (size_t)y * f->ss) * f->w + x * f->ss;
    uint32_t own = (uint32_t)key[(k / f->ss) * f->w + k % f->ss];
    int j = 0;
    while (j < k && (uint32_t)key[(j / f->ss) * f->w + j % f->ss] != own)
        j++;
    return j;
}

/* sample_copy - sample j of a pixel's float4 becomes that of sample k */
HD void sample_copy(const frame *f, float *img, int vi, int x, int y, int j, int k)
{
    size_t base = ((size_t)vi * f->h + (size_t)y * f->ss) * f->w + x * f->ss;
    const float *from = img + 4 * (base + (size_t)(j / f->ss) * f->w + j % f->ss);
    float *to = img + 4 * (base + (size_t)(k / f->ss) * f->w + k % f->ss);
    for (int c = 0; c < 4; c++)
        to[c] = from[c];
}

HD void shade_pixel(const frame *f, int vi, int x, int y)
{
    for (int k = 0; k < f->ss * f->ss; k++) {
        int j = sample_twin(f, vi, x, y, k);
        if (j == k)
            shade_sample(f, vi, x * f->ss + k % f->ss, y * f->ss + k / f->ss);
        else
            sample_copy(f, f->hdr, vi, x, y, j, k);
    }
}

/*
 * mirror_sample - add what a glossy sample reflects: a 28-step walk in the same view, else the
 * environment
 * Returns: log of the sample's luminance
 */
HD float mirror_sample(const frame *f, int vi, int x, int y)
{
    const view *v = &f->view[vi];
    const scene *sc = &f->scene[v->scene];
    size_t base = (size_t)vi * f->w * f->h, at = base + (size_t)y * f->w + x;
    const float *in = f->hdr + 4 * at;
    float *out = f->hdr2 + 4 * at;
    v3 c = V(in[0], in[1], in[2]);
    if (in[3] > 0.008f) {
        surface s;
        surface_at(f, v, f->key[at], x, y, &s);
        v3 r = sub(s.dir, mul(s.n, 2.0f * dot(s.n, s.dir)));
        v3 pc = add(rot(v->R, add(s.pos, mul(s.n, 0.01f))), V(v->t[0], v->t[1], v->t[2])),
           rc = rot(v->R, r);
        v3 hit = sc->env_tex >= 0 ? mul(environment(f, sc->env_tex, r, 2.0f), sc->env_gain)
                                  : V(sc->amb_up[0], sc->amb_up[1], sc->amb_up[2]);
        float t = 0.03f * (1.0f + hash01((uint32_t)at)), step = 0.04f;
        for (int k = 0; k < 28; k++) {
            t += step;
            step *= 1.16f;
            v3 q = add(pc, mul(rc, t));
            if (q.z < 0.05f)
                break;
            int xi = (int)floorf(q.x / q.z * v->fx + v->cx + 0.5f),
                yi = (int)floorf(q.y / q.z * v->fy + v->cy + 0.5f);
            if (xi < 0 || yi < 0 || xi >= f->w || yi >= f->h)
                break;
            size_t j = base + (size_t)yi * f->w + xi;
            float zs = bits_float((uint32_t)(f->key[j] >> 32));
            if (f->key[j] != EMPTY_KEY && zs < q.z && zs > q.z - 2.5f * step - 0.1f) {
                hit = V(f->hdr[4 * j], f->hdr[4 * j + 1], f->hdr[4 * j + 2]);
                break;
            }
        }
        c = add(c, mul(hit, in[3]));
    }
    out[0] = c.x;
    out[1] = c.y;
    out[2] = c.z;
    return out[3] = logf(1e-4f + 0.3f * c.x + 0.59f * c.y + 0.11f * c.z);
}

/* mirror_pixel - Returns: sum over the samples of the log of their luminance */
HD float mirror_pixel(const frame *f, int vi, int x, int y)
{
    float sum = 0.0f, lum[MAX_SS * MAX_SS];
    for (int k = 0; k < f->ss * f->ss; k++) {
        int j = sample_twin(f, vi, x, y, k);
        if (j == k)
            lum[k] = mirror_sample(f, vi, x * f->ss + k % f->ss, y * f->ss + k / f->ss);
        else
            sample_copy(f, f->hdr2, vi, x, y, j, k);
        lum[k] = lum[j];
        sum += lum[k];
    }
    return sum;
}

HD float gauss(uint32_t a)
{
    float u = fmaxf(hash01(a), 1e-7f), w = hash01(a ^ 0x9e3779b9u);
    return sqrtf(-2.0f * logf(u)) * cosf(6.2831853f * w);
}

/*
 * resolve_pixel - samples to one developed pixel
 * 16 taps are spread over the pixel, the motion line (blur_*, roll_blur about the centre, pixels)
 * and a defocus disk (pixels). Then exposure against the picture's mean, white balance, vignette,
 * tone curve, gamma, contrast, saturation, noise.
 */
HD void resolve_pixel(const frame *f, int vi, int x, int y)
{
    int ss = f->ss, w = f->w / ss, h = f->h / ss;
    const effects *e = &f->fx[vi];
    size_t base = (size_t)vi * f->w * f->h;
    v3 c = V(0, 0, 0);
    float dx0 = x - 0.5f * w, dy0 = y - 0.5f * h;
    for (int k = 0; k < 16; k++) {
        float jx = ((k & 3) + 0.5f) * 0.25f - 0.5f, jy = ((k >> 2) + 0.5f) * 0.25f - 0.5f;
        float tm = (((k * 7) & 15) + 0.5f) / 16.0f - 0.5f,
              rad = sqrtf((((k * 5) & 15) + 0.5f) / 16.0f), ang = k * 2.39996f;
        float ox = jx + tm * (e->blur_x - e->roll_blur * dy0) + e->defocus * rad * cosf(ang);
        float oy = jy + tm * (e->blur_y + e->roll_blur * dx0) + e->defocus * rad * sinf(ang);
        int xi = (int)floorf((x + ox + 0.5f) * ss), yi = (int)floorf((y + oy + 0.5f) * ss);
        xi = xi < 0 ? 0 : xi >= f->w ? f->w - 1 : xi;
        yi = yi < 0 ? 0 : yi >= f->h ? f->h - 1 : yi;
        const float *p = f->hdr2 + 4 * (base + (size_t)yi * f->w + xi);
        c = add(c, V(fminf(p[0], 40.0f), fminf(p[1], 40.0f), fminf(p[2], 40.0f)));
    }
    float g = e->exposure * 0.18f / fmaxf(expf(f->mean_lum[vi]), 1e-3f) / 16.0f;
    float rr = (dx0 * dx0 + dy0 * dy0) / (0.25f * (w * w + h * h));
    g *= 1.0f - e->vignette * rr;
    float ch[3] = {c.x * g * e->wb[0], c.y * g * e->wb[1], c.z * g * e->wb[2]};
    uint32_t seed = hash32(e->seed + (uint32_t)(y * w + x) * 2654435761u);
    float grey = gauss(seed ^ 77u);
    for (int k = 0; k < 3; k++) {
        float a = ch[k] + e->haze;
        a += (0.6f * gauss(seed + k * 101u) + 0.6f * grey) *
             (e->shot * sqrtf(fmaxf(a, 0.0f)) + e->read);
        a = fmaxf(a, 0.0f);
        a = a < 0.6f
                ? a
                : 0.6f + 0.42f * (1.0f - expf(-(a - 0.6f) * e->glow)); /* shoulder, then clipping */
        a = powf(fminf(a, 1.0f), e->gamma);
        a = (a - 0.5f) * e->contrast + 0.5f - e->black;
        ch[k] = a;
    }
    float lum = 0.3f * ch[0] + 0.59f * ch[1] + 0.11f * ch[2];
    for (int k = 0; k < 3; k++) {
        float a = clampf(lum + (ch[k] - lum) * e->saturation, 0, 1);
        f->rgb[((size_t)(3 * vi + k) * h + y) * w + x] = floorf(a * 255.0f + 0.5f) / 255.0f;
    }
}

/*
 * geometry_pixel - depth, normal and masks of a pixel: those of the second nearest of its samples,
 * so that an edge belongs to one of the two surfaces and a lone sample does not decide
 */
HD void geometry_pixel(const frame *f, int vi, int x, int y)
{
    int ss = f->ss, w = f->w / ss, h = f->h / ss;
    const view *v = &f->view[vi];
    uint64_t a = EMPTY_KEY, b = EMPTY_KEY;
    for (int k = 0; k < ss * ss; k++) {
        uint64_t q = f->key[((size_t)vi * f->h + y * ss + k / ss) * f->w + x * ss + k % ss];
        if (q < a) {
            b = a;
            a = q;
        } else if (q < b) {
            b = q;
        }
    }
    if (ss == 1)
        b = a;
    size_t at = ((size_t)vi * h + y) * w + x;
    bool sky = b == EMPTY_KEY;
    const inst *o = sky ? 0 : &f->inst[f->scene[v->scene].inst0 + ((b >> 16) & 0xffff)];
    if (f->depth)
        f->depth[at] = sky ? 0.0f : bits_float((uint32_t)(b >> 32));
    if (f->id)
        f->id[at] = sky ? 0 : o->id;
    if (f->object)
        f->object[at] = sky ? 0 : (uint8_t)o->object;
    if (!f->normal)
        return;
    v3 n = V(0, 0, 0);
    if (!sky) {
        float m[12];
        v3 p[3];
        camera_from_object(f, v, o, m);
        tri_camera(f, m, f->mesh[o->mesh].tri0 + (int)(b & 0xffff), p);
        n = norm(cross(sub(p[1], p[0]), sub(p[2], p[0])));
        if (dot(n, V((x * ss + 0.5f * (ss - 1) - v->cx) / v->fx,
                     (y * ss + 0.5f * (ss - 1) - v->cy) / v->fy, 1.0f)) > 0)
            n = mul(n, -1.0f);
    }
    size_t plane = (size_t)w * h, at0 = at + 2 * plane * vi;
    f->normal[at0] = n.x;
    f->normal[at0 + plane] = n.y;
    f->normal[at0 + 2 * plane] = n.z;
}

#endif
