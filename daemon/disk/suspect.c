#include "daemon/disk/suspect.h"

#include "api/file.h"
#include "proto/crc32c.h"
#include "proto/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC 0x54505352u /* "RSPT" */
#define VERSION 1u
#define BOOT_CAP 40
#define ALT_STACK ((size_t)64 << 10)

enum slot_state { SLOT_FREE, SLOT_FILLING, SLOT_AT_WORK };

/* The file is this, in the byte order of the machine that it never leaves. */
struct frame {
    char id[32];
    uint64_t number;
    uint32_t kills;
    uint32_t check; /* CRC-32C of what is before it */
};

struct image {
    uint32_t magic, version;
    char boot[BOOT_CAP];
    _Atomic uint32_t blamed;
    uint32_t reserved;
    _Atomic uint32_t state[SUSPECT_SLOTS]; /* enum slot_state */
    struct frame slot[SUSPECT_SLOTS];
    struct frame list[SUSPECT_LIST]; /* number 0 = none */
};

struct suspect {
    struct image *image; /* mapped */
    struct lock lock;    /* the list */
    atomic_uint hint;    /* where to look for a free slot first */
    void *alt_stack;
};

/* What the handlers blame. */
static _Atomic(struct suspect *) armed;
static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
#define N_DEADLY (sizeof(deadly) / sizeof(deadly[0]))

static void seal(struct frame *f, const char *id, uint64_t number, uint32_t kills)
{
    memset(f, 0, sizeof(*f));
    snprintf(f->id, sizeof(f->id), "%s", id);
    f->number = number;
    f->kills = kills;
    f->check = crc32c(0, f, offsetof(struct frame, check));
}

static bool sealed(const struct frame *f)
{
    return f->number > 0 && f->id[0] && memchr(f->id, 0, sizeof(f->id)) &&
           f->check == crc32c(0, f, offsetof(struct frame, check));
}

static bool same(const struct frame *f, const char *id, uint64_t number)
{
    return f->number == number && strcmp(f->id, id) == 0;
}

/* The place of a suspect in the list, or a free place, or NULL. */
static struct frame *place(struct frame *list, const char *id, uint64_t number)
{
    struct frame *free_place = NULL;

    for (int i = 0; i < SUSPECT_LIST; i++) {
        if (list[i].number && same(&list[i], id, number))
            return &list[i];
        if (!list[i].number && !free_place)
            free_place = &list[i];
    }
    return free_place;
}

static void read_boot(char boot[BOOT_CAP])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, boot, BOOT_CAP - 1);

    if (fd >= 0)
        close(fd);
    memset(boot + (n > 0 ? n : 0), 0, BOOT_CAP - (size_t)(n > 0 ? n : 0));
}

/* Read the file into `old`; all of it zero unless it is one of ours, whole, of this boot. */
static void read_old(int fd, struct image *old, const char boot[BOOT_CAP])
{
    struct stat st;

    if (fstat(fd, &st) || st.st_size != (off_t)sizeof(*old) ||
        pread(fd, old, sizeof(*old), 0) != (ssize_t)sizeof(*old) || old->magic != MAGIC ||
        old->version != VERSION || memcmp(old->boot, boot, BOOT_CAP) != 0)
        memset(old, 0, sizeof(*old));
}

/* What the next process starts from: the suspects so far, and if the last one died by its own
 * doing, what it was at work on. */
static void carry_over(struct image *new, struct image *old)
{
    for (int i = 0; i < SUSPECT_LIST; i++)
        if (sealed(&old->list[i]))
            new->list[i] = old->list[i];
    if (atomic_load(&old->blamed) != 1)
        return;
    for (int i = 0; i < SUSPECT_SLOTS; i++) {
        const struct frame *f = &old->slot[i];
        struct frame *p;
        if (atomic_load(&old->state[i]) != SLOT_AT_WORK || !sealed(f))
            continue;
        p = place(new->list, f->id, f->number);
        if (p)
            seal(p, f->id, f->number, p->number ? p->kills + 1 : 1);
    }
}

/*
 * The new image goes into a file beside, which then takes the old one's name: a death in between
 * leaves one or the other. Blocks are written, not left out, so that no store into the mapping can
 * meet a full disk.
 */
static int replace(struct suspect *s, const char *path, const struct image *image, struct err *err)
{
    char beside[4096];
    void *map = MAP_FAILED;
    int fd, rc = 0;

    if (snprintf(beside, sizeof(beside), "%s.new", path) >= (int)sizeof(beside))
        return err_at(err, ERR_IO, path, "its name is too long");
    fd = open(beside, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_at(err, ERR_IO, beside, "cannot make it: %s", strerror(errno));
    if (file_write(fd, image, sizeof(*image))) {
        rc = err_at(err, ERR_IO, beside, "cannot write it: %s", strerror(errno));
        goto out;
    }
    map = mmap(NULL, sizeof(*image), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        rc = err_at(err, ERR_IO, beside, "cannot map it: %s", strerror(errno));
    else if (rename(beside, path))
        rc = err_at(err, ERR_IO, path, "cannot replace it: %s", strerror(errno));
    if (rc == 0)
        s->image = map;
out:
    if (rc && map != MAP_FAILED)
        munmap(map, sizeof(*image));
    if (rc)
        unlink(beside);
    close(fd);
    return rc;
}

int suspect_open(struct suspect **out, const char *path, struct err *err)
{
    struct suspect *s = calloc(1, sizeof(*s));
    struct image *images = calloc(2, sizeof(*images));
    int fd, rc;

    *out = s;
    if (!s || !images) {
        rc = err_set(err, ERR_MEMORY, "no memory for the list of suspects");
        goto out;
    }
    lock_init(&s->lock, LOCK_SUSPECT);
    images[1].magic = MAGIC;
    images[1].version = VERSION;
    read_boot(images[1].boot);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0) {
        read_old(fd, &images[0], images[1].boot);
        close(fd);
    }
    carry_over(&images[1], &images[0]);
    rc = replace(s, path, &images[1], err);
out:
    free(images);
    if (rc) {
        free(s);
        *out = NULL;
    }
    return rc;
}

int suspect_list(struct suspect *s, struct suspect_frame *out, int cap)
{
    int n = 0;

    lock_take(&s->lock);
    for (int i = 0; i < SUSPECT_LIST; i++) {
        const struct frame *f = &s->image->list[i];
        if (!f->number)
            continue;
        if (n < cap) {
            memcpy(out[n].id, f->id, sizeof(f->id));
            out[n].number = f->number;
            out[n].kills = f->kills;
        }
        n++;
    }
    lock_give(&s->lock);
    return n;
}

int suspect_enter(struct suspect *s, const char *id, uint64_t number)
{
    unsigned start = atomic_fetch_add(&s->hint, 1);

    for (unsigned i = 0; i < SUSPECT_SLOTS; i++) {
        unsigned at = (start + i) % SUSPECT_SLOTS;
        uint32_t state = SLOT_FREE;
        if (!atomic_compare_exchange_strong(&s->image->state[at], &state, SLOT_FILLING))
            continue;
        seal(&s->image->slot[at], id, number, 0);
        atomic_store(&s->image->state[at], SLOT_AT_WORK);
        return (int)at;
    }
    return -1;
}

void suspect_leave(struct suspect *s, int slot)
{
    if (slot >= 0)
        atomic_store(&s->image->state[slot], SLOT_FREE);
}

void suspect_clear(struct suspect *s, const char *id, uint64_t number)
{
    struct frame *f;

    lock_take(&s->lock);
    f = place(s->image->list, id, number);
    if (f && f->number)
        f->number = 0;
    lock_give(&s->lock);
}

void suspect_blame(struct suspect *s)
{
    atomic_store(&s->image->blamed, 1);
}

/* Raised again, the signal waits until the handler returns, and then has its default action where
 * the fault was: the core file shows that place. */
static void on_deadly(int number)
{
    struct suspect *s = atomic_load(&armed);

    if (s)
        suspect_blame(s);
    raise(number);
}

int suspect_arm(struct suspect *s, struct err *err)
{
    struct sigaction act = {.sa_handler = on_deadly, .sa_flags = SA_ONSTACK | SA_RESETHAND};
    stack_t stack = {.ss_size = ALT_STACK};

    if (s->alt_stack)
        return 0;
    s->alt_stack = malloc(ALT_STACK);
    if (!s->alt_stack)
        return err_set(err, ERR_MEMORY, "no memory for the handlers of crashes");
    stack.ss_sp = s->alt_stack;
    sigemptyset(&act.sa_mask);
    atomic_store(&armed, s);
    for (size_t i = 0; i < N_DEADLY; i++)
        if (sigaction(deadly[i], &act, NULL))
            return err_set(err, ERR_IO, "cannot handle crashes: %s", strerror(errno));
    if (sigaltstack(&stack, NULL))
        return err_set(err, ERR_IO, "cannot handle crashes: %s", strerror(errno));
    return 0;
}

static void disarm(struct suspect *s)
{
    const struct sigaction act = {.sa_handler = SIG_DFL};
    const stack_t stack = {.ss_flags = SS_DISABLE};

    if (!s->alt_stack)
        return;
    for (size_t i = 0; i < N_DEADLY; i++)
        (void)sigaction(deadly[i], &act, NULL);
    (void)sigaltstack(&stack, NULL);
    atomic_store(&armed, NULL);
    free(s->alt_stack);
}

void suspect_close(struct suspect **out)
{
    struct suspect *s = *out;

    if (!s)
        return;
    disarm(s);
    for (int i = 0; i < SUSPECT_SLOTS && !atomic_load(&s->image->blamed); i++)
        atomic_store(&s->image->state[i], SLOT_FREE);
    munmap(s->image, sizeof(*s->image));
    lock_destroy(&s->lock);
    free(s);
    *out = NULL;
}
