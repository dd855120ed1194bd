/* Arrays grow by half, keep what they hold, and stay as they were where there is no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "proto/array.h"
#include "tests/support/fault_malloc.h"

#include <stdlib.h>

static void appending_moves_little(void **state)
{
    uint32_t *list = NULL;
    size_t cap = 0, moved = 0;

    (void)state;
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

static void enough_room_changes_nothing(void **state)
{
    double *list = NULL, *was;
    size_t cap = 0;

    (void)state;
    assert_int_equal(array_grow(&list, &cap, 1000, sizeof *list), 0);
    assert_int_equal(cap, 1000);
    was = list;
    assert_int_equal(array_grow(&list, &cap, 1000, sizeof *list), 0);
    assert_ptr_equal(list, was);
    assert_int_equal(cap, 1000);
    free(list);
}

static void too_much_is_an_error(void **state)
{
    uint64_t *list = NULL;
    size_t cap = 0;

    (void)state;
    assert_int_equal(array_grow(&list, &cap, 3, sizeof *list), 0);
    list[2] = 7;
    assert_int_equal(array_grow(&list, &cap, SIZE_MAX / 8 + 1, sizeof *list), ERR_MEMORY);
    atomic_store(&fault_malloc_fail, 1);
    assert_int_equal(array_grow(&list, &cap, 1000, sizeof *list), ERR_MEMORY);
    assert_int_equal(list[2], 7);
    assert_true(cap >= 3 && cap < 100);
    free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(appending_moves_little),
        cmocka_unit_test(enough_room_changes_nothing),
        cmocka_unit_test(too_much_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
