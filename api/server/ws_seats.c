#include "api/server/ws_seats.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOBODY (-1)

struct seat {
    atomic_int service;
    atomic_bool waits; /* fd is to be adopted */
    int fd;
    uint8_t addr[16]; /* the acceptor's */
    uint8_t name[16]; /* that a proxy gave, under the lock */
    bool named;
};

struct ws_seats {
    int n, n_services;
    pthread_mutex_t names;
    struct seat seats[];
};

/* One for three cores, and never one alone: a client whose cloud is being encoded holds up no more
 * than its neighbours. One that falls behind makes patches over several commits, which cost more
 * than one each: it must not. */
int ws_seats_services(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN) / 3;

    return n < 2 ? 2 : n > WS_SEATS_SERVICES_MAX ? WS_SEATS_SERVICES_MAX : (int)n;
}

int ws_seats_new(struct ws_seats **seats, int n, int n_services, struct err *err)
{
    struct ws_seats *s = calloc(1, sizeof *s + (size_t)n * sizeof s->seats[0]);

    *seats = s;
    if (!s)
        return err_set(err, ERR_MEMORY, "out of memory");
    s->n = n;
    s->n_services = n_services;
    pthread_mutex_init(&s->names, NULL);
    for (int i = 0; i < n; i++)
        atomic_init(&s->seats[i].service, NOBODY);
    return 0;
}

void ws_seats_free(struct ws_seats **seats)
{
    struct ws_seats *s = *seats;

    for (int i = 0; s && i < s->n; i++)
        if (atomic_load(&s->seats[i].waits))
            close(s->seats[i].fd);
    if (s)
        pthread_mutex_destroy(&s->names);
    free(s);
    *seats = NULL;
}

static bool one_holder(const uint8_t a[16], const uint8_t b[16])
{
    static const uint8_t v4[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

    return memcmp(a, b, memcmp(a, v4, sizeof v4) == 0 ? 16 : 8) == 0;
}

bool ws_seats_name(struct ws_seats *s, int seat, const uint8_t addr[16], int max_per_address)
{
    int same = 0;
    bool fits;

    pthread_mutex_lock(&s->names);
    for (int i = 0; i < s->n; i++)
        same += i != seat && s->seats[i].named && one_holder(s->seats[i].name, addr);
    fits = same < max_per_address;
    if (fits) {
        memcpy(s->seats[seat].name, addr, 16);
        s->seats[seat].named = true;
    }
    pthread_mutex_unlock(&s->names);
    return fits;
}

int ws_seats_take(struct ws_seats *s, const uint8_t addr[16], int max_per_address, int fd)
{
    int load[WS_SEATS_SERVICES_MAX] = {0}, same = 0, least = 0;
    struct seat *seat = NULL;

    for (int i = 0; i < s->n; i++) {
        int service = atomic_load(&s->seats[i].service);
        if (service == NOBODY) {
            seat = seat ? seat : &s->seats[i];
            continue;
        }
        load[service]++;
        same += one_holder(s->seats[i].addr, addr);
    }
    if (!seat || same >= max_per_address)
        return -1;
    for (int i = 1; i < s->n_services; i++)
        least = load[i] < load[least] ? i : least;
    memcpy(seat->addr, addr, 16);
    seat->fd = fd;
    atomic_store(&seat->waits, true);
    atomic_store(&seat->service, least);
    return least;
}

int ws_seats_taken(const struct ws_seats *s)
{
    int n = 0;

    for (int i = 0; i < s->n; i++)
        n += atomic_load(&s->seats[i].service) != NOBODY;
    return n;
}

bool ws_seats_arrive(struct ws_seats *s, int seat)
{
    return atomic_load(&s->seats[seat].waits) && atomic_exchange(&s->seats[seat].waits, false);
}

int ws_seats_fd(const struct ws_seats *s, int seat)
{
    return s->seats[seat].fd;
}

void ws_seats_leave(struct ws_seats *s, int seat)
{
    if (s->seats[seat].named) {
        pthread_mutex_lock(&s->names);
        s->seats[seat].named = false;
        pthread_mutex_unlock(&s->names);
    }
    atomic_store(&s->seats[seat].service, NOBODY);
}

int ws_seats_service(const struct ws_seats *s, int seat)
{
    return atomic_load(&s->seats[seat].service);
}
