/* Planes, codecs and block messages: hand-made bytes, random round trips, hostile streams. */
#include <stdlib.h>
#include <string.h>

#include "proto/wire/codec.h"
#include "proto/cloud/cloud.h"
#include "proto/wire/delta.h"
#include "proto/wire/planes.h"
#include "tests/support/unit.h"

#define MANY 5000u

static uint32_t seed = 1;

static uint32_t rnd(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)seed * below) >> 32);
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void random_keys(uint64_t *keys, uint32_t n, uint32_t spread)
{
    for (uint32_t i = 0; i < n; i++)
        keys[i] = (uint64_t)rnd(spread) << KEY_MORTON_AT | (uint64_t)rnd(4096) << KEY_NORMAL_AT |
                  rnd(1u << 22);
    qsort(keys, n, sizeof *keys, by_key);
}

static struct delta_scratch *scratch(void)
{
    struct delta_scratch *s;

    assert_int_equal(delta_scratch_new(&s, NULL), 0);
    return s;
}

/* ------------------------------------------------------------------------- planes */

TEST(planes_by_hand)
{
    const uint32_t removed[2] = {3, 0x01020305};
    const uint64_t added[2] = {1ull << 34 | 40ull << 28 | 33 << 22 | 5 << 16 | 6 << 10 | 7 << 4 | 8,
                               0x02030406ull << 34 | 38ull << 28 | 32 << 22 | 0 << 16 | 63 << 10 |
                                   1 << 4 | 1};
    const uint8_t want[28] = {3,    2,   0, 3, 0, 2, 0, 1, /* 3, 0x01020302 */
                              1,    5,   0, 4, 0, 3, 0, 2, /* 1, 0x02030405 */
                              1,    11,                    /* the low bits of du = 40, -2 and dv */
                              6,    57,                    /* g: 6, 63 - 6 */
                              63,   2,                     /* d: 5-6 = -1, 0-63 = 1: +2 */
                              1,    1,                     /* e: 7-6 = 1, 1-63 = 2: +1 */
                              8,    9,                     /* confidence: 1 - 8 */
                              0xa8, 0xff};                 /* the high bits of du and dv = 33, -1 */
    uint8_t out[28];
    uint32_t r[2];
    uint64_t a[2];

    assert_int_equal(planes_bytes(2, 2), 28);
    planes_split(out, removed, 2, added, 2);
    assert_memory_equal(out, want, 28);
    assert_int_equal(planes_join(out, r, 2, a, 2, NULL), 0);
    assert_memory_equal(r, removed, sizeof r);
    assert_memory_equal(a, added, sizeof a);
}

TEST(planes_must_ascend)
{
    uint8_t in[20] = {0};
    uint32_t r[2];
    uint64_t a[2];

    in[0] = 5; /* 5, then 5 again: twice the same point removed */
    assert_int_equal(planes_join(in, r, 2, a, 0, NULL), ERR_INPUT);
    in[1] = 1;
    assert_int_equal(planes_join(in, r, 2, a, 0, NULL), 0);
    in[6] = in[7] = 0xff; /* 0xff000005 + 0xff000001 */
    assert_int_equal(planes_join(in, r, 2, a, 0, NULL), ERR_INPUT);
    memset(in, 0, sizeof in);
    in[6] = 0x40; /* Morton code 2^30 */
    assert_int_equal(planes_join(in, r, 0, a, 2, NULL), ERR_INPUT);
    in[6] = 0x3f;
    assert_int_equal(planes_join(in, r, 0, a, 2, NULL), 0);
    /* equal keys may repeat, but the same place with a lower confidence behind may not */
    in[14] = 2;
    in[15] = 0;
    assert_int_equal(planes_join(in, r, 0, a, 2, NULL), 0);
    in[15] = 0xff;
    assert_int_equal(planes_join(in, r, 0, a, 2, NULL), ERR_INPUT);
}

/* ------------------------------------------------------------------------- codecs */

TEST(codec_bounds_its_output)
{
    const size_t part = 65536;
    uint8_t *plain = calloc(1, part), *packed, *out = malloc(part + 16);
    struct codec *c;

    assert_int_equal(codec_new(&c, NULL), 0);
    for (int kind = CODEC_RAW; kind < CODEC_KINDS; kind++) {
        size_t cap = codec_bound((enum codec_kind)kind, part, 1), len;

        packed = malloc(cap + 1);
        assert_int_equal(
            codec_pack(c, (enum codec_kind)kind, packed, cap, &len, plain, &part, 1, NULL), 0);
        assert_true(kind == CODEC_RAW ? len == part : len < 200); /* a bomb: 64 KiB of zeros */
        memset(out, 0xa5, part + 16);
        assert_int_equal(codec_unpack(c, (enum codec_kind)kind, out, part, packed, len, NULL), 0);
        assert_memory_equal(out, plain, part);
        /* told a smaller size: refused, in bounds */
        for (size_t less = 1; less < part; less *= 7) {
            memset(out, 0xa5, part + 16);
            assert_int_equal(codec_unpack(c, (enum codec_kind)kind, out, less, packed, len, NULL),
                             ERR_INPUT);
            assert_int_equal(out[less], 0xa5);
        }
        assert_int_equal(codec_unpack(c, (enum codec_kind)kind, out, part + 1, packed, len, NULL),
                         ERR_INPUT);
        packed[len] = 0; /* a byte behind the stream */
        assert_int_equal(codec_unpack(c, (enum codec_kind)kind, out, part, packed, len + 1, NULL),
                         ERR_INPUT);
        assert_int_equal(codec_unpack(c, (enum codec_kind)kind, out, part, packed, len, NULL), 0);
        free(packed);
    }
    codec_free(&c);
    assert_null(c);
    free(plain);
    free(out);
}

/* Incompressible parts of awkward sizes fit the bound. */
TEST(codec_bound_is_one)
{
    size_t parts[12], total = 0;
    uint8_t *plain = malloc(12 * 40000);
    struct codec *c;

    assert_int_equal(codec_new(&c, NULL), 0);
    for (int round = 0; round < 20; round++) {
        total = 0;
        for (int i = 0; i < 12; i++)
            total += parts[i] = round < 2 ? (size_t)round : rnd(round % 2 ? 40000 : 20);
        for (size_t i = 0; i < total; i++)
            plain[i] = (uint8_t)rnd(256);
        for (int kind = CODEC_RAW; kind < CODEC_KINDS; kind++) {
            size_t cap = codec_bound((enum codec_kind)kind, total, 12), len;
            uint8_t *packed = malloc(cap + 1), *out = malloc(total + 1);

            assert_int_equal(
                codec_pack(c, (enum codec_kind)kind, packed, cap, &len, plain, parts, 12, NULL), 0);
            assert_int_equal(codec_unpack(c, (enum codec_kind)kind, out, total, packed, len, NULL),
                             0);
            assert_memory_equal(out, plain, total);
            free(packed);
            free(out);
        }
    }
    codec_free(&c);
    free(plain);
}

TEST(two_zstd_frames_are_one_too_many)
{
    /* an empty frame without content size, twice; and a skippable frame before nothing */
    const uint8_t twice[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0,
                             0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0};
    const uint8_t skip[] = {0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0, 0x28,
                            0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0};
    uint8_t out[4];
    struct codec *c;

    assert_int_equal(codec_new(&c, NULL), 0);
    assert_int_equal(codec_unpack(c, CODEC_ZSTD, out, 0, twice, 9, NULL), 0);
    assert_int_equal(codec_unpack(c, CODEC_ZSTD, out, 0, twice, 18, NULL), ERR_INPUT);
    assert_int_equal(codec_unpack(c, CODEC_ZSTD, out, 0, skip, sizeof skip, NULL), ERR_INPUT);
    codec_free(&c);
}

TEST(codec_names)
{
    enum codec_kind codec;

    for (int i = 0; i < CODEC_WIRE_KINDS; i++) {
        assert_int_equal(codec_parse(codec_name((enum codec_kind)i), &codec, NULL), 0);
        assert_int_equal(codec, i);
    }
    assert_string_equal(codec_name(CODEC_DEFLATE), "deflate-raw");
    assert_int_equal(codec_parse("gzip", &codec, NULL), ERR_INPUT);
    assert_int_equal(codec_parse("", &codec, NULL), ERR_INPUT);
    assert_int_equal(codec_parse("zstd", &codec, NULL), ERR_INPUT); /* not on the wire */
}

/* ------------------------------------------------------------------------- messages */

TEST(random_messages_survive)
{
    struct delta_scratch *out = scratch(), *in = scratch();
    uint64_t *keys = malloc(MANY * sizeof *keys);
    uint32_t *removed = malloc(MANY * sizeof *removed);

    for (int round = 0; round < 300; round++) {
        uint32_t n = rnd(round % 3 ? 40 : MANY), n_removed = round % 2 ? rnd(n + 1) : 0;
        struct delta d = {.op = n_removed ? DELTA_PATCH : DELTA_PUT,
                          .codec = (enum codec_kind)(round / 3 % CODEC_WIRE_KINDS),
                          .epoch = rnd(9),
                          .revision = 10ull + rnd(1000),
                          .name = {rnd(3), (int32_t)rnd(9) - 4, KEY_BLOCK_MIN, KEY_BLOCK_MAX},
                          .n_points = n,
                          .n_added = n,
                          .added = keys,
                          .n_removed = n_removed,
                          .removed = removed};
        struct delta e;
        const uint8_t *msg;
        size_t len;

        d.base_revision = n_removed ? d.revision - 1 : 0;
        random_keys(keys, n, round % 5 ? 1u << 30 : 3);
        for (uint32_t i = 0, at = 0; i < n_removed; i++)
            at = (removed[i] = at + (i ? 1 : 0) + rnd(100));
        assert_int_equal(delta_encode(out, &d, &msg, &len, NULL), 0);
        assert_true(len <= 56 + planes_bytes(n_removed, n));
        assert_int_equal(delta_decode(in, &e, msg, len, NULL), 0);
        assert_int_equal(e.op, d.op);
        assert_int_equal(e.epoch, d.epoch);
        assert_int_equal(e.revision, d.revision);
        assert_int_equal(e.base_revision, d.base_revision);
        assert_memory_equal(&e.name, &d.name, sizeof d.name);
        assert_int_equal(e.n_points, n);
        assert_int_equal(e.n_added, n);
        assert_int_equal(e.n_removed, n_removed);
        assert_true(n == 0 || memcmp(e.added, keys, n * sizeof *keys) == 0);
        assert_true(n_removed == 0 || memcmp(e.removed, removed, n_removed * sizeof *removed) == 0);
    }
    free(keys);
    free(removed);
    delta_scratch_free(&out);
    delta_scratch_free(&in);
}

TEST(largest_block_fits_a_message)
{
    uint64_t *keys = malloc(DELTA_POINTS_MAX * sizeof *keys);
    struct delta d = {.op = DELTA_PUT,
                      .codec = CODEC_DEFLATE,
                      .revision = 1,
                      .n_points = DELTA_POINTS_MAX,
                      .n_added = DELTA_POINTS_MAX,
                      .added = keys},
                 e;
    struct delta_scratch *s = scratch(), *in = scratch();
    const uint8_t *msg;
    size_t len;

    for (uint32_t i = 0; i < DELTA_POINTS_MAX; i++)
        keys[i] = (uint64_t)(i * 1023u) << KEY_MORTON_AT | rnd(0xffffffff);
    assert_int_equal(delta_encode(s, &d, &msg, &len, NULL), 0);
    assert_true(len <= DELTA_MESSAGE_MAX);
    assert_int_equal(delta_decode(in, &e, msg, len, NULL), 0);
    assert_memory_equal(e.added, keys, DELTA_POINTS_MAX * sizeof *keys);
    d.n_points = d.n_added = DELTA_POINTS_MAX + 1;
    assert_int_equal(delta_encode(s, &d, &msg, &len, NULL), ERR_LIMIT);
    delta_scratch_free(&s);
    delta_scratch_free(&in);
    free(keys);
}

/* A sample message of 60 points in a writable copy; free() it. */
static uint8_t *sample(enum delta_op op, enum codec_kind codec, size_t *len)
{
    static uint64_t keys[60];
    static const uint32_t removed[4] = {1, 2, 30, 59};
    struct delta d = {.op = op,
                      .codec = codec,
                      .epoch = 1,
                      .revision = 20,
                      .id = 4,
                      .pose = {0, 0, 0, 1, 0, 0, 0},
                      .n_points = 60,
                      .n_added = 60,
                      .added = keys};
    struct delta_scratch *s = scratch();
    const uint8_t *msg;
    uint8_t *copy;

    for (uint32_t i = 0; i < 60; i++)
        keys[i] = (uint64_t)(i * 64) << KEY_MORTON_AT | 0x80808001;
    if (op == DELTA_PATCH) {
        d.base_revision = 10;
        d.removed = removed;
        d.n_removed = d.n_added = 4;
    }
    assert_int_equal(delta_encode(s, &d, &msg, len, NULL), 0);
    copy = malloc(*len);
    memcpy(copy, msg, *len);
    delta_scratch_free(&s);
    return copy;
}

TEST(each_lie_is_refused)
{
    static const struct {
        int at, value, code;
    } lies[] = {
        {0, 0x0f, ERR_INPUT},  {0, 0x16, ERR_INPUT},  /* opcode */
        {1, 2, ERR_INPUT},                            /* version */
        {2, 3, ERR_INPUT},                            /* codec */
        {2, 1, ERR_INPUT},     {2, 2, ERR_INPUT},     /* raw planes as another codec */
        {3, 1, ERR_INPUT},                            /* reserved */
        {23, 0x40, ERR_INPUT}, {27, 0x80, ERR_INPUT}, /* block beyond 2^21 */
        {32, 61, ERR_INPUT},                          /* n_points != n_added */
        {34, 0x20, ERR_LIMIT},                        /* n_points over the limit */
        {36, 1, ERR_INPUT},                           /* a put that removes */
        {40, 59, ERR_INPUT},   {43, 0xff, ERR_LIMIT}, /* n_added */
        {44, 1, ERR_INPUT},                           /* a put with a base */
        {52, 0, ERR_INPUT},    {55, 0x7f, ERR_INPUT}, /* plain_len */
    };
    struct delta_scratch *s = scratch();
    uint8_t *msg;
    struct delta d;
    size_t len;

    msg = sample(DELTA_PUT, CODEC_RAW, &len);
    assert_int_equal(len, 56 + 600);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        uint8_t was = msg[lies[i].at];

        msg[lies[i].at] = (uint8_t)lies[i].value;
        assert_int_equal(delta_decode(s, &d, msg, len, NULL), lies[i].code);
        msg[lies[i].at] = was;
    }
    assert_int_equal(delta_decode(s, &d, msg, len, NULL), 0);
    free(msg);
    msg = sample(DELTA_PATCH, CODEC_RAW, &len);
    msg[44] = 20; /* base = revision */
    assert_int_equal(delta_decode(s, &d, msg, len, NULL), ERR_INPUT);
    msg[44] = 10;
    msg[32] = 3; /* fewer points than were added */
    assert_int_equal(delta_decode(s, &d, msg, len, NULL), ERR_INPUT);
    free(msg);
    delta_scratch_free(&s);
}

TEST(oversized_message_is_not_read)
{
    uint8_t *big = calloc(1, DELTA_MESSAGE_MAX + 1);
    struct delta_scratch *s = scratch();
    struct delta d;

    big[0] = DELTA_CLEAR;
    big[1] = DELTA_VERSION;
    assert_int_equal(delta_decode(s, &d, big, DELTA_MESSAGE_MAX + 1, NULL), ERR_LIMIT);
    assert_int_equal(delta_decode(s, &d, big, DELTA_MESSAGE_MAX, NULL), ERR_INPUT);
    assert_int_equal(delta_decode(s, &d, big, 16, NULL), 0);
    free(big);
    delta_scratch_free(&s);
}

/* What a mirror holds before the sample messages come: 60 points at revision 10. */
static struct cloud *mirror(void)
{
    struct cloud_limits limits = {.max_blocks = 4, .max_points = 1000};
    struct cloud *c;
    uint8_t *msg;
    size_t len;

    assert_int_equal(cloud_new(&c, &limits, NULL), 0);
    msg = sample(DELTA_PUT, CODEC_RAW, &len);
    msg[8] = 10;
    assert_int_equal(cloud_apply(c, msg, len, NULL), 0);
    free(msg);
    return c;
}

/* A damaged message changes everything that it says, or nothing. */
static void try_damaged(struct cloud **c, const uint8_t *msg, size_t len)
{
    uint64_t hash = cloud_hash(*c), points = cloud_points(*c), sum = 0;
    uint32_t blocks = cloud_blocks(*c);
    uint8_t *exact = malloc(len ? len : 1);

    memcpy(exact, msg, len);
    if (cloud_apply(*c, exact, len, NULL)) {
        assert_int_equal(cloud_hash(*c), hash);
        assert_int_equal(cloud_points(*c), points);
        assert_int_equal(cloud_blocks(*c), blocks);
    } else {
        for (uint32_t i = 0; i < cloud_blocks(*c); i++) {
            struct cloud_block b = cloud_block(*c, i);

            for (uint32_t k = 1; k < b.n; k++)
                assert_true(b.keys[k - 1] <= b.keys[k]);
            sum += b.n;
        }
        assert_int_equal(sum, cloud_points(*c));
        cloud_free(c);
        *c = mirror();
    }
    free(exact);
}

/* Byte 3 of a submap transform: bit 0 says unplaced, the others nothing yet; no other message has
 * flags. */
TEST(only_submaps_have_flags)
{
    static const enum delta_op ops[] = {DELTA_PUT,   DELTA_PATCH,  DELTA_DELETE,
                                        DELTA_CLEAR, DELTA_SUBMAP, DELTA_OBJECT};
    struct delta_scratch *s = scratch();

    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int flags = 0; flags < 256; flags++) {
            bool ok = flags == 0 || ops[i] == DELTA_SUBMAP;
            struct delta d;
            size_t len;
            uint8_t *msg = sample(ops[i], CODEC_RAW, &len);

            assert_int_equal(msg[3], 0);
            msg[3] = (uint8_t)flags;
            assert_int_equal(delta_decode(s, &d, msg, len, NULL), ok ? 0 : ERR_INPUT);
            assert_true(!ok || d.unplaced == (flags & 1));
            free(msg);
        }
    delta_scratch_free(&s);
}

TEST(every_length_and_every_bit)
{
    static const enum delta_op ops[] = {DELTA_PUT,   DELTA_PATCH,  DELTA_DELETE,
                                        DELTA_CLEAR, DELTA_SUBMAP, DELTA_OBJECT};
    struct cloud *c = mirror();

    for (int codec = CODEC_RAW; codec < CODEC_WIRE_KINDS; codec++) {
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
            size_t len;
            uint8_t *msg = sample(ops[i], (enum codec_kind)codec, &len);

            for (size_t cut = 0; cut < len; cut++) {
                uint64_t hash = cloud_hash(c);

                try_damaged(&c, msg, cut);
                assert_int_equal(cloud_hash(c), hash); /* no shorter one is a message */
            }
            for (size_t bit = 0; bit < 8 * len; bit++) {
                msg[bit / 8] ^= (uint8_t)(1 << bit % 8);
                try_damaged(&c, msg, len);
                msg[bit / 8] ^= (uint8_t)(1 << bit % 8);
            }
            assert_int_equal(cloud_apply(c, msg, len, NULL), 0);
            cloud_free(&c);
            c = mirror();
            free(msg);
        }
    }
    cloud_free(&c);
}
