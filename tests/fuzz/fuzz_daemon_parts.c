/* fuzz_daemon_parts - depth, confidence and mask of a stranger's frame: what a device would be
 * given lies in the room for it, and is what was checked */
#include "daemon/work/parts.h"

#include <stdlib.h>

#define NET_W 48
#define NET_H 36

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int ok)
{
    if (!ok)
        abort();
}

/* All of it is read. */
static void check_sensor(const struct queue_item *item, const uint8_t *room, size_t bytes)
{
    const struct gpu_sensor *s = &item->sensor;
    size_t n = (size_t)s->width * (size_t)s->height;
    uint32_t sum = 0;

    check((const uint8_t *)s->values >= room && n > 0 && n <= GPU_SENSOR_PIXELS && s->K.fx >= 1);
    check((const uint8_t *)(s->values + n) <= room + bytes);
    for (size_t i = 0; i < n; i++)
        sum += s->values[i] + (s->sure ? s->sure[i] : 0u);
    check(sum < 0x80000000u);
}

static void decode(struct parts *parts, const struct frame *f, uint8_t *room,
                   enum session_depth_source source)
{
    const struct session_options o = {.kind = SESSION_MONO, .depth_source = source};
    size_t bytes = parts_bytes(&o, NET_W, NET_H);
    struct queue_item item = {.frame = *f, .K = {100, 100, 50, 40}, .width = 100, .height = 80};
    struct err err = {0};
    int rc = parts_decode(parts, &item, room, &o, NET_W, NET_H, &err);

    check(rc == 0 || (rc == ERR_INPUT && err.text[0] && item.bad_part));
    if (rc)
        return;
    check(source == SESSION_DEPTH_SOURCE_NETWORK ? !item.sensor.values : 1);
    check(source == SESSION_DEPTH_SOURCE_SENSOR ? item.sensor.values != NULL : 1);
    if (item.sensor.values)
        check_sensor(&item, room, bytes);
    for (int i = 0; item.mask && i < NET_W * NET_H; i++)
        check(item.mask[i] <= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct session_options most = {.kind = SESSION_MONO,
                                         .depth_source = SESSION_DEPTH_SOURCE_BOTH};
    static struct parts *parts;
    uint8_t *room;
    struct frame f;

    if (frame_parse(&f, data, size, FRAME_POSE_CV, NULL) || (!parts && parts_new(&parts, NULL)))
        return 0;
    for (int i = 0; i < f.n_parts; i++)
        if ((int64_t)f.parts[i].width * f.parts[i].height > 1 << 17 && f.parts[i].len < 4096)
            return 0; /* bombs are refused by the codec; each costs a fuzzer a millisecond */
    room = malloc(parts_bytes(&most, NET_W, NET_H));
    for (int k = SESSION_DEPTH_SOURCE_NETWORK; room && k <= SESSION_DEPTH_SOURCE_BOTH; k++)
        decode(parts, &f, room, (enum session_depth_source)k);
    free(room);
    return 0;
}
