#include "proto/wire/deflate.h"

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#define END 256
#define RUN_FIRST 257
#define RUN_LAST 285 /* symbol for a run of RUN_MAX bytes, without further bits */
#define RUN_MIN 3
#define RUN_MAX 258
#define WORD 8 /* bytes that are compared at once; shorter runs are ignored */
/* Four codes and the rest of the byte before fit 64 bits. A limit of 15 would save nothing that
 * counts. */
#define LITERAL_LENGTH_MAX 14

/* The head of a block with codes of its own: code lengths are written as symbols of a third
 * code. */
#define LENGTHS 19
#define LENGTHS_LENGTH_MAX 7
#define REPEAT 16     /* the length before, repeated 3 to 6 times */
#define ZEROS 17      /* 3 to 10 */
#define MANY_ZEROS 18 /* 11 to 138 */
/* if one symbol is used, a second one makes the code complete for every decoder */
#define DISTANCES 2
#define STORED_MAX 65535

/* Price of a code of its own when alternatives are weighed: a block's head, and each symbol in it.
 * The head has some 70 bits; the rest is the price of the time that a code takes. Of 70, 200, 400
 * and 800 (tests/bench/bench_proto_delta.c, the drawn room, desk, room) the last makes whole clouds
 * 0 to 0.7 % larger, the messages of clients that keep up 3 to 5 %, and encodes moving blocks of a
 * hundred points in half of the time. */
#define HEAD_BITS 800.0f
#define SYMBOL_BITS 3.0f
/* Bytes are stored if compression would save less than this share, because a copy is faster both
 * ways. */
#define STORE_SHARE 64

struct bits {
    uint64_t hold;
    unsigned n; /* bits in `hold`: below 8 between two calls */
    uint8_t *out;
};

/* The blocks' kinds, as they are written. */
enum { STORED, FIXED, OWN_CODES };

size_t deflate_bound(size_t n, size_t n_parts)
{
    /* room for stored blocks, of which each part may begin one, and for the word that is written at
     * once */
    return n + 5 * (n / STORED_MAX + n_parts + 1) + 2 * WORD;
}

/* ------------------------------------------------------------------------- bits */

/* Up to 56 bits between two of these. */
static void flush(struct bits *b)
{
    uint64_t word = htole64(b->hold);

    memcpy(b->out, &word, sizeof word);
    b->out += b->n >> 3;
    b->hold >>= b->n & ~7u;
    b->n &= 7;
}

static void deflate_put(struct bits *b, uint32_t value, unsigned n)
{
    b->hold |= (uint64_t)value << b->n;
    b->n += n;
}

static void put_code(struct bits *b, struct huffman_code c)
{
    deflate_put(b, c.bits, c.length);
}

static void align(struct bits *b)
{
    b->n = (b->n + 7) & ~7u;
    flush(b);
}

/* ------------------------------------------------------------------------- runs */

static uint64_t word_at(const uint8_t *p)
{
    uint64_t word;

    memcpy(&word, p, WORD);
    return word;
}

/* Returns how many bytes from p[i] on equal the byte before them; 0 if less than a word of them. */
static size_t run_length(const uint8_t *p, size_t i, size_t n)
{
    size_t from = i;

    if (i == 0 || n - i < WORD || word_at(p + i) != word_at(p + i - 1))
        return 0;
    for (i += WORD; n - i >= WORD && word_at(p + i) == word_at(p + i - 1);)
        i += WORD;
    while (i < n && p[i] == p[i - 1])
        i++;
    return i - from;
}

/* Returns how many of a run's bytes go into the next symbol. The rest never becomes a run too short
 * for a symbol. */
static unsigned next_piece(size_t left)
{
    if (left > RUN_MAX)
        return left - RUN_MAX < RUN_MIN ? RUN_MAX - RUN_MIN : RUN_MAX;
    return (unsigned)left;
}

/* The symbol of a run, and the bits that follow it. */
static int run_symbol(unsigned length, uint32_t *value, unsigned *n_bits)
{
    unsigned l = length - RUN_MIN;

    *n_bits = l < 8 || length == RUN_MAX ? 0 : 29 - (unsigned)__builtin_clz(l);
    *value = l & ((1u << *n_bits) - 1);
    if (length == RUN_MAX)
        return RUN_LAST;
    return l < 8 ? RUN_FIRST + (int)l : RUN_FIRST + (int)(4 * *n_bits + (l >> *n_bits));
}

/* Bytes from i on that are certainly literals, before a run is searched again. */
static size_t literals_to(size_t i, size_t n)
{
    size_t to = i ? i + WORD : 1;

    return to < n ? to : n;
}

/* Counts the symbols of a run. */
static void count_run(struct deflate *d, size_t run)
{
    uint32_t value;
    unsigned n_bits;

    for (; run; run -= next_piece(run)) {
        d->part[run_symbol(next_piece(run), &value, &n_bits)]++;
        d->part_n++;
        d->part_more += n_bits + 1; /* bits of the distance */
    }
}

/* Counts the symbols of a part. Returns the bits that follow its symbols. */
static unsigned deflate_count(struct deflate *d, const uint8_t *p, size_t n)
{
    uint64_t bits = 0;

    d->part_n = (uint32_t)n;
    d->part_more = 0;
    for (size_t i = 0; i < n;) {
        size_t run = run_length(p, i, n), to = run ? i : literals_to(i, n);

        if (run) {
            d->part_n -= (uint32_t)run;
            count_run(d, run);
            i += run;
        }
        for (; i + WORD <= to; i += WORD) {
            bits |= word_at(p + i);
            for (size_t k = 0; k < WORD; k++)
                d->part[p[i + k]]++;
        }
        for (; i < to; i++) {
            bits |= p[i];
            d->part[p[i]]++;
        }
    }
    bits |= bits >> 32;
    bits |= bits >> 16;
    return (unsigned)(bits | bits >> 8) & 255;
}

static void put_run(struct bits *b, const struct huffman_code *code, size_t run)
{
    for (; run; run -= next_piece(run)) {
        uint32_t value;
        unsigned n_bits;

        put_code(b, code[run_symbol(next_piece(run), &value, &n_bits)]);
        deflate_put(b, value, n_bits);
        deflate_put(b, 0, 1);
        flush(b);
    }
}

static void put_part(struct bits *out, const struct huffman_code *code, const uint8_t *p, size_t n)
{
    struct bits b = *out;

    for (size_t i = 0; i < n;) {
        size_t run = run_length(p, i, n), to = run ? i : literals_to(i, n);

        for (; to - i >= 4; i += 4) {
            for (size_t k = 0; k < 4; k++)
                put_code(&b, code[p[i + k]]);
            flush(&b);
        }
        for (; i < to; i++) {
            put_code(&b, code[p[i]]);
            flush(&b);
        }
        put_run(&b, code, run);
        i += run;
    }
    *out = b;
}

/* ------------------------------------------------------------------------- blocks */

/* Writes the lengths of a block's codes in symbols of the third code. */
struct head {
    int n_literals, n;
    uint8_t symbol[DEFLATE_LITERALS + DISTANCES], value[DEFLATE_LITERALS + DISTANCES];
    uint32_t count[LENGTHS];
    struct huffman_code code[LENGTHS];
};

static const uint8_t lengths_order[LENGTHS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                               11, 4,  12, 3, 13, 2, 14, 1, 15};

static unsigned further_bits(int symbol)
{
    return symbol == REPEAT ? 2 : symbol == ZEROS ? 3 : symbol == MANY_ZEROS ? 7 : 0;
}

static void deflate_tell(struct head *h, int symbol, int value)
{
    h->symbol[h->n] = (uint8_t)symbol;
    h->value[h->n++] = (uint8_t)value;
    h->count[symbol]++;
}

/* Writes `times` equal lengths in a row. */
static void tell_lengths(struct head *h, int length, int times)
{
    int some;

    if (length == 0) {
        for (; times >= 11; times -= some) {
            some = times < 138 ? times : 138;
            deflate_tell(h, MANY_ZEROS, some - 11);
        }
        if (times >= 3) {
            deflate_tell(h, ZEROS, times - 3);
            times = 0;
        }
    } else if (times > 3) {
        deflate_tell(h, length, 0);
        for (times--; times >= 3; times -= some) {
            some = times < 6 ? times : 6;
            deflate_tell(h, REPEAT, some - 3);
        }
    }
    while (times-- > 0)
        deflate_tell(h, length, 0);
}

static void make_head(struct head *h, const struct huffman_code *code)
{
    h->n_literals = DEFLATE_LITERALS;
    h->n = 0;
    memset(h->count, 0, sizeof h->count);
    while (code[h->n_literals - 1].length == 0)
        h->n_literals--;
    for (int i = 0, from = 0; i < h->n_literals; from = i) {
        while (i < h->n_literals && code[i].length == code[from].length)
            i++;
        tell_lengths(h, code[from].length, i - from);
    }
    tell_lengths(h, 1, DISTANCES);
    huffman_make(h->code, h->count, LENGTHS, LENGTHS_LENGTH_MAX);
}

static int n_lengths(const struct head *h)
{
    int n = LENGTHS;

    while (h->code[lengths_order[n - 1]].length == 0)
        n--;
    return n;
}

static size_t head_bits(const struct head *h)
{
    size_t sum = 3 + 5 + 5 + 4 + 3 * (size_t)n_lengths(h);

    for (int i = 0; i < LENGTHS; i++)
        sum += h->count[i] * (h->code[i].length + further_bits(i));
    return sum;
}

static void put_head(struct bits *b, const struct head *h, bool last)
{
    int n = n_lengths(h);

    deflate_put(b, last, 1);
    deflate_put(b, OWN_CODES, 2);
    deflate_put(b, (uint32_t)(h->n_literals - 257), 5);
    deflate_put(b, DISTANCES - 1, 5);
    deflate_put(b, (uint32_t)(n - 4), 4);
    for (int i = 0; i < n; i++) {
        flush(b);
        deflate_put(b, h->code[lengths_order[i]].length, 3);
    }
    for (int i = 0; i < h->n; i++) {
        flush(b);
        put_code(b, h->code[h->symbol[i]]);
        deflate_put(b, h->value[i], further_bits(h->symbol[i]));
    }
    flush(b);
}

static void put_stored(struct bits *b, const uint8_t *p, size_t n, bool last)
{
    do {
        uint32_t some = n < STORED_MAX ? (uint32_t)n : STORED_MAX;

        deflate_put(b, last && some == n, 1);
        deflate_put(b, STORED, 2);
        align(b);
        deflate_put(b, some, 16);
        deflate_put(b, ~some & 0xffff, 16);
        flush(b);
        memcpy(b->out, p, some);
        b->out += some;
        p += some;
        n -= some;
    } while (n);
}

/* Writes the counted block of the parts [0, n_parts) at src. */
static void put_block(struct deflate *d, struct bits *b, const uint8_t *src, const size_t *part_len,
                      size_t n_parts, bool last)
{
    size_t n = 0, own;
    struct head h;

    for (size_t i = 0; i < n_parts; i++)
        n += part_len[i];
    d->block[END] = 1;
    huffman_make(d->code, d->block, DEFLATE_LITERALS, LITERAL_LENGTH_MAX);
    make_head(&h, d->code);
    own = head_bits(&h) + d->block_more;
    for (int i = 0; i < DEFLATE_LITERALS; i++)
        own += (size_t)d->block[i] * d->code[i].length;
    if (own + 8 * n / STORE_SHARE > 8 * n) {
        put_stored(b, src, n, last);
        return;
    }
    put_head(b, &h, last);
    for (size_t i = 0; i < n_parts; i++) {
        put_part(b, d->code, src, part_len[i]);
        src += part_len[i];
    }
    put_code(b, d->code[END]);
    flush(b);
}

/* ------------------------------------------------------------------------- parts */

/* c log2 c, within a hundredth of c: a parabola between powers of two. */
static float weight(uint32_t c)
{
    union {
        float f;
        uint32_t u;
    } x = {.f = (float)c}, m = {.u = (x.u & 0x7fffff) | 0x3f800000};
    float power = (float)((int)(x.u >> 23) - 127);

    return c ? x.f * (power + (2 - m.f / 3) * m.f - 5.0f / 3) : 0;
}

static void list_used(struct deflate *d, int first, int end)
{
    for (int i = first; i < end; i++) {
        d->used[d->n_used] = (uint16_t)i;
        d->n_used += d->part[i] != 0;
    }
}

/* Counts a part's symbols and lists those that it has. */
static void take_part(struct deflate *d, const uint8_t *p, size_t n)
{
    unsigned bits = deflate_count(d, p, n);

    d->n_used = 0;
    list_used(d, 0, bits ? 1 << (32 - __builtin_clz(bits)) : n > 0);
    if (d->part_more)
        list_used(d, RUN_FIRST, DEFLATE_LITERALS);
}

/* Tells whether sharing the block's code is cheaper for the part than a code of its own. The size
 * under each code is estimated by entropy; with a code of its own, each symbol of the part costs
 * once more in the head. */
static bool shares(const struct deflate *d)
{
    float apart = HEAD_BITS, together;

    together = weight(d->block_n + d->part_n) - weight(d->block_n) - weight(d->part_n);
    for (int k = 0; k < d->n_used; k++) {
        uint32_t in_block = d->block[d->used[k]], in_part = d->part[d->used[k]];

        if (in_block) {
            together += weight(in_block) + weight(in_part) - weight(in_block + in_part);
            apart += SYMBOL_BITS;
        }
    }
    return together <= apart;
}

/* Adds the part's symbols to the block's. */
static void deflate_join(struct deflate *d)
{
    for (int k = 0; k < d->n_used; k++) {
        d->block[d->used[k]] += d->part[d->used[k]];
        d->part[d->used[k]] = 0;
    }
    d->block_n += d->part_n;
    d->block_more += d->part_more;
}

static void begin_block(struct deflate *d)
{
    memset(d->block, 0, sizeof d->block);
    d->block_n = 0;
    d->block_more = 0;
}

int deflate_pack(struct deflate *d, uint8_t *dst, size_t cap, size_t *len, const uint8_t *src,
                 const size_t *part_len, size_t n_parts, struct err *err)
{
    struct bits b = {.out = dst};
    size_t first = 0, n = 0, total = 0;

    for (size_t i = 0; i < n_parts; i++)
        total += part_len[i];
    if (cap < deflate_bound(total, n_parts))
        return err_set(err, ERR_MEMORY, "deflate needs more than %zu bytes", cap);
    memset(d->part, 0, sizeof d->part);
    begin_block(d);
    for (size_t i = 0; i < n_parts; i++) { /* [first, i) of n bytes, ending at src, are the block */
        take_part(d, src, part_len[i]);
        if (n && !shares(d)) {
            put_block(d, &b, src - n, part_len + first, i - first, false);
            begin_block(d);
            first = i;
            n = 0;
        }
        deflate_join(d);
        n += part_len[i];
        src += part_len[i];
    }
    put_block(d, &b, src - n, part_len + first, n_parts - first, true);
    align(&b);
    *len = (size_t)(b.out - dst);
    return 0;
}
