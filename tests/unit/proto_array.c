/* Arrays grow by half, keep what they hold, and stay as they were where there is no memory. */
#include "proto/array.h"
#include "tests/support/fault_malloc.h"
#include "tests/support/unit.h"

#include <stdlib.h>

TEST(appending_moves_little)
{
    uint32_t *list = NULL;
    size_t cap = 0, moved = 0;

    for (uint32_t i = 0; i < 100000; i++) {
        size_t had = cap;
        assert_int_equal(array_grow(&list, &cap, i + 1u, sizeof *list), 0);
        assert_true(cap > i);
        moved += cap != had ? i : 0;
        list[i] = i;
    }
    for (uint32_t i = 0; i < 100000; i++)
        assert_int_equal(list[i], i);
    assert_true(moved < 300000);
    assert_true(cap <= 150100);
    free(list);
}

TEST(enough_room_changes_nothing)
{
    double *list = NULL, *was;
    size_t cap = 0;

    assert_int_equal(array_grow(&list, &cap, 1000, sizeof *list), 0);
    assert_int_equal(cap, 1000);
    was = list;
    assert_int_equal(array_grow(&list, &cap, 1000, sizeof *list), 0);
    assert_ptr_equal(list, was);
    assert_int_equal(cap, 1000);
    free(list);
}

TEST(too_much_is_an_error)
{
    uint64_t *list = NULL;
    size_t cap = 0;

    assert_int_equal(array_grow(&list, &cap, 3, sizeof *list), 0);
    list[2] = 7;
    assert_int_equal(array_grow(&list, &cap, SIZE_MAX / 8 + 1, sizeof *list), ERR_MEMORY);
    atomic_store(&fault_malloc_fail, 1);
    assert_int_equal(array_grow(&list, &cap, 1000, sizeof *list), ERR_MEMORY);
    assert_int_equal(list[2], 7);
    assert_true(cap >= 3 && cap < 100);
    free(list);
}
