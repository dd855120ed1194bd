/* The store of enrolled objects: what a restart finds, whatever went wrong before it. */
#include "daemon/objects.h"
#include "daemon/objects_file.h"
#include "tests/support/fault_io.h"
#include "tests/support/scratch.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TENSORS 3
#define POINTS 40
#define VERSION_AT 4 /* of a file: see objects.h */

static const struct objects_limits limits = {4, 1 << 20};
static char folder[SCRATCH_CAP];

/* An object of a few tensors, which differ by `salt`. */
static struct object make(const char *name, uint32_t salt)
{
    struct object o = {.unit_m = 0.004f, .voxel = 5, .n_views = 1, .n_tensors = TENSORS};

    snprintf(o.name, sizeof o.name, "%s", name);
    o.n_entries = TENSORS * TENSOR_LEAST;
    o.n_points = POINTS;
    o.tensor = calloc(o.n_tensors, sizeof *o.tensor);
    o.entry = calloc(o.n_entries, sizeof *o.entry);
    o.point = calloc(o.n_points, sizeof *o.point);
    assert_true(o.tensor && o.entry && o.point);
    for (uint32_t i = 0; i < TENSORS; i++) {
        o.tensor[i] = (struct object_tensor){
            .T_ob = rigid_identity(), .cosine = 0.5f, .first = i * TENSOR_LEAST, .n = TENSOR_LEAST};
        for (uint32_t k = 0; k < TENSOR_LEAST; k++)
            o.entry[i * TENSOR_LEAST + k] = TENSOR_ENTRY(10 * k + i, 1 + (salt + k) % 1000);
    }
    for (int i = 0; i < POINTS; i++)
        o.point[i] = (struct object_point){{0.01f * (float)i, 0, 1}, {0, 0, -1}};
    return o;
}

static int add(struct objects *s, const char *owner, const char *name, uint32_t salt,
               struct err *err)
{
    struct object o = make(name, salt);
    int rc = objects_add(s, owner, "cup", &o, NULL, err);

    assert_true(rc ? o.tensor != NULL : o.tensor == NULL);
    object_free(&o);
    return rc;
}

static struct objects *open_store(void)
{
    struct objects *s;
    struct err err;

    assert_int_equal(objects_open(&s, folder, &limits, &err), 0);
    return s;
}

/* Is it there, with what was enrolled? */
static bool holds(struct objects *s, const char *owner, const char *name, uint32_t salt)
{
    const struct enrolled *e = objects_get(s, owner, name);
    struct object o = make(name, salt);
    bool same = e && e->object.n_entries == o.n_entries && e->object.n_points == o.n_points &&
                memcmp(e->object.entry, o.entry, o.n_entries * sizeof *o.entry) == 0 &&
                strcmp(e->owner, owner) == 0 && strcmp(e->class_name, "cup") == 0 &&
                e->created_s > 1e9;

    object_free(&o);
    objects_put(e);
    return same;
}

static int count(const struct objects *s)
{
    uint64_t bytes;
    int n;

    objects_count((struct objects *)(uintptr_t)s, &n, &bytes);
    return n;
}

/* Files whose names end so. */
static int files(const char *end)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    int n = 0;

    assert_non_null(d);
    while ((e = readdir(d)))
        n += strlen(e->d_name) >= strlen(end) &&
             strcmp(e->d_name + strlen(e->d_name) - strlen(end), end) == 0;
    closedir(d);
    return n;
}

static size_t read_file(const char *name, uint8_t *bytes, size_t cap)
{
    char path[SCRATCH_CAP + OBJECTS_FILE_NAME_CAP];
    FILE *f;
    size_t n;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "rb");
    assert_non_null(f);
    n = fread(bytes, 1, cap, f);
    fclose(f);
    return n;
}

static void write_file(const char *name, const uint8_t *bytes, size_t n)
{
    char path[SCRATCH_CAP + OBJECTS_FILE_NAME_CAP];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static int begin(void **state)
{
    (void)state;
    scratch_path(folder, "objects");
    return mkdtemp(folder) ? 0 : -1;
}

/* ------------------------------------------------------------------------- life */

TEST_WITH(comes_back, begin, NULL)
{
    struct objects *s = open_store();
    const struct enrolled *list[8];
    struct err err;
    assert_int_equal(add(s, "lab", "mug", 1, &err), 0);
    assert_int_equal(add(s, "lab", "can", 2, &err), 0);
    assert_int_equal(add(s, "home", "mug", 3, &err), 0);
    assert_int_equal(add(s, "lab", "mug", 4, &err), ERR_STATE);
    objects_close(&s);
    s = open_store();
    assert_true(holds(s, "lab", "mug", 1) && holds(s, "lab", "can", 2) &&
                holds(s, "home", "mug", 3));
    assert_null(objects_get(s, "home", "can"));
    assert_int_equal(objects_list(s, "lab", "", list, 8), 2);
    assert_string_equal(list[0]->object.name, "can");
    assert_string_equal(list[1]->object.name, "mug");
    objects_put(list[0]);
    objects_put(list[1]);
    assert_int_equal(objects_list(s, "lab", "can", list, 8), 1);
    assert_string_equal(list[0]->object.name, "mug");
    objects_put(list[0]);
    assert_int_equal(objects_list(s, "l", "", list, 8), 0);
    assert_int_equal(objects_remove(s, "lab", "mug", &err), 0);
    assert_int_equal(objects_remove(s, "lab", "mug", &err), ERR_NOT_FOUND);
    objects_close(&s);
    s = open_store();
    assert_true(count(s) == 2 && files(OBJECTS_FILE_SUFFIX) == 2);
    objects_close(&s);
}

/* What is held stays whole when it is deleted, and when the store is gone; its name is free. */
TEST_WITH(held, begin, NULL)
{
    struct objects *s = open_store();
    const struct enrolled *e;
    struct err err;
    assert_int_equal(add(s, "lab", "mug", 1, &err), 0);
    e = objects_get(s, "lab", "mug");
    assert_int_equal(objects_remove(s, "lab", "mug", &err), 0);
    assert_null(objects_get(s, "lab", "mug"));
    assert_int_equal(add(s, "lab", "mug", 2, &err), 0);
    assert_true(holds(s, "lab", "mug", 2));
    objects_close(&s);
    assert_true(e->object.n_tensors == TENSORS && e->object.entry[0] == TENSOR_ENTRY(0, 2));
    objects_put(e);
}

TEST_WITH(bounds, begin, NULL)
{
    const struct objects_limits small = {2, 2000};
    struct object o = make("x", 0);
    struct objects *s;
    struct err err;
    assert_int_equal(objects_open(&s, folder, &small, &err), 0);
    assert_int_equal(add(s, "a", "1", 0, &err), 0);
    assert_int_equal(add(s, "a", "2", 0, &err), 0);
    assert_int_equal(add(s, "a", "3", 0, &err), ERR_BUSY);
    assert_int_equal(add(s, "b", "3", 0, &err), 0);
    assert_int_equal(add(s, "b", "a/b", 0, &err), ERR_INPUT);
    assert_int_equal(add(s, "b", "", 0, &err), ERR_INPUT);
    assert_int_equal(objects_add(s, "b", ".cup", &o, NULL, &err), ERR_INPUT);
    assert_int_equal(objects_add(s, "b@c", "cup", &o, NULL, &err), ERR_INPUT);
    assert_int_equal(objects_add(s, "../b", "cup", &o, NULL, &err), ERR_INPUT);
    objects_close(&s);
    assert_int_equal(objects_open(&s, folder, &(struct objects_limits){9, 1000}, &err), 0);
    assert_int_equal(count(s), 3); /* limits are of what is enrolled, not of what there is */
    assert_int_equal(objects_add(s, "b", "cup", &o, NULL, &err), ERR_LIMIT);
    objects_close(&s);
    assert_int_equal(files(OBJECTS_FILE_SUFFIX), 3);
    object_free(&o);
}

/* Without a folder objects end with the store. */
TEST_WITH(in_memory, begin, NULL)
{
    struct objects *s;
    struct err err;
    assert_int_equal(objects_open(&s, "", &limits, &err), 0);
    assert_int_equal(add(s, "lab", "mug", 1, &err), 0);
    assert_true(holds(s, "lab", "mug", 1));
    assert_int_equal(objects_remove(s, "lab", "mug", &err), 0);
    objects_close(&s);
}

/* ------------------------------------------------------------------------- what goes wrong */

/* Each call that an enrolment makes fails, in each way. It fails as a whole or succeeds, the object
 * that was there before stays, and nothing is left behind. */
TEST_WITH(disk_fails, begin, NULL)
{
    struct objects *s = open_store();
    struct err err;
    int failures = 0;
    assert_int_equal(add(s, "lab", "old", 7, &err), 0);
    for (int how = 0; how < FAULT_HOWS; how++)
        for (long n = 1;; n++) {
            long hits;
            int rc;
            fault_io_arm(n, (enum fault_io_how)how, false);
            rc = add(s, "lab", "new", 8, &err);
            hits = fault_io_disarm();
            failures += rc != 0;
            if (rc)
                assert_true(rc == ERR_IO && err.text[0] && count(s) == 1);
            else
                assert_int_equal(objects_remove(s, "lab", "new", &err), 0);
            assert_true(files(OBJECTS_FILE_SUFFIX) == 1 && files(OBJECTS_FILE_PART) == 0);
            objects_close(&s);
            s = open_store();
            assert_true(holds(s, "lab", "old", 7) && count(s) == 1);
            if (hits == 0)
                break;
            assert_true(n < 50);
        }
    assert_true(failures >= 8);
    objects_close(&s);
}

/* A file that cannot be removed: the object stays, in memory and on the disk. */
TEST_WITH(removal_fails, begin, NULL)
{
    struct objects *s = open_store();
    struct err err;
    assert_int_equal(add(s, "lab", "mug", 1, &err), 0);
    fault_io_arm(1, FAULT_EIO, false);
    assert_int_equal(objects_remove(s, "lab", "mug", &err), ERR_IO);
    assert_int_equal(fault_io_disarm(), 1);
    assert_true(holds(s, "lab", "mug", 1));
    objects_close(&s);
    s = open_store();
    assert_true(holds(s, "lab", "mug", 1));
    objects_close(&s);
}

/* The process died between write and rename: what it left is no object, and is gone. */
TEST_WITH(died_before_rename, begin, NULL)
{
    static uint8_t bytes[65536];
    struct objects *s = open_store();
    struct err err;
    size_t n;
    assert_int_equal(add(s, "lab", "mug", 1, &err), 0);
    n = read_file("lab@mug.object", bytes, sizeof bytes);
    objects_close(&s);
    write_file("lab@can.part", bytes, n / 2);
    write_file("lab@mug.part", bytes, n);
    s = open_store();
    assert_true(count(s) == 1 && holds(s, "lab", "mug", 1) && files(OBJECTS_FILE_PART) == 0);
    assert_int_equal(add(s, "lab", "can", 2, &err), 0);
    objects_close(&s);
}

/* Opens the store beside a file that it must refuse: it is aside with all its bytes, and its name
 * is free. */
static void expect_aside(const char *name, const uint8_t *bytes, size_t n, const char *aside)
{
    static uint8_t kept[65536];
    struct objects *s;

    write_file(name, bytes, n);
    s = open_store();
    assert_int_equal(count(s), 0);
    assert_int_equal(read_file(aside, kept, sizeof kept), n);
    assert_memory_equal(kept, bytes, n);
    assert_int_equal(files(OBJECTS_FILE_SUFFIX), 0);
    objects_close(&s);
}

TEST_WITH(refused_files, begin, NULL)
{
    static uint8_t bytes[65536], spoilt[65536];
    struct objects *s = open_store();
    char aside[64];
    struct err err;
    size_t n;
    int i = 1;
    assert_int_equal(add(s, "lab", "mug", 1, &err), 0);
    n = read_file("lab@mug.object", bytes, sizeof bytes);
    assert_int_equal(objects_remove(s, "lab", "mug", &err), 0);
    objects_close(&s);

    memcpy(spoilt, bytes, n);
    spoilt[VERSION_AT]++; /* another build's */
    expect_aside("lab@mug.object", spoilt, n, "lab@mug.object.aside");
    for (size_t at = 0; at < n; at += at < 64 ? 1 : 97) { /* one bit of it is wrong */
        memcpy(spoilt, bytes, n);
        spoilt[at] ^= 0x10;
        snprintf(aside, sizeof aside, "lab@mug.object.aside%d", ++i);
        expect_aside("lab@mug.object", spoilt, n, aside);
    }
    for (size_t len = 0; len < n; len += 1 + len / 3) { /* it is cut */
        snprintf(aside, sizeof aside, "lab@mug.object.aside%d", ++i);
        expect_aside("lab@mug.object", bytes, len, aside);
    }
    /* it is whole, but under another's name */
    expect_aside("lab@can.object", bytes, n, "lab@can.object.aside");
    expect_aside("home@mug.object", bytes, n, "home@mug.object.aside");
    expect_aside("mug.object", bytes, n, "mug.object.aside");

    write_file("lab@mug.object", bytes, n); /* brought back, it is found again */
    s = open_store();
    assert_true(holds(s, "lab", "mug", 1));
    objects_close(&s);
}

/* What is no file is in the way of nothing but its own name. */
TEST_WITH(a_folder_in_the_way, begin, NULL)
{
    char path[SCRATCH_CAP + 32];
    struct objects *s;
    struct err err;
    snprintf(path, sizeof path, "%s/lab@mug.object", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    s = open_store();
    assert_int_equal(count(s), 0);
    assert_int_equal(add(s, "lab", "can", 1, &err), 0);
    objects_close(&s);
}

/* A folder that other users may write in is refused, as that of the journals is. */
TEST_WITH(open_to_others, begin, NULL)
{
    struct objects *s;
    struct err err;
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(objects_open(&s, folder, &limits, &err), ERR_INPUT);
    assert_null(s);
}
