/* CRC-32C: published values, chaining at every cut, and the instruction beside the table. */
#include "proto/crc32c.h"
#include "tests/support/unit.h"

#include <string.h>

/* RFC 3720, B.4, and the check value of the catalogue of CRCs. */
TEST(published_values)
{
    uint8_t b[32];

    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283u);
    assert_int_equal(crc32c(0, NULL, 0), 0);
    memset(b, 0, sizeof(b));
    assert_int_equal(crc32c(0, b, 32), 0x8a9136aau);
    memset(b, 0xff, sizeof(b));
    assert_int_equal(crc32c(0, b, 32), 0x62a8ab43u);
    for (int i = 0; i < 32; i++)
        b[i] = (uint8_t)i;
    assert_int_equal(crc32c(0, b, 32), 0x46dd794eu);
    for (int i = 0; i < 32; i++)
        b[i] = (uint8_t)(31 - i);
    assert_int_equal(crc32c(0, b, 32), 0x113fdb5cu);
}

static uint8_t noise[4096];

FIXTURE(make_noise)
{
    uint64_t s = 88172645463325252ull;

    for (size_t i = 0; i < sizeof(noise); i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        noise[i] = (uint8_t)(s >> 32);
    }
    return 0;
}

TEST(calls_chain)
{
    const uint32_t whole = crc32c(0, noise, 300);

    for (size_t cut = 0; cut <= 300; cut++)
        assert_int_equal(crc32c(crc32c(0, noise, cut), noise + cut, 300 - cut), whole);
}

TEST(instruction_and_table_agree)
{
    for (size_t at = 0; at < 17; at++)
        for (size_t len = 0; len <= 200; len++)
            assert_int_equal(crc32c((uint32_t)at, noise + at, len),
                             crc32c_table((uint32_t)at, noise + at, len));
    assert_int_equal(crc32c(0, noise, sizeof(noise)), crc32c_table(0, noise, sizeof(noise)));
}

TEST(every_bit_counts)
{
    const uint32_t right = crc32c(0, noise, 512);

    for (size_t bit = 0; bit < 512 * 8; bit++) {
        noise[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_not_equal(crc32c(0, noise, 512), right);
        noise[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

TEST_GROUP(make_noise, NULL)
