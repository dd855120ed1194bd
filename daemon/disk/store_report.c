/* The store's metrics. */
#include "daemon/disk/store_internal.h"

void store_write_metrics(struct metrics_text *t, struct store *st)
{
    struct journal_stats j;

    if (!st)
        return;
    journal_get_stats(st->journal, &j);
    const struct {
        const char *name, *type, *help;
        uint64_t value;
    } rows[] = {
        {"recond_journal_records_total", "counter", "Records written.", j.records},
        {"recond_journal_bytes_total", "counter", "Bytes written.", j.bytes},
        {"recond_journal_syncs_total", "counter", "Times that the disk was waited for.", j.syncs},
        {"recond_journal_failures_total", "counter", "Sessions whose journal failed.", j.failures},
        {"recond_journal_used_bytes", "gauge", "Bytes of all journals.", j.used_bytes},
        {"recond_journal_free_bytes", "gauge", "Bytes free on their disk.", j.free_bytes},
        {"recond_journal_full", "gauge", "1 above the high-water mark: frames are refused.",
         j.full},
        {"recond_checkpoints_total", "counter", "Checkpoints written.",
         atomic_load(&st->checkpoints)},
        {"recond_sessions_recovered_total", "counter", "Sessions that came back at the start.",
         atomic_load(&st->recovered)},
        {"recond_sessions_damaged_total", "counter", "Of those, with a damaged journal.",
         atomic_load(&st->damaged)},
        {"recond_frames_quarantined_total", "counter", "Frames put away for having killed twice.",
         atomic_load(&st->quarantined)},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        metrics_value(t, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
    metrics_family(t, "recond_journal_sync_seconds_total", "counter",
                   "Time that the disk was waited for.");
    metrics_print(t, "recond_journal_sync_seconds_total %.6f\n", (double)j.sync_us * 1e-6);
}
