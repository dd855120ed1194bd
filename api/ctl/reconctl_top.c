#include "api/ctl/reconctl_args.h"
#include "api/ctl/reconctl_link.h"
#include "api/ctl/reconctl_progress.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct top_options {
    struct reconctl_common common; /* first: see reconctl.h */
    double interval_s;
    int count;
};

#define AT(field) offsetof(struct top_options, field)

/* clang-format off */
static const struct reconctl_option options[] = {
    {"interval", 'i', "SECONDS", RECONCTL_REAL, AT(interval_s), 0.1, 3600,
     "Time between two looks (2)"},
    {"count", 'n', "N", RECONCTL_INT, AT(count), 1, 1000000,
     "End after N looks (default: Ctrl-C)"},
    {0},
};
/* clang-format on */

static void top_defaults(void *arguments)
{
    struct top_options *o = arguments;
    o->interval_s = 2;
}

static void print_devices(struct reconctl_screen *screen, const struct json *list)
{
    reconctl_put_row(screen, "%-8s %-4s %8s %6s %5s %7s %7s %7s", "DEVICE", "KIND", "SESSIONS",
                     "QUEUED", "BUSY", "MEM MB", "BUDGET", "FRAMES");
    for (size_t i = 0; i < json_count(list); i++) {
        const struct json *d = json_item(list, i);
        char name[RECONCTL_SHOWN], kind[RECONCTL_SHOWN];

        reconctl_put_row(screen, "%-8.8s %-4.4s %8lld %6lld %4.0f%% %7.0f %7.0f %7lld",
                         reconctl_member(name, d, "name"), reconctl_member(kind, d, "backend"),
                         (long long)json_i64(json_member(d, "sessions")),
                         (long long)json_i64(json_member(d, "queued_frames")),
                         100 * json_f64(json_member(d, "busy")),
                         (double)json_i64(json_member(d, "memory_used_bytes")) / 1e6,
                         (double)json_i64(json_member(d, "memory_budget_bytes")) / 1e6,
                         (long long)json_i64(json_member(d, "frames")));
    }
}

/* Prints as many rows as fit; one stays free for the cursor. */
static void print_sessions(struct reconctl_screen *screen, const struct json *list)
{
    int width = reconctl_id_width(screen);

    reconctl_put_row(screen, "%s", "");
    reconctl_put_row(screen, "%-*s  %-10s %9s %7s %7s %6s %6s %8s  %s", width, "SESSION", "STATE",
                     "POINTS", "USED", "NOT", "QUEUE", "FPS", "LATENCY", "NAME");
    for (size_t i = 0; i < json_count(list); i++) {
        const struct json *s = json_item(list, i), *counts = json_member(s, "counts");
        char id[RECONCTL_SHOWN], state[RECONCTL_SHOWN], name[RECONCTL_SHOWN];

        if (screen->rows == 2 && i + 1 < json_count(list)) {
            reconctl_put_row(screen, "and %zu more", json_count(list) - i);
            break;
        }
        reconctl_put_row(screen, "%-*.*s  %-10s %9lld %7lld %7lld %6lld %6.1f %5.0f ms  %s", width,
                         width, reconctl_member(id, s, "id"), reconctl_member(state, s, "state"),
                         (long long)json_i64(json_member(s, "points")),
                         (long long)json_i64(json_member(counts, "used")),
                         (long long)(json_i64(json_member(counts, "dropped")) +
                                     json_i64(json_member(counts, "refused"))),
                         (long long)json_i64(json_member(counts, "queued")),
                         json_f64(json_member(s, "fps")), json_f64(json_member(s, "latency_ms")),
                         reconctl_shown(name, json_text(json_member(s, "name")), 30));
    }
}

/* Requests both lists and shows them. */
static int lists_show(struct client *client, bool json, bool terminal, struct err *err)
{
    struct reconctl_screen screen = reconctl_screen();
    struct json *devices = NULL, *sessions = NULL;
    char *body = NULL, *body2 = NULL;
    size_t len, len2;
    int rc = client_request(client, "GET", "/v1/devices", NULL, &body, &len, NULL, err);

    if (rc == 0)
        rc =
            client_request(client, "GET", "/v1/sessions?limit=100", NULL, &body2, &len2, NULL, err);
    if (rc == 0)
        rc = json_parse(&devices, body, len, 16, err);
    if (rc == 0)
        rc = json_parse(&sessions, body2, len2, 16, err);
    if (rc)
        goto out;
    if (json) {
        reconctl_print_json("devices", body);
        reconctl_print_json("sessions", body2);
    } else {
        if (terminal)
            printf("\033[H\033[J");
        else
            screen.rows = INT_MAX;
        print_devices(&screen, json_member(devices, "devices"));
        print_sessions(&screen, json_member(sessions, "sessions"));
    }
    fflush(stdout);
out:
    json_free(&devices);
    json_free(&sessions);
    free(body);
    free(body2);
    return rc;
}

static int run_top(void *arguments)
{
    const struct top_options *o = arguments;
    struct reconctl_link link;
    char text[RECONCTL_SHOWN];
    bool seen = false, away = false;
    struct err err;
    int rc;

    if (reconctl_link_open(&link, &o->common, false, &err))
        return reconctl_fail(&o->common, &err);
    for (int n = 1;; n++) {
        rc = lists_show(link.client, reconctl_json(&o->common),
                        reconctl_progress_terminal(STDOUT_FILENO), &err);
        seen = seen || rc == 0;
        if (rc && (!seen || (rc != ERR_IO && rc != ERR_BUSY)))
            break;
        if (rc && !away)
            fprintf(stderr, "reconctl: %s: asking again\n", reconctl_shown(text, err.text, 200));
        away = rc != 0;
        if (n == o->count || ferror(stdout) || !reconctl_wait_output((int)(1e3 * o->interval_s)))
            break;
    }
    reconctl_link_close(&link);
    return rc ? reconctl_fail_server(&o->common, &err) : RECONCTL_OK;
}

RECONCTL_COMMAND(top, "top", "", "Watch the devices and sessions of a server", run_top,
                 sizeof(struct top_options), options, 0, top_defaults);
