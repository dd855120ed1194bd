/*
 * push.c - send pictures to recond and keep a copy of the cloud that they become
 *
 *     cc push.c $(pkg-config --cflags --libs recond-client) -o push
 *     ./push http://127.0.0.1:8700 640x480 512 frames/000000.jpg frames/000001.jpg ...
 *
 * The numbers are the pictures' size and focal length in pixels. The poses are learned, so that the
 * pictures need nothing else. The token is taken from RECOND_TOKEN, where the server wants one.
 */
#include "api/client/client.h"

#include <stdio.h>
#include <stdlib.h>

struct end {
    bool reached, equal;
    uint64_t points, hash;
};

static void on_sync(void *ctx, const struct control_sync *sync, bool hash_equal)
{
    struct end *end = ctx;
    *end = (struct end){end->reached, hash_equal, sync->points, sync->hash};
}

static void on_ended(void *ctx, bool closed)
{
    struct end *end = ctx;
    end->reached = end->reached || !closed;
}

static void on_ack(void *ctx, const struct control_ack *ack)
{
    (void)ctx;
    if (ack->status != CONTROL_USED)
        printf("frame %llu was not used: %s\n", (unsigned long long)ack->seq,
               control_reason_name(ack->reason));
}

/* One picture; the stream copies its bytes. */
static int send_file(struct client_stream *s, struct frame *f, const char *path, struct err *err)
{
    static uint8_t bytes[FRAME_PAYLOAD_MAX];
    FILE *file = fopen(path, "rb");

    if (!file)
        return err_set(err, ERR_IO, "cannot open %s", path);
    f->payload = bytes;
    f->payload_len = (uint32_t)fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    f->seq++;
    return client_stream_send(s, f, err);
}

static int push(struct client_stream *s, struct frame *f, char **paths, int n,
                const struct end *end, struct err *err)
{
    bool told = false;
    int i = 0, rc = 0;

    while (rc == 0 && !end->reached) {
        for (; rc == 0 && i < n && client_stream_window(s) > 0; i++)
            rc = send_file(s, f, paths[i], err);
        if (rc == 0 && i == n && !told) {
            rc = client_stream_end(s, err);
            told = true;
        }
        if (rc == 0)
            rc = client_stream_run(s, 1000, err);
    }
    return rc;
}

int main(int argc, char **argv)
{
    const char *token = getenv("RECOND_TOKEN");
    struct client_config config = {
        .url = argv[1], .token = token, .agent = "push", .timeout_s = 30};
    struct client_session session;
    struct client *client = NULL;
    struct client_stream *stream = NULL;
    struct frame f = {.flags = FRAME_HAS_CAMERA, .T_wc = rigid_identity()};
    struct end end = {0};
    struct err err = {0};
    int rc;

    if (argc < 5 || sscanf(argv[2], "%dx%d", &f.width, &f.height) != 2) {
        fprintf(stderr, "usage: push URL WIDTHxHEIGHT FOCAL JPEG...\n");
        return 2;
    }
    f.K.fx = f.K.fy = strtof(argv[3], NULL);
    f.K.cx = 0.5f * (float)(f.width - 1);
    f.K.cy = 0.5f * (float)(f.height - 1);
    rc = client_open(&client, &config, &err);
    if (rc == 0)
        rc = client_session_create(client, "{\"pose_source\":\"learned\",\"mode\":\"lossless\"}",
                                   &session, &err);
    if (rc == 0) {
        struct client_stream_config stream_config = {.url = session.stream_url,
                                                     .token = session.ingest_token,
                                                     .role = CONTROL_INGEST,
                                                     .reconnect_s = 60,
                                                     .ctx = &end,
                                                     .on_ack = on_ack,
                                                     .on_sync = on_sync,
                                                     .on_ended = on_ended};
        rc = client_stream_open(&stream, &stream_config, &err);
    }
    if (rc == 0)
        rc = push(stream, &f, argv + 4, argc - 4, &end, &err);
    if (rc == 0)
        printf("session %s points %llu hash %016llx, the copy is %s\n", session.id,
               (unsigned long long)end.points, (unsigned long long)end.hash,
               end.equal ? "equal" : "different");
    else
        fprintf(stderr, "push: %s\n", err.text);
    client_stream_close(&stream);
    client_close(&client);
    return rc == 0 && end.equal ? 0 : 1;
}
