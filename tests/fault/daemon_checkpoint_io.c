/*
 * The k-th write, fsync, open, rename or unlink of a checkpoint fails, or writes less than it was
 * given, for every k, once and for ever. Whatever happens, done() comes once with the truth: after
 * a success the new one is whole, and before or after it the newest whole one is one that was
 * written, with nothing in it changed.
 */
#include "tests/support/fault_io.h"

#include "tests/support/checkpoint_rig.h"
#include "tests/support/unit.h"

static const size_t sizes[CHECKPOINT_RIG_PARTS] = {100, 1u << 20, 300000, 0};

/* The newest whole one, loaded and compared; 0 = there is none. */
static uint64_t newest(const struct checkpoint_rig *r)
{
    struct checkpoint_state s;
    int rc = checkpoint_rig_load(r, &s, UINT64_MAX);
    uint64_t number;

    if (rc == ERR_NOT_FOUND) {
        assert_int_equal(s.skipped, 0); /* half a file is not under its name */
        return 0;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(s.skipped, 0);
    assert_true(checkpoint_rig_right(&s, sizes));
    number = s.number;
    checkpoint_state_free(&s);
    return number;
}

/* Two checkpoints stand; a third one meets the fault. Returns how many calls failed; *told: it was
 * not what done() was told. */
static long write_third(long k, enum fault_io_how how, bool ever, bool *told)
{
    struct checkpoint_rig r;
    struct checkpoint_state s;
    uint64_t found;
    long n;
    int rc;

    assert_true(checkpoint_rig_open(&r));
    assert_int_equal(checkpoint_rig_write(&r, 10, sizes), 0);
    assert_int_equal(checkpoint_rig_write(&r, 20, sizes), 0);
    r.n_done = 0;
    fault_io_arm(k, how, ever);
    rc = checkpoint_rig_write(&r, 30, sizes);
    n = fault_io_disarm();
    assert_int_equal(r.n_done, 1);
    assert_int_equal(r.number, 30);
    assert_true(rc == 0 || rc == ERR_IO);
    assert_true(n || rc == 0);
    *told = rc != 0;
    found = newest(&r);
    if (rc == 0) {
        assert_int_equal(found, 30);
        assert_true(r.older == 20 || r.older == 0);
    } else { /* it may be there, whole, but nothing relies on it */
        assert_true(found == 20 || found == 30);
        assert_int_equal(r.older, 0);
    }
    /* the one before is there in any case: what the journal was told still holds */
    assert_int_equal(checkpoint_rig_load(&r, &s, 20), 0);
    assert_int_equal(s.number, 20);
    checkpoint_state_free(&s);
    if (how == FAULT_SHORT)
        assert_int_equal(rc, 0); /* what is missing is written */
    /* and the disk works again */
    assert_int_equal(checkpoint_rig_write(&r, 40, sizes), 0);
    assert_true(r.older == (rc == 0 ? 30u : found));
    assert_int_equal(newest(&r), 40);
    assert_false(checkpoint_rig_has(&r, 30, ".part"));
    checkpoint_rig_close(&r);
    return n;
}

/* The session's folder, a look at it, the new file, its parts and its header, fsync of the file,
 * its name, fsync of the folder: until then each failure has to be told. Then two looks at the
 * folder and one at the older file, one at the oldest file, its end, a last look: nothing is
 * lost. */
#define UNTIL_SAFE (3 + CHECKPOINT_RIG_PARTS + 1 + 3)
#define AFTERWARDS 6

static void sweep(enum fault_io_how how, bool ever)
{
    bool told[1000] = {false};
    long k = 0;

    do
        k++;
    while (write_third(k, how, ever, &told[k]) && k < 999);
    print_message("# %ld calls, each failed %s\n", k - 1, ever ? "with all after it" : "alone");
    assert_int_equal(k - 1,
                     how >= FAULT_SHORT ? CHECKPOINT_RIG_PARTS + 1 : UNTIL_SAFE + AFTERWARDS);
    for (long i = 1; i < k && how < FAULT_SHORT; i++)
        assert_int_equal(told[i], i <= UNTIL_SAFE);
}

TEST(one_call_fails)
{
    sweep(FAULT_EIO, false);
    sweep(FAULT_ENOSPC, false);
}

TEST(all_fail_from_one_on)
{
    sweep(FAULT_EIO, true);
    sweep(FAULT_ENOSPC, true);
}

TEST(writes_are_short)
{
    sweep(FAULT_SHORT, false);
    sweep(FAULT_SHORT, true);
    sweep(FAULT_SHORT_THEN_FULL, false);
}
