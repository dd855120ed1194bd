/* What the service manager is told and hands over, and what a log line may hold. */
#include "daemon/log.h"
#include "daemon/notify.h"
#include "daemon/start_watch.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ------------------------------------------------------------------------- the service manager */

/* A socket as the service manager has it; its name is in NOTIFY_SOCKET. */
static int manager(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    char name[64];

    snprintf(name, sizeof(name), "@recond-test-%d", (int)getpid());
    memcpy(a.sun_path + 1, name + 1, strlen(name) - 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&a,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
                     0);
    setenv("NOTIFY_SOCKET", name, 1);
    return fd;
}

static const char *told(int fd)
{
    static char text[512];
    ssize_t n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

TEST(the_manager_is_told)
{
    int fd = manager();

    notify_ready("Ready at x");
    assert_string_equal(told(fd), "READY=1\nSTATUS=Ready at x");
    notify_reloading();
    assert_int_equal(strncmp(told(fd), "RELOADING=1\nMONOTONIC_USEC=", 27), 0);
    notify_status("busy");
    assert_string_equal(told(fd), "STATUS=busy");
    notify_stopping("bye");
    assert_string_equal(told(fd), "STOPPING=1\nSTATUS=bye");
    notify_alive();
    assert_string_equal(told(fd), "WATCHDOG=1");
    close(fd);
    unsetenv("NOTIFY_SOCKET");
    notify_ready("nobody listens"); /* must not fail */
}

static atomic_int signals_seen;

static void on_signal(void)
{
    atomic_fetch_add(&signals_seen, 1);
}

static void spin(int ms)
{
    clock_t until = clock() + (clock_t)ms * CLOCKS_PER_SEC / 1000;

    while (clock() < until)
        ;
}

/* A start that computes gets its time, one that hangs does not. */
TEST(a_long_start_asks_for_time)
{
    const struct start_watch_config config = {.period_us = 20000}, idle = {.period_us = 100000};
    struct start_watch *p;
    int fd = manager(), asked = 0;
    bool said = true;

    assert_int_equal(start_watch_begin(&p, &config, NULL), 0);
    for (int i = 0; i < 10 || (!asked && i < 3000); i++) { /* a full socket blocks its sender */
        spin(20);
        for (const char *text = told(fd); *text; text = told(fd), asked++)
            assert_int_equal(strncmp(text, "EXTEND_TIMEOUT_USEC=120000\nSTATUS=Starting, for ", 48),
                             0);
    }
    start_watch_end(&p);
    assert_null(p);
    assert_true(asked > 0);
    while (told(fd)[0])
        ;
    assert_int_equal(start_watch_begin(&p, &idle, NULL), 0);
    for (int i = 0; i < 200; i++) { /* the thread's own start may count as work once */
        while (told(fd)[0])
            ;
        usleep(300000);
        said = told(fd)[0];
        if (!said)
            break;
    }
    assert_false(said);
    start_watch_end(&p);
    start_watch_end(&p);
    close(fd);
    unsetenv("NOTIFY_SOCKET");
}

TEST(a_signal_ends_a_long_start)
{
    const struct start_watch_config config = {.on_signal = on_signal};
    struct start_watch *p;
    sigset_t set, old;
    int sig;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    assert_int_equal(start_watch_begin(&p, &config, NULL), 0);
    assert_int_equal(kill(getpid(), SIGHUP), 0);
    usleep(250000);
    assert_int_equal(atomic_load(&signals_seen), 0);
    assert_int_equal(kill(getpid(), SIGTERM), 0);
    for (int i = 0; i < 6000 && !atomic_load(&signals_seen); i++)
        usleep(10000);
    assert_true(atomic_load(&signals_seen) > 0);
    start_watch_end(&p);
    for (int i = 0; i < 2; i++)
        assert_int_equal(sigwait(&set, &sig), 0);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

TEST(the_watchdogs_period)
{
    char pid[16];

    assert_int_equal(notify_watchdog_us(), 0);
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    setenv("WATCHDOG_USEC", "20000000", 1);
    setenv("WATCHDOG_PID", pid, 1);
    assert_int_equal(notify_watchdog_us(), 20000000);
    setenv("WATCHDOG_PID", "1", 1); /* another process's */
    assert_int_equal(notify_watchdog_us(), 0);
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

/* Sockets 3 and 4 under names, in a child, as systemd would. Returns the exit status. */
static int activated(const char *names, bool listening)
{
    pid_t pid = fork();
    int status = -1, http, stream;
    struct err err = {0};
    char text[16];

    if (pid == 0) {
        for (int fd = 3; fd <= 4; fd++) {
            struct sockaddr_in a = {.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
            int s = socket(AF_INET, SOCK_STREAM, 0);
            if (bind(s, (struct sockaddr *)&a, sizeof(a)) || (listening && listen(s, 5)))
                _exit(99);
            if (s != fd && dup2(s, fd) < 0)
                _exit(98);
        }
        snprintf(text, sizeof(text), "%d", (int)getpid());
        setenv("LISTEN_PID", text, 1);
        setenv("LISTEN_FDS", "2", 1);
        setenv("LISTEN_FDNAMES", names, 1);
        if (notify_sockets(&http, &stream, &err))
            _exit(strstr(err.text, "FileDescriptorName") ? 2 : 3);
        if (getenv("LISTEN_FDS"))
            _exit(97); /* children of ours must not take them for theirs */
        _exit(http == 4 && stream == 3 ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WEXITSTATUS(status);
}

TEST(sockets_come_by_name)
{
    int http, stream;

    assert_int_equal(notify_sockets(&http, &stream, NULL), 0);
    assert_true(http == -1 && stream == -1);
    assert_int_equal(activated("stream:http", true), 0); /* the order of units does not matter */
    assert_int_equal(activated("stream:smtp", true), 2);
    assert_int_equal(activated("stream:http", false), 3);
}

/* ------------------------------------------------------------------------- log */

TEST(what_comes_from_outside_is_escaped)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"plain text", "plain text"},
        {"a\nb\x1b[31m", "a\\u000ab\\u001b[31m"},
        {"say \"hi\" \\", "say \\\"hi\\\" \\\\"},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"\xff\xc0\xaf", "\\u00ff\\u00c0\\u00af"}, /* no UTF-8, overlong */
        {"\xed\xa0\x80", "\\u00ed\\u00a0\\u0080"}, /* a surrogate */
        {"\xc2\x9b"
         "1m",
         "\\u009b1m"},                  /* a C1 control: CSI of some terminals */
        {"\xe2\x82", "\\u00e2\\u0082"}, /* cut off */
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"\x7f", "\\u007f"},
        {"\xe2\x80\xa8", "\\u2028"}, /* a new line to some viewers */
        {"\xe2\x80\xae"
         "txt",
         "\\u202etxt"}, /* right to left from here on */
        {"\xe2\x81\xa9", "\\u2069"},
        {"\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xaa",
         "\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xaa"}, /* beside them */
    };
    char buf[80], tiny[12];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(log_escape(buf, sizeof(buf), cases[i].in, true), strlen(cases[i].out));
        assert_string_equal(buf, cases[i].out);
    }
    log_escape(buf, sizeof(buf), "\"a\\b\"\n", false);
    assert_string_equal(buf, "\"a\\b\"\\u000a");
    assert_true(log_escape(tiny, sizeof(tiny), "abcdefghijklmnopqrstuvwxyz", true) < sizeof(tiny));
}

/* What a child writes to stderr while it runs `speak`. */
static char *written(enum config_log_format format, void (*speak)(void))
{
    static char text[1 << 16];
    int fds[2], status;
    size_t n = 0;
    ssize_t got;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    if (pid == 0) {
        dup2(fds[1], 2);
        close(fds[0]);
        close(fds[1]);
        log_open(format, LOG_INFO);
        speak();
        _exit(0);
    }
    close(fds[1]);
    while ((got = read(fds[0], text + n, sizeof(text) - 1 - n)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return text;
}

static int count(const char *text, const char *what)
{
    int n = 0;

    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

static void speak_two_lines(void)
{
    LOG_AT(LOG_WARNING, "the %s said \"%s\"", "peer", "x\ny");
    log_edge(NULL, LOG_INFO, "{\"status\":200}", "GET /");
    LOG_AT(LOG_DEBUG, "too fine");
}

static void speak_of_details(void)
{
    char long_one[1600];

    log_edge(NULL, LOG_INFO, "{\"name\":\"\xc2\x9b\"}", "steered");
    snprintf(long_one, sizeof(long_one), "{\"name\":\"%01500d\"}", 7);
    log_edge(NULL, LOG_INFO, long_one, "too much");
}

TEST(details_are_escaped_and_whole)
{
    char *text = written(CONFIG_LOG_JSON, speak_of_details);

    assert_int_equal(count(text, "\n"), 2);
    assert_non_null(strstr(text, "{\"name\":\"\\u009b\"}"));
    assert_non_null(strstr(text, "too much"));
    assert_null(strstr(text, "0000000")); /* half an object is none */
    text = written(CONFIG_LOG_TEXT, speak_of_details);
    assert_int_equal(count(text, "\n"), 2);
    assert_int_equal(count(text, "name"), 0); /* the text says it already */
}

static void speak_of_an_event(void)
{
    LOG_EVENT(LOG_CRIT, LOG_EVENT_DEVICE_LOST, "device %s is gone", "a\"b");
}

static void speak_too_much(void)
{
    for (int i = 0; i < 1000; i++)
        LOG_AT(LOG_INFO, "again and again");
    LOG_AT(LOG_INFO, "another place");
}

TEST(a_line_is_a_line)
{
    char *text = written(CONFIG_LOG_JSON, speak_two_lines);

    assert_int_equal(count(text, "\n"), 2);
    assert_int_equal(strncmp(text, "{\"time\":", 8), 0);
    assert_non_null(strstr(text, "\"level\":4,\"message\":\"the peer said \\\"x\\u000ay\\\"\"}\n"));
    assert_non_null(
        strstr(text, "\"level\":6,\"message\":\"GET /\",\"fields\":{\"status\":200}}\n"));
    text = written(CONFIG_LOG_TEXT, speak_two_lines);
    assert_int_equal(count(text, "\n"), 2);
    assert_non_null(strstr(text, "warning the peer said"));
    assert_null(strstr(text, "\33")); /* colours are for terminals */
}

TEST(an_event_has_its_identifier)
{
    assert_non_null(strstr(written(CONFIG_LOG_JSON, speak_of_an_event),
                           "\"level\":2,\"message\":\"device a\\\"b is gone\","
                           "\"message_id\":\"" LOG_EVENT_DEVICE_LOST "\"}\n"));
    assert_null(strstr(written(CONFIG_LOG_TEXT, speak_of_an_event), LOG_EVENT_DEVICE_LOST));
}

TEST(a_place_that_talks_too_much_is_cut_short)
{
    char *text = written(CONFIG_LOG_TEXT, speak_too_much);
    int n = count(text, "again and again");

    assert_in_range(n, 20, 40); /* one window of ten seconds, perhaps the next began meanwhile */
    assert_int_equal(count(text, "another place"), 1);
}
