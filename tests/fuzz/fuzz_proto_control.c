/*
 * fuzz_proto_control.c - a stranger's text as a control message
 *
 * Never crashes; what is taken can be written, and what is written is taken again and written the
 * same way.
 */
#include "proto/wire/control.h"
#include "proto/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int ok)
{
    if (!ok)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char once[2 * CONTROL_TEXT_MAX], twice[2 * CONTROL_TEXT_MAX];
    struct control_message m, back;
    struct err err = {0};
    size_t len;
    int rc;

    memset(&m, 0, sizeof m);
    rc = control_parse(&m, (const char *)data, size, &err);
    if (rc) {
        need(rc == ERR_INPUT || rc == ERR_LIMIT || rc == ERR_UNSUPPORTED);
        need(err.code == rc && err.text[0] && strlen(err.where) < sizeof err.where);
        return 0;
    }
    need(size <= CONTROL_TEXT_MAX && json_utf8((const char *)data, size));
    len = control_write(once, sizeof once, &m);
    need(len > 0 && json_utf8(once, len));
    if (len > CONTROL_TEXT_MAX) /* escapes may lengthen a text: such a one is not for the wire */
        return 0;
    memset(&back, 0, sizeof back);
    need(control_parse(&back, once, len, &err) == 0 && back.op == m.op);
    if (m.op == CONTROL_CAMERA) { /* the last bits of its rotation may move */
        need(back.camera.id == m.camera.id && back.camera.width == m.camera.width);
        return 0;
    }
    need(control_write(twice, sizeof twice, &back) == len && memcmp(once, twice, len) == 0);
    return 0;
}
