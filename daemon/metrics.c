#include "daemon/metrics.h"

#include <stdio.h>
#include <string.h>

/* Upper bounds in microseconds: 0.5 ms to 10 s, about 1, 2, 5. */
static const uint64_t bounds[METRICS_BUCKETS] = {
    500,    1000,   2000,   5000,    10000,   20000,   33000,   50000,
    100000, 200000, 500000, 1000000, 2000000, 3000000, 5000000, 10000000};

void metrics_add(struct metrics *m, enum metrics_counter counter, uint64_t n)
{
    atomic_fetch_add_explicit(&m->counters[counter], n, memory_order_relaxed);
}

void metrics_frame(struct metrics *m, enum control_status status, enum control_reason reason)
{
    atomic_fetch_add_explicit(&m->frames[status][reason], 1, memory_order_relaxed);
}

void metrics_observe(struct metrics *m, enum metrics_time time, uint64_t us)
{
    struct metrics_histogram *h = &m->times[time];
    int i = 0;

    while (i < METRICS_BUCKETS && us > bounds[i])
        i++;
    atomic_fetch_add_explicit(&h->count[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&h->sum_us, us, memory_order_relaxed);
}

void metrics_stage(struct metrics *m, const char *name, float us)
{
    for (int i = 0; i < METRICS_STAGES; i++) {
        const char *there = NULL;

        if (!atomic_compare_exchange_strong(&m->stages[i].name, &there, name) &&
            strcmp(there, name))
            continue;
        if (us > 0)
            atomic_fetch_add_explicit(&m->stages[i].ns, (uint64_t)(us * 1000.0f),
                                      memory_order_relaxed);
        return;
    }
}

void metrics_print(struct metrics_text *t, const char *fmt, ...)
{
    size_t room = t->len < t->cap ? t->cap - t->len : 0;
    va_list args;
    int n;

    va_start(args, fmt);
    n = vsnprintf(room ? t->buf + t->len : NULL, room, fmt, args);
    va_end(args);
    t->len += n > 0 ? (size_t)n : 0;
}

void metrics_family(struct metrics_text *t, const char *name, const char *type, const char *help)
{
    metrics_print(t, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_value(struct metrics_text *t, const char *name, const char *type, const char *help,
                   uint64_t value)
{
    metrics_family(t, name, type, help);
    metrics_print(t, "%s %llu\n", name, (unsigned long long)value);
}

void metrics_label(char *buf, size_t cap, const char *value)
{
    size_t at = 0;

    for (; *value && at + 3 < cap; value++) {
        if (*value == '\\' || *value == '"' || *value == '\n')
            buf[at++] = '\\';
        buf[at++] = *value == '\n' ? 'n' : *value;
    }
    buf[at] = '\0';
}

static void write_histogram(struct metrics_text *t, const char *name, const char *help,
                            const struct metrics_histogram *h)
{
    unsigned long long total = 0;

    metrics_family(t, name, "histogram", help);
    for (int i = 0; i < METRICS_BUCKETS; i++) {
        total += atomic_load(&h->count[i]);
        metrics_print(t, "%s_bucket{le=\"%g\"} %llu\n", name, (double)bounds[i] * 1e-6, total);
    }
    total += atomic_load(&h->count[METRICS_BUCKETS]);
    metrics_print(t, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.6f\n%s_count %llu\n", name, total, name,
                  (double)atomic_load(&h->sum_us) * 1e-6, name, total);
}

static void write_frames(struct metrics_text *t, const struct metrics *m)
{
    static const char *const outcomes[] = {"used", "dropped", "refused"};
    const char *name = "recond_frames_total";

    metrics_family(t, name, "counter", "Frames answered, by outcome and reason.");
    for (int s = CONTROL_USED; s <= CONTROL_REFUSED; s++)
        for (int r = CONTROL_REASON_NONE; r < CONTROL_REASONS; r++) {
            unsigned long long n = atomic_load(&m->frames[s][r]);
            if (n || (s == CONTROL_USED && r == CONTROL_REASON_NONE))
                metrics_print(t, "%s{outcome=\"%s\",reason=\"%s\"} %llu\n", name, outcomes[s],
                              control_reason_name((enum control_reason)r), n);
        }
}

static void write_stages(struct metrics_text *t, const struct metrics *m)
{
    const char *name = "recond_stage_seconds_total", *stage;

    metrics_family(t, name, "counter", "Time spent in each pass of the devices.");
    for (int i = 0; i < METRICS_STAGES && (stage = atomic_load(&m->stages[i].name)); i++)
        metrics_print(t, "%s{stage=\"%s\"} %.6f\n", name, stage,
                      (double)atomic_load(&m->stages[i].ns) * 1e-9);
}

void metrics_write(struct metrics_text *t, const struct metrics *m)
{
    static const struct {
        const char *name, *help;
    } counters[METRICS_COUNTERS] = {
        [METRICS_FRAMES_LATER] =
            {"recond_frames_later_total",
             "Frames of lossless sessions that came beyond the window and were "
             "asked for again."},
        [METRICS_FRAME_BYTES] = {"recond_frame_received_bytes_total", "Bytes of frame messages."},
        [METRICS_FRAMES_AGAIN] = {"recond_frames_again_total",
                                  "Frames that came again after they were answered."},
        [METRICS_SENT_BYTES] = {"recond_stream_sent_bytes_total", "Bytes of messages to clients."},
        [METRICS_SENT_BLOCKS] = {"recond_stream_sent_blocks_total", "Block messages to clients."},
        [METRICS_SENT_POINTS] = {"recond_stream_sent_points_total",
                                 "Points in block messages to clients."},
        [METRICS_SESSIONS_CREATED] = {"recond_sessions_created_total", "Sessions created."},
        [METRICS_SESSIONS_REFUSED] = {"recond_sessions_refused_total",
                                      "Sessions refused for want of room."},
        [METRICS_STREAMS_OPENED] = {"recond_streams_opened_total", "Clients that opened a stream."},
        [METRICS_POINTS_LEFT_OUT] = {"recond_points_left_out_total",
                                     "Points beyond a session's budget."},
        [METRICS_CARD_PICTURES] = {"recond_card_pictures_total",
                                   "Pictures decoded by JPEG engines of the devices."},
        [METRICS_BATCHES] = {"recond_batches_total", "Batches computed."}};
    static const struct {
        const char *name, *help;
    } times[METRICS_TIMES] = {
        [METRICS_DECODE] = {"recond_decode_seconds", "Decoding one JPEG."},
        [METRICS_QUEUE] = {"recond_queue_seconds",
                           "A frame waiting, for the decoder and for the device."},
        [METRICS_COMPUTE] = {"recond_compute_seconds", "One batch on the device."},
        [METRICS_COMMIT] = {"recond_commit_seconds", "One frame's changes into the host's cloud."},
        [METRICS_LATENCY] = {"recond_latency_seconds", "A used frame, received until answered."}};

    for (int i = 0; i < METRICS_COUNTERS; i++)
        metrics_value(t, counters[i].name, "counter", counters[i].help,
                      atomic_load(&m->counters[i]));
    write_frames(t, m);
    write_stages(t, m);
    for (int i = 0; i < METRICS_TIMES; i++)
        write_histogram(t, times[i].name, times[i].help, &m->times[i]);
}
