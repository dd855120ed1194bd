/*
 * fuzz_daemon_tracked_objects.c - a stranger's bytes as what a session has recognised
 *
 * What is refused harms nothing and leaves nothing. What is taken is within all bounds: it is saved
 * and taken again the same way, all of it can be told, and pictures change it as they would
 * another.
 */
#include "daemon/session/tracked_objects_due.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int ok)
{
    if (!ok)
        abort();
}

static void there_and_back(const struct tracked_objects *s)
{
    size_t n = tracked_objects_bytes(s);
    struct tracked_objects *back = malloc(sizeof(*back));
    uint8_t *once = malloc(n), *twice = malloc(n);
    struct bytes_writer w = bytes_writer(once, n);
    struct bytes_reader r;

    need(back && once && twice);
    tracked_objects_put(&w, s);
    need(!w.bad && w.at == n);
    r = bytes_reader(once, n);
    need(tracked_objects_get(back, &r, NULL) == 0);
    w = bytes_writer(twice, n);
    tracked_objects_put(&w, back);
    need(!w.bad && w.at == n && memcmp(once, twice, n) == 0);
    free(back);
    free(once);
    free(twice);
}

/* Every thing fits a message, and is read as it was written. */
static void tell(const struct tracked_objects *s)
{
    struct control_message m = {.op = CONTROL_OBJECTS}, back;
    char text[CONTROL_TEXT_MAX];
    struct tracked_objects_due due = {0};
    int told = 0;

    need(tracked_objects_due_note(&due, s->at, s->n == 64 ? UINT64_MAX : (1ull << s->n) - 1));
    while (tracked_objects_due_next(&due, &m.objects)) {
        size_t len = control_write(text, sizeof(text), &m);
        int rc = len ? control_parse(&back, text, len, NULL) : ERR_LIMIT;

        /* A stranger's names may need more room than there is, and his numbers be out of range. */
        need(rc == 0 || rc == ERR_INPUT || rc == ERR_LIMIT);
        need(rc || back.objects.n == m.objects.n);
        told += m.objects.n;
    }
    need(told == s->n);
    tracked_objects_due_free(&due);
}

static enum tracked_objects_visibility view(void *ctx, const char *object, const struct rigid *T_wo)
{
    (void)object;
    (void)T_wo;
    return (enum tracked_objects_visibility)((*(unsigned *)ctx)++ % 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tracked_objects *s = malloc(sizeof(*s));
    struct tracked_objects_detection sight[2] = {{.object = "a", .class_name = ""},
                                                 {.object = "b", .class_name = "c"}};
    unsigned turn = 0;
    struct tracked_objects_search search = {
        .seq = 9, .n = 2, .at = sight, .view = view, .ctx = &turn};
    struct bytes_reader r = bytes_reader(data, size);
    struct err err = {0};
    int rc;

    need(s != NULL);
    rc = tracked_objects_get(s, &r, &err);
    if (rc) {
        need(rc == ERR_INPUT && err.text[0] && s->n == 0 && s->n_history == 0);
    } else {
        there_and_back(s);
        tell(s);
        for (int i = 0; i < 3; i++) {
            sight[0].T_wo = sight[1].T_wo = rigid_identity();
            sight[0].T_wo.t[0] = (float)i;
            (void)tracked_objects_update(s, &search);
            need(s->n <= TRACKED_OBJECTS_MAX);
            for (int k = 0; k < s->n; k++)
                need(s->at[k].id > 0 && s->at[k].id <= s->last_id);
        }
        there_and_back(s);
    }
    free(s);
    return 0;
}
