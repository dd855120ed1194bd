#include "daemon/disk/journal_internal.h"

#include "proto/bytes.h"
#include "proto/crc32c.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define NAME "synced"
#define BYTES 12 /* number u64, CRC-32C of it u32 */

int journal_mark_open(int dir)
{
    return openat(dir, NAME, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

void journal_mark_write(int fd, uint64_t number)
{
    uint8_t mark[BYTES];
    struct bytes_writer w = bytes_writer(mark, BYTES);

    bytes_put_u64(&w, number);
    bytes_put_u32(&w, crc32c(0, mark, 8));
    if (fd >= 0)
        (void)!pwrite(fd, mark, BYTES, 0); /* if this fails, the earlier mark is still right */
}

uint64_t journal_mark_read(int dir)
{
    uint8_t mark[BYTES];
    struct bytes_reader r;
    uint64_t number;
    int fd = folder_open_file(dir, NAME, &number);
    bool whole;

    if (fd < 0)
        return 0;
    whole = folder_read(fd, mark, BYTES, 0) == 0;
    close(fd);
    if (!whole)
        return 0;
    r = bytes_reader(mark, BYTES);
    number = bytes_get_u64(&r);
    return bytes_get_u32(&r) == crc32c(0, mark, 8) ? number : 0;
}
