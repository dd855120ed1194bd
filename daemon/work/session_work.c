#include "daemon/work/session_work.h"

#include "daemon/session/options.h"
#include "proto/geom/pose.h"

static void kick_turn(struct session *s, struct turn *turns, struct turn_entry *e)
{
    session_ref(s);
    if (!turn_kick(turns, e))
        session_unref(s);
}

void session_work_kick_decoder(struct session *s)
{
    struct session_work *k = session_work(s);

    if (queue_can_decode(k->queue)) /* else the thread that decodes checks again when done */
        kick_turn(s, k->decode_turns, &k->decode_turn);
}

void session_work_kick_device(struct session *s)
{
    struct session_work *k = session_work(s);

    kick_turn(s, k->device_turns, &k->device_turn);
}

void session_work_due(struct session *s, bool due)
{
    struct session_work *k = session_work(s);

    turn_due(k->device_turns, &k->device_turn, due);
}

struct queue_item *session_work_take_next(struct session_work *k)
{
    struct queue_item *item = k->next;

    if (!item)
        return queue_take_ready(k->queue);
    frame_state_move(&item->state, FRAME_EVENT_TAKE);
    k->next = NULL;
    return item;
}

void session_work_turn_over(struct session *s)
{
    session_work(s)->ops->turn_over(s);
}

void session_work_retire(struct session *s)
{
    session_work(s)->ops->retire(s);
}

void session_work_save(struct session *s, bool suspend)
{
    if (!session_disk(s))
        return;
    store_want_checkpoint(s, suspend);
    session_work_kick_device(s);
    if (suspend) /* perhaps it is saved already */
        session_work_retire(s);
}

void session_work_restore(struct session *s, const struct session_work_kept *kept)
{
    session_work(s)->kept = *kept;
}

void session_work_hold(void *session)
{
    session_ref(session);
}

void session_work_let_go(void *session)
{
    session_unref(session);
}

struct session *session_work_of_decoder(struct turn_entry *e)
{
    return CONTAINER_OF(e, struct session_work, decode_turn)->session;
}

struct session *session_work_of_device(struct turn_entry *e)
{
    return CONTAINER_OF(e, struct session_work, device_turn)->session;
}

/* ------------------------------------------------------------------------- upright pictures */

static bool is_posed(const struct session_work *k, const struct queue_item *item)
{
    return item->frame.flags & FRAME_HAS_POSE &&
           k->setup->options.pose_source != SESSION_POSE_LEARNED;
}

uint32_t session_work_picture_shape(const struct queue_item *item)
{
    uint32_t shape = (uint32_t)item->frame.width * 2048u / (uint32_t)item->frame.height;

    return 1 + (shape * LENS_MODELS + (uint32_t)item->frame.lens.model) % UINT16_MAX;
}

/* Decides by the pose, or in a world without an up axis by how cameras are held. */
static bool must_be_seen(const struct session_work *k, const struct queue_item *item)
{
    const struct session_options *o = &k->setup->options;
    struct vec3 up;

    return o->upright == SESSION_UPRIGHT_AUTO && is_posed(k, item) &&
           item->convention != FRAME_POSE_OPENGL && !frame_up(&item->frame, item->convention, &up);
}

int session_work_see(const struct session_work *k, const struct queue_item *item,
                     struct upright *seen)
{
    int last = k->kept.any ? k->kept.turn : -1;

    *seen = (struct upright){0};
    if (k->kept.any && k->kept.submap == item->submap)
        *seen = k->kept.upright;
    return must_be_seen(k, item) ? upright_turn(seen, &item->frame.T_wc, item->exif_turn, last)
                                 : item->exif_turn;
}

int session_work_picture_turn(const struct session_work *k, const struct queue_item *item)
{
    const struct session_options *o = &k->setup->options;
    const struct frame *f = &item->frame;
    const struct rigid here = rigid_identity();
    int last = k->kept.any ? k->kept.turn : -1;
    bool posed = is_posed(k, item);
    struct upright seen;
    struct vec3 up;

    if (o->upright >= SESSION_UPRIGHT_0)
        return (int)(o->upright - SESSION_UPRIGHT_0);
    /* trackers with these axes have worlds whose y points up */
    if (posed && (o->upright == SESSION_UPRIGHT_GRAVITY ||
                  (o->upright == SESSION_UPRIGHT_AUTO && item->convention == FRAME_POSE_OPENGL)))
        return pose_turn(&f->T_wc, options_up(o->up), last);
    if (o->upright != SESSION_UPRIGHT_EXIF && frame_up(f, item->convention, &up))
        return pose_turn(&here, up, last);
    return session_work_see(k, item, &seen);
}

/* ------------------------------------------------------------------------- inertial samples */

void session_work_put_inertial(const struct session_work *k, const struct queue_item *item,
                               struct gpu_frame *f)
{
    const struct session_options *o = &k->setup->options;
    struct session_pose last;
    struct vec3 up;

    if (!k->kept.any) {
        f->has_start = frame_up(&item->frame, item->convention, &up);
        if (f->has_start)
            f->T_wc = pose_level(up, options_up(o->up));
    } else if (!f->restart && trajectory_last(session_trajectory(k->session), &last) &&
               last.source == (uint32_t)item->source) {
        (void)frame_turn(&item->frame, item->convention, last.t_capture_ns, f->turn, &f->turn_s);
    }
}
