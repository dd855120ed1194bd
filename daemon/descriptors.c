#include "daemon/descriptors.h"

#include <dirent.h>
#include <sys/resource.h>

#define OF_A_SESSION 4     /* a journal's segment, its folder, a checkpoint, an export */
#define OF_THE_PROCESS 256 /* includes the reserved probe connections (http_peers.h) */

uint64_t descriptors_needed(const struct config *c)
{
    return 2 * (uint64_t)c->limits.connections + OF_A_SESSION * (uint64_t)c->limits.sessions +
           OF_THE_PROCESS;
}

uint64_t descriptors_raise(uint64_t needed)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    if (limit.rlim_cur < needed && limit.rlim_cur < limit.rlim_max) {
        struct rlimit more = {needed < limit.rlim_max ? needed : limit.rlim_max, limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &more) == 0)
            limit = more;
    }
    return limit.rlim_cur;
}

uint64_t descriptors_open(void)
{
    DIR *dir = opendir("/proc/self/fd");
    uint64_t n = 0;

    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n > 3 ? n - 3 : 0; /* without ".", ".." and the folder itself */
}
