/*
 * bench_daemon_checkpoint - the size of a session's checkpoint, and its cost for each thread
 *
 * A walk through the drawn room at 256x192, halted twice: when the model has POINTS points, and
 * when all places for keyframes are taken. Each time, REPEAT times: the states are saved as the
 * worker would (device, mirror, trajectory), a checkpoint is written by its thread, loaded, and put
 * into new structures. The best of each counts.
 */
#include "daemon/disk/checkpoint.h"
#include "daemon/clock.h"
#include "daemon/session/mirror.h"
#include "daemon/session/trajectory.h"
#include "tests/support/line.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#define W 256
#define H 192
#define POINTS 100000
#define FRAMES_MAX 2000
#define REPEAT 7
#define ID "abcdefghijklmnopqrstuvwxyz"

static const struct cloud_limits limits = {.max_blocks = 4096, .max_points = 1u << 18};

static struct {
    struct line line;
    struct gpu_session_config config;
    struct mirror *mirror;
    struct trajectory *trajectory;
    struct checkpoint *checkpoint;
    char path[64];
    sem_t done;
    uint32_t n_frames;
    uint64_t number;
    double device_ms, mirror_ms, write_ms, load_ms, device_load_ms, mirror_load_ms;
} b;

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    printf("%s failed\n", what);
    exit(1);
}

static void best(double *ms, uint64_t since)
{
    double now = (double)(clock_us() - since) * 1e-3;

    if (*ms == 0 || now < *ms)
        *ms = now;
}

static void start(void)
{
    b.config = line_config(W, H);
    must(line_open(&b.line, &b.config) == 0 && mirror_new(&b.mirror, &limits, NULL) == 0 &&
             trajectory_new(&b.trajectory, NULL) == 0,
         "opening");
}

/* Go on until the model is so large. */
static void walk(uint32_t points, uint32_t keyframes)
{
    struct scene scene = scene_make();
    struct mirror_commit out;

    for (; b.n_frames < FRAMES_MAX &&
           (b.line.cpu->n_points < points || b.line.cpu->n_keyframes < keyframes);
         b.n_frames++) {
        float t = 0.05f * (float)b.n_frames;
        struct rigid T =
            scene_pose(1.5f * sinf(0.7f * t), 0.3f * sinf(t), -1.0f + cosf(0.4f * t), 0.6f * t);
        struct session_pose pose = {.seq = b.n_frames, .T_wc = T};

        must(line_scene(&b.line, &scene, &T) == 0, "a frame");
        mirror_commit(b.mirror, 0, b.line.f.changes, b.line.f.result.n_changes, &out);
        must(trajectory_append(b.trajectory, &pose, NULL) == 0, "a pose");
    }
    printf("%u frames of %dx%d: %u points, %u published, %u slots, %u keyframes\n", b.n_frames, W,
           H, b.line.cpu->n_points, b.line.cpu->n_stable, b.line.cpu->n_slots,
           b.line.cpu->n_keyframes);
}

static void on_done(void *ctx, uint64_t number, uint32_t rounds, uint64_t older, int rc)
{
    (void)ctx;
    (void)rounds;
    (void)older;
    must(rc == 0 && number, "a checkpoint");
    sem_post(&b.done);
}

#define MIRROR SECTION_TAG('D', 'M', 'I', 'R')
#define TRAJECTORY SECTION_TAG('D', 'T', 'R', 'A')

static unsigned reads(const void *ctx, uint32_t tag)
{
    (void)ctx;
    return tag == MIRROR || tag == TRAJECTORY ? 1 : gpu_session_reads(tag);
}

static void save(uint64_t number)
{
    const size_t mirror = mirror_state_bytes(b.mirror),
                 trajectory = trajectory_state_bytes(b.trajectory);
    struct checkpoint_draft *d =
        checkpoint_begin(b.checkpoint, gpu_session_state_bytes(b.line.s) + section_bytes(mirror) +
                                           section_bytes(trajectory));
    uint64_t since = clock_us();
    uint8_t *body;
    size_t len;

    must(d != NULL, "checkpoint_begin");
    must(gpu_session_save(b.line.s, d->row, d->cap, &d->len, NULL) == 0, "gpu_session_save");
    best(&b.device_ms, since);
    since = clock_us();
    body = section_open(d->row, d->cap, d->len, mirror);
    must(body && mirror_save(b.mirror, body, mirror, &len, NULL) == 0, "mirror_save");
    section_close(d->row, &d->len, MIRROR, 1, 0, len);
    best(&b.mirror_ms, since);
    body = section_open(d->row, d->cap, d->len, trajectory);
    must(body && trajectory_save(b.trajectory, body, trajectory, &len, NULL) == 0,
         "trajectory_save");
    section_close(d->row, &d->len, TRAJECTORY, 1, 0, len);
    since = clock_us();
    checkpoint_commit(b.checkpoint, ID, number, 0, on_done, NULL);
    sem_wait(&b.done);
    best(&b.write_ms, since);
}

static void load(bool say)
{
    struct checkpoint_state s;
    struct section saved;
    struct gpu_session *session;
    struct mirror *mirror;
    uint64_t since = clock_us();

    must(checkpoint_load(&s, b.checkpoint, ID, UINT64_MAX, NULL) == 0, "checkpoint_load");
    best(&b.load_ms, since);
    must(session_cpu_new(&session, b.line.g, &b.config, NULL) == 0 &&
             mirror_new(&mirror, &limits, NULL) == 0,
         "a new session");
    since = clock_us();
    must(gpu_session_load(session, s.row, s.len, NULL) == 0, "gpu_session_load");
    best(&b.device_load_ms, since);
    since = clock_us();
    must(section_find(&saved, s.row, s.len, MIRROR) &&
             mirror_load(mirror, saved.body, saved.len, NULL) == 0,
         "mirror_load");
    best(&b.mirror_load_ms, since);
    if (say)
        printf("plain MB: all %.2f, mirror %.2f\n", (double)s.len * 1e-6, (double)saved.len * 1e-6);
    gpu_session_free(&session);
    mirror_free(&mirror);
    checkpoint_state_free(&s);
}

static void measure(const char *what)
{
    char path[192];
    struct stat st;

    b.device_ms = b.mirror_ms = b.write_ms = b.load_ms = b.device_load_ms = b.mirror_load_ms = 0;
    for (int i = 1; i <= REPEAT; i++) {
        save(++b.number);
        load(i == REPEAT);
    }
    snprintf(path, sizeof(path), "%s/sessions/%s/%020llu.ckpt", b.path, ID,
             (unsigned long long)b.number);
    must(stat(path, &st) == 0, "the file");
    printf("file MB: %.2f\n", (double)st.st_size * 1e-6);
    printf("held up, ms: device state %.2f, mirror %.2f\n", b.device_ms, b.mirror_ms);
    printf("thread, ms: pack, write, fsync, rename, check the older one %.1f\n", b.write_ms);
    printf("recovery, ms: file %.1f, device %.1f, mirror %.1f\n", b.load_ms, b.device_load_ms,
           b.mirror_load_ms);
    printf("@ %s_file %.2f MB\n", what, (double)st.st_size * 1e-6);
    printf("@ %s_held_up %.2f ms\n", what, b.device_ms + b.mirror_ms);
    printf("@ %s_load %.1f ms\n", what, b.load_ms + b.device_load_ms + b.mirror_load_ms);
}

int main(void)
{
    char command[128];

    snprintf(b.path, sizeof(b.path), "/tmp/recond-bench-XXXXXX");
    must(mkdtemp(b.path) != NULL, "a folder");
    snprintf(command, sizeof(command), "mkdir -p %s/sessions/%s", b.path, ID);
    must(system(command) == 0, "a folder");
    sem_init(&b.done, 0, 0);
    snprintf(command, sizeof(command), "%s/sessions", b.path);
    must(checkpoint_start(&b.checkpoint, open(command, O_RDONLY | O_DIRECTORY), reads, NULL,
                          NULL) == 0,
         "checkpoint_start");
    start();
    walk(POINTS, 0);
    measure("points_100k");
    walk(POINTS, (uint32_t)b.config.fuse.max_keyframes);
    measure("keyframes_all");
    checkpoint_close(&b.checkpoint);
    mirror_free(&b.mirror);
    trajectory_free(&b.trajectory);
    line_close(&b.line);
    snprintf(command, sizeof(command), "rm -rf %s", b.path);
    return system(command) != 0;
}
