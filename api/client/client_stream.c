
#include "api/client/client_retry.h"
#include "api/client/client_talk.h"
#include "api/client/client_ws.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A connection that has said `ready` and stayed for so long counts as working, even without
 * news. */
#define WORKS_AFTER_MS CLIENT_RETRY_MAX_MS
#define PING_MS 3000
#define HANGUP_MS 8000

struct client_stream {
    struct client_stream_config config;
    struct client_talk *talk;
    struct client_ws *ws; /* NULL between two connections */
    char *url, *token;
    struct client_retry retry;
    uint64_t next_ms;   /* time of the next connection, while there is none */
    uint64_t opened_ms; /* time at which this one was asked for */
    uint64_t progress;  /* client_talk_progress() when it was read last */
    uint64_t held_ms;   /* start of holding frames back for `later`; 0 = they are not held */
    bool paused;
    /* final code of client_stream_run(); 0 = it has not failed for good */
    int failed;
    struct err err;
};

static int on_message(void *ctx, bool binary, const uint8_t *msg, size_t len, struct err *err)
{
    struct client_stream *s = ctx;
    int rc = client_talk_receive(s->talk, binary, msg, len, err);

    if (rc == 0 && client_talk_has_more(s->talk))
        client_ws_want_write(s->ws);
    return rc;
}

static int on_writable(void *ctx, struct err *err)
{
    struct client_stream *s = ctx;
    struct client_talk_message m;
    int rc = client_talk_next(s->talk, &m, err);

    if (rc == ERR_END)
        return 0;
    if (rc == 0)
        rc = client_ws_write(s->ws, m.bytes, m.len, m.binary, err);
    if (rc == 0 && client_talk_has_more(s->talk))
        client_ws_want_write(s->ws);
    return rc;
}

static void on_open(void *ctx)
{
    struct client_stream *s = ctx;
    client_ws_want_write(s->ws);
}

/* ------------------------------------------------------------------------------------ opening */

static int connect_timeout_s(const struct client_stream *s)
{
    return s->config.connect_timeout_s ? s->config.connect_timeout_s : 10;
}

static int connect_start(struct client_stream *s, struct err *err)
{
    struct client_ws_config ws = {
        .url = s->url,
        .token = s->token,
        .ca_file = s->config.ca_file,
        .subprotocol = CONTROL_SUBPROTOCOL,
        .max_text_bytes = CONTROL_TEXT_MAX,
        .max_binary_bytes = DELTA_MESSAGE_MAX,
        .connect_timeout_s = connect_timeout_s(s),
        .ping_ms = s->config.ping_ms ? s->config.ping_ms : PING_MS,
        .hangup_ms = s->config.hangup_ms ? s->config.hangup_ms : HANGUP_MS,
        .ctx = s,
        .on_open = on_open,
        .on_message = on_message,
        .on_writable = on_writable,
    };

    client_talk_connect(s->talk);
    s->opened_ms = client_retry_now_ms();
    s->paused = false;
    return client_ws_open(&s->ws, &ws, err);
}

static void forget_address(struct client_stream *s)
{
    if (s->token)
        explicit_bzero(s->token, strlen(s->token));
    free(s->token);
    free(s->url);
    s->token = s->url = NULL;
}

static int keep_address(struct client_stream *s, const char *url, const char *token,
                        struct err *err)
{
    char *new_url = strdup(url), *new_token = token ? strdup(token) : NULL;

    if (!new_url || (token && !new_token)) {
        free(new_url);
        free(new_token);
        return err_set(err, ERR_MEMORY, "no memory for a stream");
    }
    forget_address(s);
    s->url = new_url;
    s->token = new_token;
    return 0;
}

int client_stream_open(struct client_stream **out, const struct client_stream_config *config,
                       struct err *err)
{
    struct client_stream *s = calloc(1, sizeof *s);
    int rc;

    *out = NULL;
    if (!s)
        return err_set(err, ERR_MEMORY, "no memory for a stream");
    s->config = *config;
    s->config.url = s->config.token = NULL; /* the stream keeps copies instead */
    s->retry = client_retry_new(config->reconnect_s, config->reconnect_attempts);
    rc = client_talk_new(&s->talk, config, err);
    if (rc == 0)
        rc = keep_address(s, config->url, config->token, err);
    if (rc == 0)
        rc = connect_start(s, err);
    if (rc)
        client_stream_close(&s);
    *out = s;
    return rc;
}

void client_stream_close(struct client_stream **p)
{
    struct client_stream *s = *p;

    if (!s)
        return;
    client_ws_close(&s->ws);
    client_talk_free(&s->talk);
    forget_address(s);
    free(s);
    *p = NULL;
}

int client_stream_reopen(struct client_stream *s, const char *url, const char *token,
                         struct err *err)
{
    int rc = keep_address(s, url, token, err);

    if (rc)
        return rc;
    client_ws_close(&s->ws);
    client_retry_reset(&s->retry);
    s->failed = 0;
    client_talk_stats(s->talk)->reconnects++;
    return connect_start(s, err);
}

/* ------------------------------------------------------------------------------------ running */

/* Handles the end of a connection with rc and *why: plans the next one, or fails for good. */
static int lost(struct client_stream *s, int rc, struct err *why)
{
    uint64_t now_ms = client_retry_now_ms();
    uint32_t asked_ms = client_talk_retry_ms(s->talk);
    int wait_ms = -1;

    if (asked_ms == 0 && s->ws)
        asked_ms = client_ws_retry_after_ms(s->ws);
    if (client_talk_resumable(s->talk, rc))
        wait_ms = client_retry_wait_ms(&s->retry, asked_ms, now_ms);
    if (wait_ms < 0) {
        s->failed = rc;
        s->err = *why;
        return rc;
    }
    client_ws_close(&s->ws);
    s->next_ms = now_ms + (uint64_t)wait_ms;
    if (s->config.on_lost)
        s->config.on_lost(s->config.ctx, why, wait_ms);
    return 0;
}

/* Between two connections: waits, or opens the next one. */
static int wait_for_next(struct client_stream *s, int timeout_ms, struct err *err)
{
    uint64_t now_ms = client_retry_now_ms();
    int rc, left_ms;

    if (now_ms < s->next_ms) {
        left_ms = (int)(s->next_ms - now_ms);
        if (left_ms > timeout_ms)
            left_ms = timeout_ms;
        nanosleep(&(struct timespec){.tv_sec = left_ms / 1000,
                                     .tv_nsec = (long)(left_ms % 1000) * 1000000},
                  NULL);
        return 0;
    }
    client_talk_stats(s->talk)->reconnects++;
    rc = connect_start(s, err);
    return rc ? lost(s, rc, err) : 0;
}

/* Ends a connection on which `ready` does not come; one that got further resets the count of
 * failures. */
static int stream_judge(struct client_stream *s, struct err *err)
{
    uint64_t age_ms = client_retry_now_ms() - s->opened_ms;
    bool started = client_talk_started(s->talk);

    if (client_talk_progress(s->talk) != s->progress || (started && age_ms >= WORKS_AFTER_MS))
        client_retry_reset(&s->retry);
    s->progress = client_talk_progress(s->talk);
    if (!started && !s->paused && age_ms > 1000 * (uint64_t)connect_timeout_s(s))
        return err_set(err, ERR_IO, "the server has not answered `start` for %d s",
                       connect_timeout_s(s));
    return 0;
}

/* Sends frames again that were answered `later` when their time has come. Returns for how long the
 * connection may work until then, at most timeout_ms. */
static int stream_wait_retry(struct client_stream *s, int timeout_ms)
{
    uint64_t now_ms = client_retry_now_ms(), gone_ms;
    uint32_t for_ms;

    if (!client_talk_held(s->talk, &for_ms)) {
        s->held_ms = 0;
        return timeout_ms;
    }
    if (!s->held_ms)
        s->held_ms = now_ms;
    gone_ms = now_ms - s->held_ms;
    if (gone_ms < for_ms)
        return for_ms - gone_ms < (uint64_t)timeout_ms ? (int)(for_ms - gone_ms) : timeout_ms;
    s->held_ms = 0;
    client_talk_go_on(s->talk);
    return timeout_ms;
}

int client_stream_run(struct client_stream *s, int timeout_ms, struct err *err)
{
    struct err why = {0};
    int rc;

    if (s->failed)
        rc = s->failed;
    else if (!s->ws)
        rc = wait_for_next(s, timeout_ms, &why);
    else {
        timeout_ms = stream_wait_retry(s, timeout_ms);
        if (client_talk_has_more(s->talk))
            client_ws_want_write(s->ws);
        rc = client_ws_run(s->ws, timeout_ms, &why);
        if (client_talk_cloud_changed(s->talk) && s->config.on_cloud)
            s->config.on_cloud(s->config.ctx, client_talk_cloud(s->talk));
        if (rc)
            rc = client_talk_ended(s->talk, rc, &why);
        else
            rc = stream_judge(s, &why);
        if (rc)
            rc = lost(s, rc, &why);
    }
    if (rc && err)
        *err = s->err;
    return rc;
}

bool client_stream_connected(const struct client_stream *s)
{
    return s->ws && !s->failed && client_talk_started(s->talk);
}

/* ------------------------------------------------------------------------------------ talking */

int client_stream_window(const struct client_stream *s)
{
    return client_stream_connected(s) ? client_talk_window(s->talk) : 0;
}

uint64_t client_stream_next_seq(const struct client_stream *s)
{
    return client_talk_next_seq(s->talk);
}

int client_stream_unanswered(const struct client_stream *s)
{
    return client_talk_unanswered(s->talk);
}

void client_stream_pace(const struct client_stream *s, float *rate, int *jpeg)
{
    client_talk_pace(s->talk, rate, jpeg);
}

int client_stream_send(struct client_stream *s, const struct frame *f, struct err *err)
{
    int rc = client_talk_send(s->talk, f, err);

    if (rc == 0 && s->ws)
        client_ws_want_write(s->ws);
    return rc;
}

int client_stream_camera(struct client_stream *s, const struct cameras_entry *camera,
                         struct err *err)
{
    int rc = client_talk_camera(s->talk, camera, err);

    if (rc == 0 && s->ws)
        client_ws_want_write(s->ws);
    return rc;
}

int client_stream_end(struct client_stream *s, struct err *err)
{
    int rc = client_talk_end(s->talk, err);

    if (rc == 0 && s->ws && client_talk_has_more(s->talk))
        client_ws_want_write(s->ws);
    return rc;
}

void client_stream_pause(struct client_stream *s, bool paused)
{
    if (paused != s->paused && s->ws)
        client_ws_pause(s->ws, paused);
    s->paused = paused;
}

const struct cloud *client_stream_cloud(const struct client_stream *s)
{
    return client_talk_cloud(s->talk);
}

const struct control_ready *client_stream_ready(const struct client_stream *s)
{
    return client_talk_ready(s->talk);
}

const struct control_bye *client_stream_bye(const struct client_stream *s)
{
    return client_talk_bye(s->talk);
}

void client_stream_get_stats(const struct client_stream *s, struct client_stream_stats *stats)
{
    *stats = *client_talk_stats(s->talk);
}
