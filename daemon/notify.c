#include "daemon/notify.h"

#include "daemon/clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

int notify_sockets(int *http_fd, int *stream_fd, struct err *err)
{
    char **names = NULL;
    int n = sd_listen_fds_with_names(1, &names);
    int rc = 0;

    *http_fd = *stream_fd = -1;
    if (n < 0)
        return err_set(err, ERR_INPUT, "cannot take over the service manager's sockets: %s",
                       strerror(-n));
    for (int i = 0; i < n && rc == 0; i++) {
        int fd = SD_LISTEN_FDS_START + i;
        if (sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) <= 0)
            rc = err_set(err, ERR_INPUT, "socket '%.32s' is not a listening TCP socket", names[i]);
        else if (strcmp(names[i], "http") == 0)
            *http_fd = fd;
        else if (strcmp(names[i], "stream") == 0)
            *stream_fd = fd;
        else
            rc = err_set(err, ERR_INPUT, "socket '%.32s': FileDescriptorName= is http or stream",
                         names[i]);
    }
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
    return rc;
}

void notify_extend(uint64_t more_us, uint64_t so_far_s)
{
    sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%llu\nSTATUS=Starting, for %llu s so far",
               (unsigned long long)more_us, (unsigned long long)so_far_s);
}

void notify_ready(const char *status)
{
    sd_notifyf(0, "READY=1\nSTATUS=%s", status);
}

void notify_status(const char *status)
{
    sd_notifyf(0, "STATUS=%s", status);
}

void notify_reloading(void)
{
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)clock_us());
}

void notify_stopping(const char *status)
{
    sd_notifyf(0, "STOPPING=1\nSTATUS=%s", status);
}

uint64_t notify_watchdog_us(void)
{
    uint64_t usec = 0;

    return sd_watchdog_enabled(0, &usec) > 0 ? usec : 0;
}

void notify_alive(void)
{
    sd_notify(0, "WATCHDOG=1");
}
