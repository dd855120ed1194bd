/*
 * bench_client_load - many phones in one thread: frames at a rate, whatever becomes of them
 *
 *   bench_client_load models             make a folder of tiny networks, say where
 *   bench_client_load picture W H FILE   make a JPEG of that size
 *   bench_client_load push URL PICTURE SESSIONS OPTIONS PHASE...
 *
 * OPTIONS is the body of POST /v1/sessions. A phase is NAME:SECONDS:RATE; RATE is frames/s of all
 * sessions together (evenly spread), or `closed` (each keeps two frames unanswered), or 3x (three
 * times what the best closed phase used); 100*10 = the first session sends ten times its share;
 * closed/8 = the hand holds each pose for eight frames.
 * Prints one line of JSON a phase, and one of all: frames sent, answered and used; milliseconds
 * from the moment a frame was due to its `ack` for used frames; whether the server's accounts are
 * ours, and the bytes that it set aside for the sessions.
 * Exit: 0; 1 something failed or does not add up; 77 without arguments: there is no server
 */
#include "api/client/client.h"
#include "proto/image/jpeg.h"
#include "proto/json.h"
#include "tests/bench/support_load.h"
#include "tests/support/tiny_model.h"
#include "tests/support/jpeg_write.h"

#include <math.h>
#include <poll.h>
#include <time.h>

#define SESSIONS_MAX 256
#define PHASES_MAX 16
#define CLOSED_FRAMES 2
#define REASONS CONTROL_REASONS
#define END_US 30000000 /* for the last answers */

enum group { FIRST, OTHERS, GROUPS }; /* session 0 stands for itself */

struct times {
    uint32_t *us;
    size_t n, cap;
};

struct phase {
    char name[32];
    double seconds, rate, times, greed;
    bool closed;
    int hold; /* frames of a pose */
    uint64_t due, sent, used, dropped, refused, used_in_time, answer_max_us;
    uint64_t group_used[GROUPS];
    struct times times_us[GROUPS]; /* of used frames */
};

struct load {
    struct client *rest;
    int n, n_phases, now;
    struct client_session session[SESSIONS_MAX];
    struct support_load *stream[SESSIONS_MAX];
    uint64_t reasons[REASONS], session_bytes;
    uint64_t used[SESSIONS_MAX], dropped[SESSIONS_MAX], refused[SESSIONS_MAX];
    double next_us[SESSIONS_MAX];
    struct phase phase[PHASES_MAX];
    struct err err;
};

/* What an answer belongs to. */
struct sender {
    struct load *load;
    int index;
};

static uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* ------------------------------------------------------------------------- answers */

static void keep(struct times *t, uint64_t us)
{
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 4096;
        t->us = realloc(t->us, t->cap * sizeof(*t->us));
        if (!t->us)
            abort();
    }
    t->us[t->n++] = us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

static void on_ack(void *ctx, const struct control_ack *ack, uint64_t due_us, int phase)
{
    struct sender *s = ctx;
    struct load *l = s->load;
    struct phase *p = &l->phase[phase];
    enum group g = s->index ? OTHERS : FIRST;
    uint64_t us = now_us() - due_us;

    p->answer_max_us = us > p->answer_max_us ? us : p->answer_max_us;
    p->used += ack->status == CONTROL_USED;
    p->dropped += ack->status == CONTROL_DROPPED;
    p->refused += ack->status == CONTROL_REFUSED;
    l->reasons[ack->reason]++;
    l->used[s->index] += ack->status == CONTROL_USED;
    l->dropped[s->index] += ack->status == CONTROL_DROPPED;
    l->refused[s->index] += ack->status == CONTROL_REFUSED;
    if (ack->status != CONTROL_USED)
        return;
    l->phase[l->now].used_in_time++;
    p->group_used[g]++;
    keep(&p->times_us[g], us);
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* The smallest time that a share of them does not pass; in milliseconds. */
static double rank_ms(struct times *t, double share)
{
    size_t at = (size_t)ceil(share * (double)t->n);

    if (t->n == 0)
        return 0;
    qsort(t->us, t->n, sizeof(*t->us), by_size);
    return t->us[at ? at - 1 : 0] / 1e3;
}

/* ------------------------------------------------------------------------- sending */

static void send_due(struct load *l, int i, struct phase *p, double period_us, uint64_t now)
{
    if (p->closed) {
        while (support_load_unanswered(l->stream[i]) < CLOSED_FRAMES &&
               support_load_frame(l->stream[i], now, l->now)) {
            p->due++;
            p->sent++;
        }
        return;
    }
    for (; l->next_us[i] <= (double)now; l->next_us[i] += period_us) {
        p->due++;
        p->sent += support_load_frame(l->stream[i], (uint64_t)l->next_us[i], l->now);
        if (support_load_pending(l->stream[i]) && support_load_run(l->stream[i], &l->err))
            return; /* said again when the stream is run next */
    }
}

/* Until something can be read or written, or until_us. */
static int wait_and_run(struct load *l, uint64_t until_us)
{
    struct pollfd fds[SESSIONS_MAX];
    uint64_t now = now_us();
    struct timespec t = {0};
    int rc = 0;

    if (until_us > now)
        t = (struct timespec){(time_t)((until_us - now) / 1000000),
                              (long)((until_us - now) % 1000000) * 1000};
    for (int i = 0; i < l->n; i++)
        fds[i] = (struct pollfd){
            .fd = support_load_fd(l->stream[i]),
            .events = (short)(POLLIN | (support_load_pending(l->stream[i]) ? POLLOUT : 0))};
    if (ppoll(fds, (nfds_t)l->n, &t, NULL) <= 0)
        return 0;
    for (int i = 0; i < l->n && rc == 0; i++)
        if (fds[i].revents)
            rc = support_load_run(l->stream[i], &l->err);
    return rc;
}

static int run_phase(struct load *l)
{
    struct phase *p = &l->phase[l->now];
    uint64_t start = now_us(), end = start + (uint64_t)(1e6 * p->seconds), now, until;
    double period_us[SESSIONS_MAX];
    int rc = 0;

    for (int i = 0; i < l->n; i++) {
        support_load_hold(l->stream[i], p->hold);
        period_us[i] = p->closed ? 100000 : 1e6 * l->n / (p->rate * (i ? 1 : p->greed));
        l->next_us[i] = (double)start + period_us[i] * i / l->n;
    }
    while (rc == 0 && (now = now_us()) < end) {
        until = end;
        for (int i = 0; i < l->n; i++) {
            send_due(l, i, p, period_us[i], now);
            if (!p->closed && l->next_us[i] < (double)until)
                until = (uint64_t)l->next_us[i];
        }
        rc = wait_and_run(l, until);
    }
    return rc;
}

static int wait_for_answers(struct load *l)
{
    uint64_t end = now_us() + END_US;
    int rc = 0, missing = 1;

    while (rc == 0 && missing && now_us() < end) {
        missing = 0;
        rc = wait_and_run(l, now_us() + 100000);
        for (int i = 0; i < l->n; i++)
            missing += support_load_unanswered(l->stream[i]);
    }
    return rc ? rc : missing ? err_set(&l->err, ERR_IO, "%d frames have no answer", missing) : 0;
}

/* ------------------------------------------------------------------------- sessions */

static int open_sessions(struct load *l, const char *options, struct support_load_picture *picture)
{
    static struct sender senders[SESSIONS_MAX];
    int rc = 0;

    for (int i = 0; i < l->n && rc == 0; i++) {
        senders[i] = (struct sender){l, i};
        rc = client_session_create(l->rest, options, &l->session[i], &l->err);
        if (rc == 0)
            rc = support_load_open(&l->stream[i], l->session[i].stream_url,
                                   l->session[i].ingest_token, picture, on_ack, &senders[i],
                                   &l->err);
    }
    return rc;
}

static uint64_t count(const struct json *doc, const char *name)
{
    return (uint64_t)json_i64(json_member(json_member(doc, "counts"), name));
}

/* The server's accounts of one session are ours. */
static bool agrees(struct load *l, int i)
{
    struct json *doc = NULL;
    char path[96], *body = NULL;
    size_t len = 0;
    bool same;

    snprintf(path, sizeof(path), "/v1/sessions/%s", l->session[i].id);
    if (client_request(l->rest, "GET", path, NULL, &body, &len, NULL, &l->err) ||
        json_parse(&doc, body, len, 16, &l->err)) {
        free(body);
        return false;
    }
    same = count(doc, "received") == support_load_sent(l->stream[i]) &&
           count(doc, "used") == l->used[i] && count(doc, "dropped") == l->dropped[i] &&
           count(doc, "refused") == l->refused[i] && count(doc, "queued") == 0;
    l->session_bytes += (uint64_t)json_i64(json_member(doc, "memory_bytes"));
    if (!same)
        fprintf(stderr,
                "session %d: sent %llu, used %llu, dropped %llu, refused %llu; server: %s\n", i,
                (unsigned long long)support_load_sent(l->stream[i]), (unsigned long long)l->used[i],
                (unsigned long long)l->dropped[i], (unsigned long long)l->refused[i],
                strstr(body, "\"counts\""));
    json_free(&doc);
    free(body);
    return same;
}

static void close_sessions(struct load *l)
{
    char path[96];
    struct err ignored;

    for (int i = 0; i < l->n; i++) {
        support_load_close(&l->stream[i]);
        snprintf(path, sizeof(path), "/v1/sessions/%s", l->session[i].id);
        if (l->session[i].id[0])
            (void)!client_request(l->rest, "DELETE", path, NULL, NULL, NULL, NULL, &ignored);
    }
}

/* ------------------------------------------------------------------------- report */

static void print_phase(const struct load *l, struct phase *p)
{
    printf("{\"phase\":\"%s\",\"seconds\":%.3g,\"due\":%llu,\"sent\":%llu,\"used\":%llu,"
           "\"dropped\":%llu,\"refused\":%llu,\"used_per_s\":%.1f,\"answer_max_ms\":%.1f",
           p->name, p->seconds, (unsigned long long)p->due, (unsigned long long)p->sent,
           (unsigned long long)p->used, (unsigned long long)p->dropped,
           (unsigned long long)p->refused, (double)p->used_in_time / p->seconds,
           (double)p->answer_max_us / 1e3);
    for (enum group g = FIRST; g < (l->n > 1 ? GROUPS : OTHERS); g++)
        printf(",\"%s\":{\"used\":%llu,\"p50_ms\":%.2f,\"p99_ms\":%.2f,\"max_ms\":%.2f}",
               g ? "others" : "first", (unsigned long long)p->group_used[g],
               rank_ms(&p->times_us[g], 0.5), rank_ms(&p->times_us[g], 0.99),
               rank_ms(&p->times_us[g], 1));
    printf("}\n");
}

static int report(struct load *l)
{
    uint64_t sent = 0, used = 0, dropped = 0, refused = 0;
    bool exact = true;

    for (int k = 0; k < l->n_phases; k++)
        print_phase(l, &l->phase[k]);
    for (int i = 0; i < l->n; i++) {
        sent += support_load_sent(l->stream[i]);
        used += l->used[i];
        dropped += l->dropped[i];
        refused += l->refused[i];
        exact = agrees(l, i) && exact;
    }
    printf("{\"sent\":%llu,\"used\":%llu,\"dropped\":%llu,\"refused\":%llu,\"unanswered\":%llu,"
           "\"exact\":%s,\"session_bytes\":%llu",
           (unsigned long long)sent, (unsigned long long)used, (unsigned long long)dropped,
           (unsigned long long)refused, (unsigned long long)(sent - used - dropped - refused),
           exact ? "true" : "false", (unsigned long long)l->session_bytes);
    for (int k = 1; k < REASONS; k++)
        if (l->reasons[k])
            printf(",\"%s\":%llu", control_reason_name((enum control_reason)k),
                   (unsigned long long)l->reasons[k]);
    printf("}\n");
    return exact && sent == used + dropped + refused ? 0 : 1;
}

/* ------------------------------------------------------------------------- the program */

static int parse_phase(struct phase *p, const char *text)
{
    char rate[32], unit = 0;
    int n;

    memset(p, 0, sizeof(*p));
    p->greed = 1;
    if (sscanf(text, "%31[^:]:%lf:%31s", p->name, &p->seconds, rate) != 3 || p->seconds <= 0)
        return -1;
    p->hold = 1;
    p->closed = strncmp(rate, "closed", 6) == 0;
    if (p->closed)
        return !rate[6] || (sscanf(rate + 6, "/%d", &p->hold) == 1 && p->hold > 0) ? 0 : -1;
    if (strchr(rate, '*') && sscanf(strchr(rate, '*'), "*%lf", &p->greed) != 1)
        return -1;
    n = sscanf(rate, "%lf%c", &p->rate, &unit);
    if (n == 2 && unit == 'x')
        p->times = p->rate;
    return n >= 1 && p->rate > 0 && p->greed > 0 ? 0 : -1;
}

static int read_picture(struct support_load_picture *p, const char *path)
{
    const struct jpeg_limits limits = {FRAME_SIDE_MAX, FRAME_SIDE_MAX, 100, 1 << 21, 1000};
    static uint8_t jpeg[1 << 21];
    struct jpeg_info info;
    FILE *f = fopen(path, "rb");

    if (!f)
        return -1;
    p->jpeg = jpeg;
    p->len = fread(jpeg, 1, sizeof(jpeg), f);
    fclose(f);
    if (jpeg_probe(&info, p->jpeg, p->len, &limits, NULL))
        return -1;
    p->width = info.width;
    p->height = info.height;
    return 0;
}

/* Soft waves, so that it is as small as a picture of something. */
static int make_picture(int w, int h, const char *path)
{
    uint8_t *data = NULL, *rgb = malloc((size_t)w * (size_t)h * 3);
    size_t len = 0;
    FILE *f = NULL;
    int rc = rgb ? 0 : ERR_MEMORY;

    for (int i = 0; rc == 0 && i < w * h * 3; i++) {
        int x = i / 3 % w, y = i / 3 / w, c = i % 3;
        rgb[i] = (uint8_t)(128 + 60 * sin(0.05 * x + c) + 50 * cos(0.07 * y + 0.02 * x));
    }
    if (rc == 0)
        data = jpeg_write(rgb, w, h, 85, &len);
    if (rc == 0 && !(f = fopen(path, "wb")))
        rc = ERR_IO;
    if (rc == 0 && fwrite(data, 1, len, f) != len)
        rc = ERR_IO;
    if (f && fclose(f))
        rc = ERR_IO;
    free(data);
    free(rgb);
    return rc;
}

static int push(struct load *l, const char *url, const char *options,
                struct support_load_picture *picture)
{
    const struct client_config config = {
        .url = url, .token = getenv("RECOND_TOKEN"), .agent = "bench_client_load", .timeout_s = 30};
    double best = 0;
    int rc = client_open(&l->rest, &config, &l->err);

    if (rc == 0)
        rc = open_sessions(l, options, picture);
    for (l->now = 0; l->now < l->n_phases && rc == 0; l->now++) {
        struct phase *p = &l->phase[l->now];
        if (p->times > 0)
            p->rate = p->times * best;
        if (p->closed || p->rate > 0)
            rc = run_phase(l);
        if (p->closed && (double)p->used_in_time / p->seconds > best)
            best = (double)p->used_in_time / p->seconds;
    }
    l->now = l->n_phases - 1;
    if (rc == 0)
        rc = wait_for_answers(l);
    return rc;
}

int main(int argc, char **argv)
{
    static struct support_load_picture picture;
    static struct load l;
    char dir[64];
    int status;

    if (argc == 2 && strcmp(argv[1], "models") == 0) {
        tiny_models(dir);
        puts(dir);
        return 0;
    }
    if (argc == 5 && strcmp(argv[1], "picture") == 0) {
        int w = atoi(argv[2]), h = atoi(argv[3]);
        return w > 0 && h > 0 && w <= 8192 && h <= 8192 && make_picture(w, h, argv[4]) == 0 ? 0 : 1;
    }
    if (argc < 7 || strcmp(argv[1], "push") != 0) {
        puts("needs a server: tests/bench/overload, tests/bench/rate64");
        return 77;
    }
    l.n = atoi(argv[4]);
    l.n_phases = argc - 6;
    if (l.n < 1 || l.n > SESSIONS_MAX || l.n_phases > PHASES_MAX ||
        read_picture(&picture, argv[3])) {
        fprintf(stderr, "bench_client_load: wrong picture, sessions or phases\n");
        return 1;
    }
    for (int k = 0; k < l.n_phases; k++)
        if (parse_phase(&l.phase[k], argv[6 + k])) {
            fprintf(stderr, "bench_client_load: wrong phase %s\n", argv[6 + k]);
            return 1;
        }
    status = push(&l, argv[2], argv[5], &picture) ? 1 : 0;
    if (status)
        fprintf(stderr, "bench_client_load: %s\n", l.err.text);
    else
        status = report(&l);
    close_sessions(&l);
    client_close(&l.rest);
    for (int k = 0; k < l.n_phases; k++)
        for (enum group g = FIRST; g < GROUPS; g++)
            free(l.phase[k].times_us[g].us);
    return status;
}
