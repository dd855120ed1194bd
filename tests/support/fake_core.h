/*
 * fake_core.h - a core without computation, for tests of the edges: sessions are rows of a table
 *
 * Streams answer every frame with an `ack`, and send what the test asks for. Everything that an
 * edge asked is counted. Thread-safe behind one mutex.
 */
#pragma once

#include "api/api.h"

#include <stdatomic.h>

#define FAKE_CORE_CLOUD_BYTES 300000 /* of an export: byte i is (uint8_t)(i * 31 >> 3) */
#define FAKE_CORE_HASH 0x0123456789abcdefu
#define FAKE_CORE_POSES 1000
#define FAKE_CORE_ELSEWHERE 150 /* poses behind them, of a world without a place */

struct fake_core;

struct fake_core *fake_core_new(int max_sessions);
void fake_core_free(struct fake_core **c);
const struct core_ops *fake_core_ops(void);
struct core *fake_core_core(struct fake_core *c);
/* Where stream wake-ups go; wake is called without the lock. */
void fake_core_set_wake(struct fake_core *c, void (*wake)(void *edge, void *cookie), void *edge);

struct fake_core_counts {
    int sessions, streams;        /* now */
    int created, deleted, frames; /* ever */
    int exports_open;
    uint64_t frame_bytes;
};
struct fake_core_counts fake_core_counts(struct fake_core *c);

void fake_core_set_state(struct fake_core *c, const char *id, enum session_state state);
void fake_core_set_health(struct fake_core *c, enum api_health health);
/* Every frame, of any core, is answered as one that came so much too early. */
extern atomic_ullong fake_core_ahead_us;
/* From now on tokens_keep() fails. */
void fake_core_lose_tokens(struct fake_core *c);
/* Every stream of the session gets n binary messages of `bytes` bytes, the first byte of each
 * DELTA_PUT. */
void fake_core_send(struct fake_core *c, const char *id, int n, size_t bytes);
/* The making of those from number `from` on, counted from 1, waits until `from` is 0. */
void fake_core_hold(struct fake_core *c, int from);
/* Every stream of the session says bye and ends. */
void fake_core_bye(struct fake_core *c, const char *id);
