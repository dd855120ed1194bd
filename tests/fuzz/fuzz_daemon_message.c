/*
 * fuzz_daemon_message.c - whole messages of a client, through the peer and the stream into a real
 * core with its threads, on a device that is quick
 *
 * Input: messages in a row, each behind a byte of kind and two of length. Kinds: 0 binary, 1 text,
 * 2 a frame of the right header whose picture is the input's, 3 a right frame with input's bytes
 * over its header from byte 28 on (camera, pose, epoch), 4 the client goes and comes back, 5 time
 * for answers. Every frame is accounted for when it is quiet, and the mirror of each client that
 * listens hashes as the server says.
 */
#include "api/server/ws_peer.h"
#include "tests/support/core_rig.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MESSAGE_MAX 65536u
#define SESSIONS_KEPT 20 /* inputs that share a session, one after the other */

static struct api_config config;
static struct ws_peer_env env;
static struct ws_peer peer;
static struct cloud *mirror;
static char id[API_ID_CAP];
static uint64_t seq;
static uint32_t inputs;
static bool over;

static void need(int ok)
{
    if (!ok)
        abort();
}

static void remove_models(void)
{
    tiny_models_remove(rig.models);
}

static void start_once(void)
{
    struct err err;

    if (rig.core)
        return;
    rig_open();
    need(atexit(remove_models) == 0);
    rig_picture(64, 48, 40);
    config.ops = &core_ops;
    config.core = rig.core;
    config.auth_mode = API_AUTH_NONE;
    config.max_message_bytes = MESSAGE_MAX;
    config.header_timeout_s = config.message_timeout_s = 5;
    config.ping_s = 3;
    config.hangup_s = 8;
    env.config = &config;
    need(auth_open(&env.auth, &config, &err) == 0);
}

static void make_session(void)
{
    struct session_options o = rig_options();

    o.K = (struct intrinsics){60, 60, 31.5f, 23.5f};
    o.camera_w = 64;
    o.camera_h = 48;
    rig_session(&o, id);
    seq = 0;
}

static void come(void)
{
    const struct cloud_limits limits = {100000, 100000};
    struct ws_peer_handshake h = {.protocols = CONTROL_SUBPROTOCOL};
    char answer[WS_PEER_ANSWER_MAX], path[96];

    snprintf(path, sizeof(path), "/v1/sessions/%s/stream", id);
    h.path = path;
    ws_peer_open(&peer, &env, -1, 1000);
    need(ws_peer_admit(&peer, &h, answer) == 0);
    ws_peer_opened(&peer, 1000);
    need(cloud_new(&mirror, &limits, NULL) == 0);
    over = false;
}

static void leave(void)
{
    ws_peer_close(&peer);
    cloud_free(&mirror);
    over = true;
}

static void hear_text(const uint8_t *msg, size_t len)
{
    struct control_message m;

    need(len > 0 && control_parse(&m, (const char *)msg, len, NULL) == 0);
    if (m.op == CONTROL_SYNC)
        need(m.sync.points == cloud_points(mirror) && m.sync.hash == cloud_hash(mirror));
}

/* All there is to say at the moment. */
static void hear(void)
{
    while (!over) {
        const uint8_t *msg = NULL;
        size_t len = 0;
        enum stream_kind kind = ws_peer_next(&peer, &msg, &len);

        if (kind == STREAM_NONE)
            return;
        if (kind == STREAM_TEXT)
            hear_text(msg, len);
        else if (kind == STREAM_BINARY)
            need(cloud_apply(mirror, msg, len, NULL) == 0);
        else
            leave();
    }
}

static void receive(const void *data, size_t len, bool binary)
{
    if (!over)
        ws_peer_receive(&peer, data, len, 0, true, true, binary, 1000);
}

/* A right frame, its picture or what its header says of the camera being the input's. */
static void receive_frame(const uint8_t *data, size_t len, bool picture)
{
    static uint8_t msg[MESSAGE_MAX];
    struct frame f = rig_frame(++seq);
    size_t most = MESSAGE_MAX - FRAME_HEAD_BYTES;

    f.width = 64;
    f.height = 48;
    if (picture) {
        f.payload = data;
        f.payload_len = (uint32_t)(len < most ? len : most);
    }
    frame_encode_head(msg, &f, FRAME_POSE_CV);
    memcpy(msg + FRAME_HEAD_BYTES, f.payload, f.payload_len);
    if (!picture) /* up to the entry of its part */
        memcpy(msg + 24, data, len < 56 ? len : 56);
    receive(msg, FRAME_HEAD_BYTES + f.payload_len, true);
}

static void one_message(uint8_t kind, const uint8_t *data, size_t len)
{
    switch (kind % 6) {
    case 0:
    case 1:
        receive(data, len, kind % 6 == 0);
        break;
    case 2:
    case 3:
        receive_frame(data, len, kind % 6 == 2);
        break;
    case 4:
        if (!over)
            leave();
        come();
        break;
    default:
        usleep(200);
    }
    hear();
}

/* Nothing is lost, and no client waits for ever. */
static void settle(void)
{
    struct session_info info = {0};

    for (int i = 0; i < 500000; i++) {
        hear();
        info = rig_info(id);
        if (info.counts.queued == 0)
            break;
        usleep(100);
    }
    need(info.counts.queued == 0);
    need(info.counts.received == info.counts.used + info.counts.dropped + info.counts.refused);
    need(info.fault[0] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    start_once();
    if (inputs++ % SESSIONS_KEPT == 0)
        make_session();
    come();
    for (int i = 0; i < 40 && size >= 3; i++) {
        size_t len = (size_t)data[1] | (size_t)data[2] << 8;

        len = len < size - 3 ? len : size - 3;
        one_message(data[0], data + 3, len);
        data += 3 + len;
        size -= 3 + len;
    }
    settle();
    if (!over)
        leave();
    if (inputs % SESSIONS_KEPT == 0)
        need(core_ops.session_delete(rig.core, id, NULL) == 0);
    return 0;
}
