/*
 * checkpoint_v1.c - the head of the checkpoints that version 0.1.0 wrote
 *
 * Head:    magic, version 1 u32 | id [32] | number u64 | four times: plain bytes, packed bytes u64,
 *          CRC-32C of the packed bytes u32 | CRC-32C of all that stands before it u32
 * Its four parts are what sections became: counters, device state, mirror, trajectory.
 */
#include "daemon/disk/checkpoint_internal.h"

#include "proto/bytes.h"
#include "proto/crc32c.h"

#include <string.h>

#define HEAD_BYTES 132

int checkpoint_v1_get(struct checkpoint_head *h, const uint8_t *in, size_t len, const char *id,
                      struct err *err)
{
    static const uint32_t tags[] = {
        SECTION_TAG('D', 'C', 'O', 'R'), SECTION_TAG('G', 'R', 'S', 'T'),
        SECTION_TAG('D', 'M', 'I', 'R'), SECTION_TAG('D', 'T', 'R', 'A')};
    struct bytes_reader r = bytes_reader(in, len), end = r;
    char name[CHECKPOINT_ID_CAP] = "";

    r.at = 8;
    end.at = HEAD_BYTES - 4;
    if (len < HEAD_BYTES || crc32c(0, in, HEAD_BYTES - 4) != bytes_get_u32(&end))
        return err_set(err, ERR_INPUT, "the header is damaged");
    memcpy(name, id, strlen(id));
    if (memcmp(bytes_get_span(&r, CHECKPOINT_ID_CAP), name, CHECKPOINT_ID_CAP) != 0)
        return err_set(err, ERR_INPUT, "another session's checkpoint");
    h->number = bytes_get_u64(&r);
    h->bytes = HEAD_BYTES;
    h->n = (int)(sizeof(tags) / sizeof(tags[0]));
    for (int i = 0; i < h->n; i++) {
        struct checkpoint_entry *e = &h->entry[i];
        e->s = (struct section){.tag = tags[i], .version = 1, .len = bytes_get_u64(&r)};
        e->packed = bytes_get_u64(&r);
        e->crc = bytes_get_u32(&r);
    }
    return 0;
}
