/* control_case.h - control messages there and back, and what is refused */
#ifndef RECOND_TESTS_CONTROL_CASE_H
#define RECOND_TESTS_CONTROL_CASE_H

#include "proto/wire/refusal.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline int parse(struct control_message *m, const char *text, struct err *err)
{
    return control_parse(m, text, strlen(text), err);
}

static inline void expect_wrong(const char *text, const char *pointer)
{
    struct control_message m = {.op = CONTROL_BYE};
    struct err err = {0};

    if (parse(&m, text, &err) != ERR_INPUT || strcmp(err.where, pointer) != 0)
        fail_msg("%s: \"%s\" %s", text, err.where, err.text);
    assert_int_equal(m.op, CONTROL_BYE); /* untouched */
}

static inline void there_and_back(const struct control_message *m, const char *text)
{
    char buf[CONTROL_TEXT_MAX], again[CONTROL_TEXT_MAX];
    struct control_message back;
    struct err err = {0};
    size_t len = control_write(buf, sizeof buf, m);

    assert_string_equal(buf, text);
    assert_int_equal(len, strlen(text));
    if (parse(&back, text, &err))
        fail_msg("%s: %s", text, err.text);
    assert_int_equal(back.op, m->op);
    assert_int_equal(control_write(again, sizeof again, &back), len);
    assert_string_equal(again, text);
    for (size_t cap = 0; cap <= len; cap++)
        assert_int_equal(control_write(buf, cap, m), 0);
}

#endif
