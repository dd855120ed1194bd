#include "api/ctl/reconctl_push.h"

void reconctl_push_view(const struct reconctl_push_watch *watch, uint64_t *points, double *bpp)
{
    uint64_t bytes = 0, received = 0;

    *points = 0;
    for (int i = 0; i < watch->n; i++) {
        *points += atomic_load(&watch->jobs[i].points);
        bytes += atomic_load(&watch->jobs[i].block_bytes);
        received += atomic_load(&watch->jobs[i].points_received);
    }
    *bpp = received ? (double)bytes / (double)received : 0;
}

static void put_counts(struct json_writer *w, const struct reconctl_meter_view *v)
{
    json_put_u64(w, "sent", v->sent);
    json_put_u64(w, "used", v->by_status[CONTROL_USED]);
    json_put_u64(w, "dropped", v->by_status[CONTROL_DROPPED]);
    json_put_u64(w, "refused", v->by_status[CONTROL_REFUSED]);
    json_put_u64(w, "duplicates", v->duplicates);
    json_put_u64(w, "skipped", v->skipped);
    json_open_map(w, "reasons");
    for (int i = 1; i < RECONCTL_METER_REASONS; i++)
        if (v->by_reason[i])
            json_put_u64(w, control_reason_name((enum control_reason)i), v->by_reason[i]);
    json_close(w);
}

static void print_session_json(const struct reconctl_push_job *j)
{
    const struct reconctl_push_kind *kind = reconctl_push_kind(j->options);
    char buf[2048], name[32];
    struct json_writer w = json_writer(buf, sizeof buf);

    json_open_map(&w, NULL);
    json_put_text(&w, "type", "session");
    json_put_text(&w, "session", j->session.id);
    json_put_i64(&w, "exit", j->exit);
    if (j->exit) {
        json_put_text(&w, "error", j->err.text);
        json_put_text(&w, "where", j->err.where);
        json_put_bool(&w, "kept", j->kept);
    }
    json_put_bool(&w, "hash_equal",
                  j->exit == 0 && j->hash == j->server_hash && j->hash == j->export_hash);
    json_put_hex64(&w, "hash", j->hash);
    json_put_hex64(&w, "server_hash", j->server_hash);
    json_put_hex64(&w, "export_hash", j->export_hash);
    snprintf(name, sizeof name, "%ss", kind->noun);
    json_put_u64(&w, name, j->n_points);
    if (j->options->depth_out)
        json_put_u64(&w, "maps", j->stats.results);
    if (j->sigma > 0) {
        json_put_f32(&w, "scale", j->scale);
        json_put_f32(&w, "sigma", j->sigma);
    }
    json_put_u64(&w, "received", j->counts.received);
    json_put_u64(&w, "used", j->counts.used);
    json_put_u64(&w, "dropped", j->counts.dropped);
    json_put_u64(&w, "refused", j->counts.refused);
    json_put_u64(&w, "keyframes", j->counts.keyframes);
    json_put_u64(&w, "bytes_sent", j->stats.bytes_sent);
    json_put_u64(&w, "bytes_received", j->stats.bytes_received);
    json_put_u64(&w, "points_received", j->stats.points_received);
    json_put_u64(&w, "block_bytes", j->stats.block_bytes);
    json_put_u64(&w, "reconnects", j->stats.reconnects);
    json_put_u64(&w, "resent", j->stats.frames_resent);
    json_put_u64(&w, "duplicates", j->stats.duplicates);
    reconctl_print(&w);
}

static void print_objects_json(const struct reconctl_push_job *j)
{
    char buf[2048];

    for (int i = 0; i < j->n_objects; i++) {
        struct json_writer w = json_writer(buf, sizeof buf);

        json_open_map(&w, NULL);
        json_put_text(&w, "type", "object");
        json_put_text(&w, "session", j->session.id);
        control_object_write(&w, &j->objects[i]);
        reconctl_print(&w);
    }
}

static void print_objects(const struct reconctl_push_job *j)
{
    char name[RECONCTL_SHOWN], class_name[RECONCTL_SHOWN];

    for (int i = 0; i < j->n_objects; i++) {
        const struct control_object *o = &j->objects[i];

        printf("object   %u %s%s%s%s: %s at %.3f %.3f %.3f m in submap %u, score %.2f\n",
               (unsigned)o->id, reconctl_shown(name, o->object, RECONCTL_SHOWN),
               o->class_name[0] ? " (" : "",
               reconctl_shown(class_name, o->class_name, RECONCTL_SHOWN),
               o->class_name[0] ? ")" : "", control_object_state_name(o->state), (double)o->pose[4],
               (double)o->pose[5], (double)o->pose[6], (unsigned)o->submap, (double)o->score);
    }
}

/* Calls `say` for each noteworthy fact: a word for programs, a sentence for people. */
static void remark(const struct reconctl_push_job *j,
                   void (*say)(void *ctx, const char *word, const char *sentence), void *ctx)
{
    char text[200];

    if (j->source_said[0]) {
        snprintf(text, sizeof text, "ffmpeg complained: %s", j->source_said);
        say(ctx, "ffmpeg", text);
    }
    if (j->guessed)
        say(ctx, "guessed",
            "the poses are learned: the path and the scale are guesses of networks");
    if (j->poses_wrong)
        say(ctx, "poses",
            "the poses do not fit the pictures: `reconctl session get` says how far (views)");
    if (j->exit == 0 && j->counts.used && j->n_points == 0 &&
        reconctl_push_kind(j->options)->has_map)
        say(ctx, "empty",
            "the cloud has no points: they need some frames, from places that differ");
    if (reconctl_check_tells(&j->pictures, &j->pictures.black)) {
        snprintf(text, sizeof text, "%llu pictures in a row are black: is the lens covered?",
                 (unsigned long long)j->pictures.black.longest);
        say(ctx, "black", text);
    }
    if (reconctl_check_tells(&j->pictures, &j->pictures.same)) {
        snprintf(text, sizeof text, "%llu pictures in a row are one and the same: a frozen camera?",
                 (unsigned long long)j->pictures.same.longest);
        say(ctx, "frozen", text);
    }
}

static void put_remark(void *w, const char *word, const char *sentence)
{
    (void)sentence;
    json_put_text(w, NULL, word);
}

static void print_remark(void *ctx, const char *word, const char *sentence)
{
    (void)ctx;
    (void)word;
    printf("remark   %s\n", sentence);
}

static void print_json(const struct reconctl_push_watch *w, const struct reconctl_meter_view *v,
                       double bpp, uint64_t points, int code, const struct err *why)
{
    const struct reconctl_push_kind *kind = reconctl_push_kind(w->jobs[0].options);
    char buf[2048], name[32];
    struct json_writer out = json_writer(buf, sizeof buf);

    for (int i = 0; i < w->n; i++) {
        print_session_json(&w->jobs[i]);
        print_objects_json(&w->jobs[i]);
    }
    json_open_map(&out, NULL);
    json_put_text(&out, "type", "summary");
    json_put_i64(&out, "exit", code);
    if (why->code)
        json_put_text(&out, "error", why->text);
    json_open_list(&out, "remarks");
    remark(&w->jobs[0], put_remark, &out);
    json_close(&out);
    json_put_i64(&out, "sessions", w->n);
    put_counts(&out, v);
    json_put_f32(&out, "seconds", (float)v->elapsed_s);
    json_put_f32(&out, "frames_per_s", (float)v->fps);
    json_put_f32(&out, "latency_p50_ms", (float)v->p50_ms);
    json_put_f32(&out, "latency_p95_ms", (float)v->p95_ms);
    json_put_f32(&out, "latency_p99_ms", (float)v->p99_ms);
    snprintf(name, sizeof name, "%ss", kind->noun);
    json_put_u64(&out, name, points);
    snprintf(name, sizeof name, "bytes_per_%s", kind->noun);
    json_put_f32(&out, name, (float)bpp);
    reconctl_print(&out);
}

static void print_text(const struct reconctl_push_watch *w, const struct reconctl_meter_view *v,
                       double bpp)
{
    const struct reconctl_push_options *o = w->jobs[0].options;
    const struct reconctl_push_kind *kind = reconctl_push_kind(o);
    uint64_t broken = 0, reconnects = 0, resent = 0;

    printf("frames   %llu sent: %llu used, %llu dropped, %llu refused", (unsigned long long)v->sent,
           (unsigned long long)v->by_status[CONTROL_USED],
           (unsigned long long)v->by_status[CONTROL_DROPPED],
           (unsigned long long)v->by_status[CONTROL_REFUSED]);
    for (int i = 1; i < RECONCTL_METER_REASONS; i++)
        if (v->by_reason[i])
            printf(" (%s %llu)", control_reason_name((enum control_reason)i),
                   (unsigned long long)v->by_reason[i]);
    for (int i = 0; i < w->n; i++) {
        broken += w->jobs[i].broken;
        reconnects += w->jobs[i].stats.reconnects;
        resent += w->jobs[i].stats.frames_resent;
    }
    if (v->skipped)
        printf(", %llu skipped", (unsigned long long)v->skipped);
    if (broken)
        printf(", %llu damaged in the source", (unsigned long long)broken);
    if (reconnects)
        printf(
            "\nline     %llu times made again, %llu frames sent again, %llu of them a second time",
            (unsigned long long)reconnects, (unsigned long long)resent,
            (unsigned long long)v->duplicates);
    printf("\nrate     %.2f frames/s over %.1f s\n", v->fps, v->elapsed_s);
    printf("latency  p50 %.0f ms, p95 %.0f ms, p99 %.0f ms\n", v->p50_ms, v->p95_ms, v->p99_ms);
    printf("delta    %.2f bytes/%s\n", bpp, kind->noun);
    for (int i = 0; i < w->n; i++) {
        const struct reconctl_push_job *j = &w->jobs[i];

        if (!j->session.id[0])
            continue;
        printf("session  %s: %llu %ss%s\n", j->session.id, (unsigned long long)j->n_points,
               kind->noun, o->keep || j->kept ? "" : ", deleted on the server");
        if (j->sigma > 0)
            printf("scale    %.3f of what frames alone say, standard error %.3f\n",
                   (double)j->scale, (double)j->sigma);
        if (kind->has_map && j->exit == 0)
            printf("hash     %016llx: the server's and the export's are equal\n",
                   (unsigned long long)j->hash);
        else if (kind->has_map && j->exit == RECONCTL_HASH)
            printf("hash     %016llx, server %016llx, export %016llx\n",
                   (unsigned long long)j->hash, (unsigned long long)j->server_hash,
                   (unsigned long long)j->export_hash);
        print_objects(j);
    }
    remark(&w->jobs[0], print_remark, NULL);
    if (w->jobs[0].written)
        printf("%-8s %s%s\n", kind->output, o->output,
               w->jobs[0].exit == 0 ? "" : ": what came, not compared with the server's");
    if (o->depth_out)
        printf("maps     %s: %llu\n", o->depth_out, (unsigned long long)w->jobs[0].stats.results);
    if (!w->jobs[0].written && !o->output && !o->keep && kind->has_map)
        printf("cloud    not kept: -O FILE.ply writes it, --keep leaves the session\n");
}

void reconctl_push_report(const struct reconctl_push_watch *watch,
                          const struct reconctl_meter_view *v, int code, const struct err *why)
{
    uint64_t points;
    double bpp;

    reconctl_push_view(watch, &points, &bpp);
    if (watch->json)
        print_json(watch, v, bpp, points, code, why);
    else if (v->sent)
        print_text(watch, v, bpp);
}
