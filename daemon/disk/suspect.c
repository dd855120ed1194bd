#include "daemon/disk/suspect.h"

#include "api/file.h"
#include "daemon/disk/folder.h"
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
#define ALT_STACK ((size_t)64 << 10)

enum slot_state { SLOT_FREE, SLOT_FILLING, SLOT_AT_WORK };

/* The layout of the file, in the byte order of the machine that it never leaves. */
struct frame {
    char id[32];
    uint64_t number;
    uint32_t kills;
    uint32_t check; /* CRC-32C of all before it */
};

struct image {
    uint32_t magic, version;
    char boot[FOLDER_BOOT_CAP];
    _Atomic uint32_t blamed;
    uint32_t reserved;
    _Atomic uint32_t state[SUSPECT_SLOTS]; /* enum slot_state */
    struct frame slot[SUSPECT_SLOTS];
    struct frame list[SUSPECT_LIST]; /* number 0 = none */
};

struct suspect {
    struct image *image; /* mapped */
    struct lock lock;    /* the list */
    atomic_uint hint;    /* where to search first for a free slot */
    void *alt_stack;
};

/* The handlers of crash signals write into this one. */
static _Atomic(struct suspect *) armed;
static const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
#define N_DEADLY (sizeof(deadly) / sizeof(deadly[0]))

static void frame_seal(struct frame *f, const char *id, uint64_t number, uint32_t kills)
{
    memset(f, 0, sizeof(*f));
    snprintf(f->id, sizeof(f->id), "%s", id);
    f->number = number;
    f->kills = kills;
    f->check = crc32c(0, f, offsetof(struct frame, check));
}

static bool frame_is_sealed(const struct frame *f)
{
    return f->number > 0 && f->id[0] && memchr(f->id, 0, sizeof(f->id)) &&
           f->check == crc32c(0, f, offsetof(struct frame, check));
}

static bool frame_is(const struct frame *f, const char *id, uint64_t number)
{
    return f->number == number && strcmp(f->id, id) == 0;
}

/* Returns the place of a suspect in the list, or a free place, or NULL. */
static struct frame *list_place(struct frame *list, const char *id, uint64_t number)
{
    struct frame *free_place = NULL;

    for (int i = 0; i < SUSPECT_LIST; i++) {
        if (list[i].number && frame_is(&list[i], id, number))
            return &list[i];
        if (!list[i].number && !free_place)
            free_place = &list[i];
    }
    return free_place;
}

/* Reads the file into `old`, which is all zero if the file is damaged or of another boot. */
static void image_read(int fd, struct image *old, const char boot[FOLDER_BOOT_CAP])
{
    struct stat st;

    if (fstat(fd, &st) || st.st_size != (off_t)sizeof(*old) ||
        pread(fd, old, sizeof(*old), 0) != (ssize_t)sizeof(*old) || old->magic != MAGIC ||
        old->version != VERSION || memcmp(old->boot, boot, FOLDER_BOOT_CAP) != 0)
        memset(old, 0, sizeof(*old));
}

/* Fills the image that the next process starts from: the suspects so far and, if the last process
 * crashed, the frames that it was working on. */
static void image_carry_over(struct image *new, struct image *old)
{
    for (int i = 0; i < SUSPECT_LIST; i++)
        if (frame_is_sealed(&old->list[i]))
            new->list[i] = old->list[i];
    if (atomic_load(&old->blamed) != 1)
        return;
    for (int i = 0; i < SUSPECT_SLOTS; i++) {
        const struct frame *f = &old->slot[i];
        struct frame *p;
        if (atomic_load(&old->state[i]) != SLOT_AT_WORK || !frame_is_sealed(f))
            continue;
        p = list_place(new->list, f->id, f->number);
        if (p)
            frame_seal(p, f->id, f->number, p->number ? p->kills + 1 : 1);
    }
}

/*
 * The new image goes into a second file, which then takes the old one's name: a crash leaves one or
 * the other. Blocks are written, not left out, so that no store into the mapping can meet a full
 * disk.
 */
static int image_replace(struct suspect *s, const char *path, const struct image *image,
                         struct err *err)
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
    folder_read_boot(images[1].boot);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0) {
        image_read(fd, &images[0], images[1].boot);
        close(fd);
    }
    image_carry_over(&images[1], &images[0]);
    rc = image_replace(s, path, &images[1], err);
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
        frame_seal(&s->image->slot[at], id, number, 0);
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
    f = list_place(s->image->list, id, number);
    if (f && f->number)
        f->number = 0;
    lock_give(&s->lock);
}

void suspect_blame(struct suspect *s)
{
    atomic_store(&s->image->blamed, 1);
}

/* The signal that we raise again is blocked until this handler returns. Then it has its default
 * action at the place of the fault, which is what the core file shows. */
static void suspect_on_deadly(int number)
{
    struct suspect *s = atomic_load(&armed);

    if (s)
        suspect_blame(s);
    raise(number);
}

int suspect_arm(struct suspect *s, struct err *err)
{
    struct sigaction act = {.sa_handler = suspect_on_deadly, .sa_flags = SA_ONSTACK | SA_RESETHAND};
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

static void suspect_disarm(struct suspect *s)
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
    suspect_disarm(s);
    for (int i = 0; i < SUSPECT_SLOTS && !atomic_load(&s->image->blamed); i++)
        atomic_store(&s->image->state[i], SLOT_FREE);
    munmap(s->image, sizeof(*s->image));
    lock_destroy(&s->lock);
    free(s);
    *out = NULL;
}
