#include "api/server/ws_slots.h"

#include "proto/lock.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NO_SERVICE (-1)

struct slot {
    atomic_int service;
    atomic_bool waits; /* descriptor for the service to adopt */
    int fd;
    uint8_t addr[16]; /* address that the acceptor saw */
    uint8_t name[16]; /* address that a proxy told; under the lock `names` */
    bool named;
};

struct ws_slots {
    int n, n_services;
    struct lock names;
    struct slot slots[];
};

/* One for three cores, and at least two: encoding a client's cloud holds up only the clients of the
 * same service. A client that falls behind gets patches over several commits, which cost more than
 * one patch for each. */
int ws_slots_services(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN) / 3;

    return n < 2 ? 2 : n > WS_SLOTS_SERVICES_MAX ? WS_SLOTS_SERVICES_MAX : (int)n;
}

int ws_slots_new(struct ws_slots **slots, int n, int n_services, struct err *err)
{
    struct ws_slots *s = calloc(1, sizeof *s + (size_t)n * sizeof s->slots[0]);

    *slots = s;
    if (!s)
        return err_set(err, ERR_MEMORY, "out of memory");
    s->n = n;
    s->n_services = n_services;
    lock_init(&s->names, LOCK_WS_SLOTS);
    for (int i = 0; i < n; i++)
        atomic_init(&s->slots[i].service, NO_SERVICE);
    return 0;
}

void ws_slots_free(struct ws_slots **slots)
{
    struct ws_slots *s = *slots;

    for (int i = 0; s && i < s->n; i++)
        if (atomic_load(&s->slots[i].waits))
            close(s->slots[i].fd);
    if (s)
        lock_destroy(&s->names);
    free(s);
    *slots = NULL;
}

static bool one_holder(const uint8_t a[16], const uint8_t b[16])
{
    static const uint8_t v4[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

    return memcmp(a, b, memcmp(a, v4, sizeof v4) == 0 ? 16 : 8) == 0;
}

bool ws_slots_name(struct ws_slots *s, int slot, const uint8_t addr[16], int max_per_address)
{
    int same = 0;
    bool fits;

    lock_take(&s->names);
    for (int i = 0; i < s->n; i++)
        same += i != slot && s->slots[i].named && one_holder(s->slots[i].name, addr);
    fits = same < max_per_address;
    if (fits) {
        memcpy(s->slots[slot].name, addr, 16);
        s->slots[slot].named = true;
    }
    lock_give(&s->names);
    return fits;
}

int ws_slots_take(struct ws_slots *s, const uint8_t addr[16], int max_per_address, int fd)
{
    int load[WS_SLOTS_SERVICES_MAX] = {0}, same = 0, least = 0;
    struct slot *slot = NULL;

    for (int i = 0; i < s->n; i++) {
        int service = atomic_load(&s->slots[i].service);
        if (service == NO_SERVICE) {
            slot = slot ? slot : &s->slots[i];
            continue;
        }
        load[service]++;
        same += one_holder(s->slots[i].addr, addr);
    }
    if (!slot || same >= max_per_address)
        return -1;
    for (int i = 1; i < s->n_services; i++)
        least = load[i] < load[least] ? i : least;
    memcpy(slot->addr, addr, 16);
    slot->fd = fd;
    atomic_store(&slot->waits, true);
    atomic_store(&slot->service, least);
    return least;
}

int ws_slots_taken(const struct ws_slots *s)
{
    int n = 0;

    for (int i = 0; i < s->n; i++)
        n += atomic_load(&s->slots[i].service) != NO_SERVICE;
    return n;
}

int ws_slots_arrive(struct ws_slots *s, int slot)
{
    bool waits = atomic_load(&s->slots[slot].waits);

    return waits && atomic_exchange(&s->slots[slot].waits, false) ? s->slots[slot].fd : -1;
}

void ws_slots_leave(struct ws_slots *s, int slot)
{
    if (s->slots[slot].named) {
        lock_take(&s->names);
        s->slots[slot].named = false;
        lock_give(&s->names);
    }
    atomic_store(&s->slots[slot].service, NO_SERVICE);
}

int ws_slots_service(const struct ws_slots *s, int slot)
{
    return atomic_load(&s->slots[slot].service);
}
