/*
 * main.c - recond: configuration, log, devices, servers, then wait until it is time to go
 *
 * Exit:    enum exit_code, the classes of <sysexits.h>; recond(8) says what each asks of an
 *          operator
 */
#include "daemon/clock.h"
#include "daemon/edges.h"
#include "daemon/log.h"
#include "daemon/notify.h"
#include "daemon/start_check.h"
#include "daemon/start_watch.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define TICK_MS 50        /* how soon a lost device or the end of a drain is noticed */
#define STALL_US 10000000 /* a thread that is silent for so long ends the watchdog's beats */
#define STATUS_US 5000000 /* between two updates of the service manager's number of sessions */
#define HASTE_TICKS 10    /* time for clients to read the answers to dropped frames */
#define GIVE_UP_S 3       /* time for an orderly end after a device was lost */

enum exit_code {
    EXIT_USAGE = 64,       /* a flag is wrong */
    EXIT_UNAVAILABLE = 69, /* an address is taken */
    EXIT_DEVICE = 70,      /* a device context was lost: start again */
    EXIT_SYSTEM = 71,      /* the system refused a file, a socket, memory, a thread */
    EXIT_CONFIG = 78 /* the configuration or a network is wrong: starting again does not help */
};

struct process {
    int argc;
    char *const *argv;
    struct config config;
    struct core *core;
    struct edges *edges;
    sigset_t signals;
    uint64_t swept_us, fed_us, told_us, stalled_us;
    /* status texts for the service manager: their beginning, the present one */
    char headline[160], status[256];
};

static int exit_code(int rc)
{
    switch (rc) {
    case 0:
        return EXIT_SUCCESS;
    case ERR_DEVICE:
        return EXIT_DEVICE;
    case ERR_BUSY:
        return EXIT_UNAVAILABLE;
    case ERR_IO:
    case ERR_MEMORY:
        return EXIT_SYSTEM;
    default:
        return EXIT_CONFIG;
    }
}

static void check_complain(const struct err *err)
{
    fprintf(stderr, "recond: %s%s%s\n", err->where, err->where[0] ? ": " : "", err->text);
}

/* Exits with the status that the start would exit with. */
static int config_check_exit(const struct config *config)
{
    int rc = start_check(config, check_complain);

    if (rc == 0)
        printf("recond: the configuration is right, and the files that it names can be used\n");
    return exit_code(rc);
}

/* ------------------------------------------------------------------------- start */

/*
 * This memory holds tokens and pictures of people's homes, so no core file is written. The kernel
 * takes a limit of one byte for "not into a pipe either". Only the soft limit is changed:
 * prlimit(1) gives an operator a core file for a hunt after a fault.
 */
static void leave_no_core(void)
{
    struct rlimit core;

    if (getrlimit(RLIMIT_CORE, &core) == 0) {
        core.rlim_cur = core.rlim_max < 1 ? 0 : 1;
        (void)!setrlimit(RLIMIT_CORE, &core);
    }
}

/* Every thread inherits this mask, so signals come to main's sigtimedwait() alone. */
static void block_signals(struct process *p)
{
    sigemptyset(&p->signals);
    sigaddset(&p->signals, SIGTERM);
    sigaddset(&p->signals, SIGINT);
    sigaddset(&p->signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &p->signals, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static int write_addresses(const char *path, const char *http, const char *stream, struct err *err)
{
    char part[CONFIG_TEXT_CAP + 8];
    FILE *f;

    snprintf(part, sizeof(part), "%s.part", path);
    f = fopen(part, "we");
    if (!f || fprintf(f, "http=%s\nstream=%s\n", http, stream) < 0 || fclose(f) ||
        rename(part, path))
        return err_at(err, ERR_IO, "service.address_file", "%s: %s", path, strerror(errno));
    return 0;
}

static int service_announce(struct process *p, struct err *err)
{
    const char *file = p->config.service.address_file;
    char http[96], stream[96], page[112];
    int rc = 0;

    edges_addresses(p->edges, http, stream, sizeof(http));
    core_set_ready(p->core);
    LOG_AT(LOG_NOTICE, "recond %s, commit %s, %s: %s, streams at %s", RECOND_VERSION, core_commit,
           p->core->missing[0] ? "is up" : "is ready", http, stream);
    edges_page(p->edges, page, sizeof(page));
    LOG_AT(LOG_NOTICE, "to scan, or to watch a scan, open %s in a browser%s", page,
           p->config.service.behind_proxy ? " (by the proxy's name)" : "");
    if (p->config.retired[0])
        LOG_AT(LOG_WARNING, "the configuration names %s, which has no effect any more",
               p->config.retired);
    if (p->config.auth.mode == CONFIG_AUTH_NONE)
        LOG_AT(LOG_WARNING,
               "auth.mode = none: everyone on this machine may create, watch and delete sessions");
    if (p->core->missing[0]) {
        LOG_AT(LOG_ERR, "not ready: %s", p->core->missing);
        snprintf(p->headline, sizeof(p->headline), "Not ready: %.140s", p->core->missing);
    } else {
        snprintf(p->headline, sizeof(p->headline), "Ready at %s", http);
    }
    if (file[0])
        rc = write_addresses(file, http, stream, err);
    if (rc == 0)
        notify_ready(p->headline);
    return rc;
}

/* The service manager was not told that we are ready, so nothing is lost. */
static void leave_start(void)
{
    LOG_AT(LOG_NOTICE, "recond has stopped while it started");
    _exit(EXIT_SUCCESS);
}

static int service_start(struct process *p, struct err *err)
{
    const struct start_watch_config config = {.on_signal = leave_start};
    struct start_watch *watch = NULL;
    int http_fd, stream_fd;
    int rc = notify_sockets(&http_fd, &stream_fd, err);

    if (rc == 0)
        rc = start_watch_begin(&watch, &config, err);
    if (rc == 0)
        rc = core_open(&p->core, &p->config, NULL, err);
    if (rc == 0)
        rc = edges_start(&p->edges, &p->config, p->core, http_fd, stream_fd, err);
    start_watch_end(&watch);
    return rc ? rc : service_announce(p, err);
}

/* ------------------------------------------------------------------------- while it runs */

static void refuse_start(const struct err *err, const char *event)
{
    LOG_EVENT(LOG_ERR, event, "nothing was changed: %s%s%s", err->where, err->where[0] ? ": " : "",
              err->text);
}

static void service_reload(struct process *p)
{
    const char *event = LOG_EVENT_CONFIG_REFUSED;
    struct config fresh;
    enum config_action ignored;
    struct err err = {0};
    char later[1024];
    int n, rc;

    notify_reloading();
    rc = config_load(&fresh, &ignored, p->argc, p->argv, environ, &err);
    if (rc == 0) {
        rc = edges_reload(p->edges, &fresh, &err);
        if (strncmp(err.where, "tls.", 4) == 0)
            event = LOG_EVENT_CERTIFICATE_UNREADABLE;
        else if (err.where[0])
            event = LOG_EVENT_TOKENS_UNREADABLE; /* `where` names the file */
    }
    if (rc) {
        refuse_start(&err, event);
    } else {
        n = core_reload(p->core, &fresh, later, sizeof(later));
        log_set_level(fresh.log.level);
        p->config = core_config(p->core);
        if (n)
            LOG_AT(LOG_WARNING, "configuration read again; these need a restart: %s", later);
        else
            LOG_AT(LOG_NOTICE, "configuration read again");
    }
    notify_ready(rc ? "The new configuration is wrong and was not taken, see the log"
                    : p->headline);
    p->told_us = clock_us();
    p->status[0] = '\0';
}

/* Tells the service manager that we live, while all threads make progress. */
static void feed_watchdog(struct process *p)
{
    uint64_t period_us = notify_watchdog_us(), now_us = clock_us(), seen_us, other_us;
    const char *thread, *other;

    seen_us = core_alive_us(p->core, &thread);
    other_us = edges_alive_us(p->edges, &other);
    if (other_us < seen_us) {
        seen_us = other_us;
        thread = other;
    }
    if (now_us <= seen_us + STALL_US) {
        if (period_us && now_us - p->fed_us > period_us / 4) {
            notify_alive();
            p->fed_us = now_us;
        }
    } else if (now_us - p->stalled_us > STALL_US) {
        LOG_EVENT(LOG_ERR, LOG_EVENT_THREAD_STALLED, "%s: no sign of life for %llu s", thread,
                  (unsigned long long)(now_us - seen_us) / 1000000);
        p->stalled_us = now_us;
    }
}

/* Updates the text of `systemctl status` when it has changed. */
static void tell_status(struct process *p)
{
    char now[sizeof(p->status)];

    snprintf(now, sizeof(now), "%s; sessions: %d, clients: %d", p->headline,
             registry_count(p->core->registry), core_pending(p->core));
    if (strcmp(now, p->status) == 0)
        return;
    memcpy(p->status, now, sizeof(now));
    notify_status(now);
}

static void service_tick(struct process *p)
{
    uint64_t now_us = clock_us();

    feed_watchdog(p);
    if (now_us - p->swept_us < 1000000)
        return;
    p->swept_us = now_us;
    core_sweep(p->core);
    if (now_us - p->told_us >= STATUS_US) {
        p->told_us = now_us;
        tell_status(p);
    }
}

/* Returns the next signal, or 0 after a tick. */
static int next_signal(struct process *p)
{
    const struct timespec tick_time = {0, TICK_MS * 1000000L};
    int sig = sigtimedwait(&p->signals, NULL, &tick_time);

    return sig > 0 ? sig : 0;
}

/* Runs until a signal ends it. Returns 0, or ERR_DEVICE. */
static int wait_for_end(struct process *p)
{
    for (;;) {
        int sig = next_signal(p);
        if (core_lost(p->core))
            return ERR_DEVICE;
        service_tick(p);
        if (sig == SIGHUP)
            service_reload(p);
        else if (sig)
            return 0;
    }
}

/* ------------------------------------------------------------------------- stop */

/* A second of the stop's time is for the steps after the clients. */
static uint64_t drain_us(const struct process *p)
{
    uint64_t us = (uint64_t)p->config.service.drain_s * 1000000u;

    return us < 4000000 ? us / 4 * 3 : us - 1000000;
}

/* Gives queues and clients their time, unless a second signal ends it. */
static void service_drain(struct process *p)
{
    uint64_t until_us = clock_us() + drain_us(p);
    int sig = 0;

    LOG_AT(LOG_NOTICE, "stopping: %d clients, at most %d s", core_pending(p->core),
           p->config.service.drain_s);
    notify_stopping("Waiting for clients to get everything");
    snprintf(p->headline, sizeof(p->headline), "Stopping");
    edges_drain(p->edges);
    core_drain(p->core);
    while ((core_pending(p->core) || core_unsettled(p->core)) && clock_us() < until_us &&
           !core_lost(p->core)) {
        sig = next_signal(p);
        if (sig == SIGTERM || sig == SIGINT)
            break;
        service_tick(p);
    }
    if (core_pending(p->core) == 0)
        return;
    LOG_AT(LOG_WARNING, "%d clients are cut off%s", core_pending(p->core),
           sig == SIGTERM || sig == SIGINT ? " by a second signal" : "");
    core_hasten(p->core);
    for (int i = 0; i < HASTE_TICKS && core_pending(p->core); i++)
        next_signal(p);
}

/* Everything that was acknowledged is on disk. */
static void give_up(int sig)
{
    (void)sig;
    _exit(EXIT_DEVICE);
}

/* Threads may wait for a device that does not answer any more: they get a moment only. */
static void limit_end(void)
{
    signal(SIGALRM, give_up);
    alarm(GIVE_UP_S);
}

static void service_stop(struct process *p)
{
    notify_alive(); /* the next steps may take a whole period of the watchdog */
    if (p->core)
        core_stop(p->core);
    edges_stop(&p->edges);
    core_close(&p->core);
    if (p->config.service.address_file[0])
        unlink(p->config.service.address_file);
}

static int serve_signals(struct process *p)
{
    struct err err = {0};
    int rc;

    log_open((enum config_log_format)p->config.log.format, p->config.log.level);
    leave_no_core();
    block_signals(p);
    rc = service_start(p, &err);
    if (rc) {
        LOG_EVENT(LOG_ERR, LOG_EVENT_START_FAILED, "cannot start: %s%s%s", err.where,
                  err.where[0] ? ": " : "", err.text);
    } else {
        rc = wait_for_end(p);
        if (rc == 0)
            service_drain(p);
        if (core_lost(p->core)) {
            rc = ERR_DEVICE;
            LOG_EVENT(LOG_CRIT, LOG_EVENT_DEVICE_LOST,
                      "a device is lost; ending, so that the service manager starts a fresh "
                      "process");
            limit_end();
        }
    }
    service_stop(p);
    if (rc == 0)
        LOG_AT(LOG_NOTICE, "recond has stopped");
    return exit_code(rc);
}

/*
 * OpenMP threads that spin while they wait for each other starve the other threads of this process,
 * and each other as soon as the machine has anything else to do: with two cores and ten busy
 * processes the depth network took 500 ms instead of 44. They shall sleep after a while of about
 * ten microseconds; sleeping at once costs an idle machine a fifth. The library reads its
 * environment before main() runs, hence the second start; it is the same process for the service
 * manager.
 */
static void let_openmp_sleep(char *argv[])
{
    char self[4096];
    ssize_t n;

    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT"))
        return;
    n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n <= 0 || setenv("GOMP_SPINCOUNT", "10000", 1))
        return;
    self[n] = '\0';
    execv(self, argv); /* returns only on failure; then the process is slower */
}

int main(int argc, char *argv[])
{
    static struct process process;
    enum config_action action;
    struct err err = {0};

    let_openmp_sleep(argv);
    process.argc = argc;
    process.argv = argv;
    if (config_load(&process.config, &action, argc, argv, environ, &err)) {
        check_complain(&err);
        return strncmp(err.where, "-", 1) == 0 ? EXIT_USAGE : EXIT_CONFIG;
    }
    switch (action) {
    case CONFIG_HELP:
        config_help(stdout);
        return 0;
    case CONFIG_VERSION:
        printf("recond %s, commit %s\n", RECOND_VERSION, core_commit);
        return 0;
    case CONFIG_PRINT:
        config_print(stdout, &process.config);
        return 0;
    case CONFIG_CHECK:
        return config_check_exit(&process.config);
    default:
        return serve_signals(&process);
    }
}
