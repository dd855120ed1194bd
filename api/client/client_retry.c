#include "api/client/client_retry.h"

#include "proto/cloud/key.h"
#include "proto/err.h"

#include <sys/random.h>
#include <time.h>

uint64_t client_retry_now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

int client_retry_code(int status)
{
    switch (status) {
    case 401:
    case 403:
        return ERR_DENIED;
    case 404:
    case 410:
        return ERR_NOT_FOUND;
    case 409:
        return ERR_STATE;
    case 413:
        return ERR_LIMIT;
    case 408:
    case 429:
    case 502: /* status of a proxy before the server, like 504 */
    case 503:
    case 504:
        return ERR_BUSY;
    default:
        return status >= 500 ? ERR_DEVICE : ERR_INPUT;
    }
}

struct client_retry client_retry_new(double for_s, int attempts)
{
    struct client_retry r = {.for_s = for_s, .attempts = attempts};

    /* poor randomness does no harm: it only spreads the attempts of many clients */
    if (getrandom(&r.random, sizeof r.random, GRND_NONBLOCK) != sizeof r.random)
        r.random = client_retry_now_ms();
    return r;
}

void client_retry_reset(struct client_retry *r)
{
    r->failed = 0;
}

int client_retry_wait_ms(struct client_retry *r, uint32_t asked_ms, uint64_t now_ms)
{
    uint64_t pause = CLIENT_RETRY_FIRST_MS;

    if (r->failed == 0)
        r->since_ms = now_ms;
    for (int i = 0; i < r->failed && pause < CLIENT_RETRY_MAX_MS; i++)
        pause *= 2;
    if (pause > CLIENT_RETRY_MAX_MS)
        pause = CLIENT_RETRY_MAX_MS;
    pause -= key_random(&r->random) % (pause / 2 + 1);
    /* The pause is what the server asked for and, as jitter, what it would have been anyway. */
    if (asked_ms)
        pause += asked_ms;
    if (r->attempts && r->failed >= r->attempts)
        return -1;
    if ((double)(now_ms - r->since_ms + pause) > r->for_s * 1e3)
        return -1;
    r->failed++;
    return (int)pause;
}
