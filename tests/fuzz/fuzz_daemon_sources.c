/*
 * fuzz_daemon_sources.c - a stranger's bytes as the sources of a session
 *
 * What is refused harms nothing. What is taken is within all bounds: frames of each source are
 * taken and end, verdicts are found, and saving it gives bytes that are taken again and saved the
 * same way.
 */
#include "daemon/session/sources.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(int ok)
{
    if (!ok)
        abort();
}

static struct sources *fresh(void)
{
    struct sources *s;

    need(sources_new(&s, NULL) == 0);
    return s;
}

/* Saved, loaded, saved: the same bytes. */
static void there_and_back(const struct sources *s)
{
    size_t cap = sources_state_bytes(), len, again_len;
    uint8_t *once = malloc(cap), *twice = malloc(cap);
    struct sources *back = fresh();

    need(once && twice);
    need(sources_save(s, once, cap, &len, NULL) == 0 && len <= cap);
    need(sources_load(back, once, len, NULL) == 0);
    need(sources_save(back, twice, cap, &again_len, NULL) == 0);
    need(again_len == len && memcmp(once, twice, len) == 0);
    sources_free(&back);
    free(once);
    free(twice);
}

static void feed(struct sources *s, int source)
{
    struct control_ack ack = {.seq = 7, .status = CONTROL_USED, .placed = true}, told;
    struct sources_submap world = {.submap = GPU_SUBMAPS_MAX};
    enum control_reason reason = sources_take(s, source, ack.seq, 3, SOURCES_ON, &world);

    if (reason == CONTROL_REASON_NONE) {
        need(world.submap < GPU_SUBMAPS_MAX);
        sources_end(s, source, 1, &ack);
        need(sources_verdict(s, source, ack.seq, 1, &told) && told.status == CONTROL_USED);
        need(sources_take(s, source, ack.seq, 3, SOURCES_ON, &world) == CONTROL_DUPLICATE);
    }
    need(reason == CONTROL_REASON_NONE || reason == CONTROL_DUPLICATE || reason == CONTROL_WORLDS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct api_source info[API_SOURCES_MAX];
    struct sources *s = fresh();
    struct err err = {0};
    int rc = sources_load(s, data, size, &err);

    if (rc) {
        need(rc == ERR_INPUT && err.code == rc && err.text[0]);
    } else {
        there_and_back(s);
        (void)sources_info(s, info);
        for (int i = 0; i < API_SOURCES_MAX; i++) {
            need(info[i].name[0] == '\0' || control_source_valid(info[i].name));
            if (info[i].name[0])
                feed(s, i);
        }
        there_and_back(s);
    }
    sources_free(&s);
    return 0;
}
