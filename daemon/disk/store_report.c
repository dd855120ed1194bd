/* What the store tells /metrics. */
#include "daemon/disk/store_internal.h"

static void counter(struct metrics_text *t, const char *name, const char *help, uint64_t v)
{
    metrics_family(t, name, "counter", help);
    metrics_print(t, "%s %llu\n", name, (unsigned long long)v);
}

static void gauge(struct metrics_text *t, const char *name, const char *help, uint64_t v)
{
    metrics_family(t, name, "gauge", help);
    metrics_print(t, "%s %llu\n", name, (unsigned long long)v);
}

void store_write_metrics(struct metrics_text *t, struct store *st)
{
    struct journal_stats j;

    if (!st)
        return;
    journal_get_stats(st->journal, &j);
    counter(t, "recond_journal_records_total", "Records written.", j.records);
    counter(t, "recond_journal_bytes_total", "Bytes written.", j.bytes);
    counter(t, "recond_journal_syncs_total", "Times that the disk was waited for.", j.syncs);
    metrics_family(t, "recond_journal_sync_seconds_total", "counter", "Time that this took.");
    metrics_print(t, "recond_journal_sync_seconds_total %.6f\n", (double)j.sync_us * 1e-6);
    counter(t, "recond_journal_failures_total", "Sessions whose journal failed.", j.failures);
    gauge(t, "recond_journal_used_bytes", "Bytes of all journals.", j.used_bytes);
    gauge(t, "recond_journal_free_bytes", "Bytes free on their disk.", j.free_bytes);
    gauge(t, "recond_journal_full", "1 above the high-water mark: frames are refused.", j.full);
    counter(t, "recond_checkpoints_total", "Checkpoints written.", atomic_load(&st->checkpoints));
    counter(t, "recond_sessions_recovered_total", "Sessions that came back at the start.",
            atomic_load(&st->recovered));
    counter(t, "recond_sessions_damaged_total", "Of those, with a damaged journal.",
            atomic_load(&st->damaged));
    counter(t, "recond_frames_quarantined_total", "Frames put away for having killed twice.",
            atomic_load(&st->quarantined));
}
