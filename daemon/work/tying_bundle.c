/* Which sessions keep keyframes, and when those of one are bundled. */
#include "daemon/work/tying_internal.h"

#include "daemon/log.h"
#include "daemon/session/session_ends.h"
#include "daemon/session/session_info.h"

bool tying_ties(const struct session_options *o)
{
    return o->kind == SESSION_MONO && o->ties == SESSION_TIES_ON &&
           o->pose_source == SESSION_POSE_DEVICE;
}

bool tying_keeps(const struct session_options *o)
{
    return tying_ties(o) || (o->kind == SESSION_MONO && o->bundle == SESSION_BUNDLE_ON);
}

bool tying_is_to_bundle(struct session *s)
{
    const struct session_work *k = session_work(s);

    return k->tying && (k->kept.bundle == STORE_BUNDLING ||
                        (session_setup(s)->options.bundle == SESSION_BUNDLE_ON &&
                         k->kept.bundle != STORE_BUNDLED));
}

bool tying_bundle(struct session *s)
{
    struct tying_part *p = session_work(s)->tying;
    bool any = false, first = false;

    if (p) {
        lock_take(&p->lock);
        any = p->n_kept > 0;
        first = any && !p->bundle;
        p->bundle = any;
        lock_give(&p->lock);
    }
    if (first) {
        session_tell_bundle(s, &(struct api_bundle){.state = API_BUNDLE_RUNNING});
        tying_kick(p);
    } else if (!any) {
        session_set_bundle(s, false);
    }
    return any;
}

void tying_give_up(struct session *s)
{
    struct tying_part *p = session_work(s)->tying;

    if (p) {
        lock_take(&p->lock);
        p->bundle = false;
        lock_give(&p->lock);
    }
    session_set_bundle(s, false);
}

/* Returns whether there are more steps. */
static bool step(struct tying_part *p, uint32_t n_described)
{
    struct err err = {0};

    if (!p->bundling) {
        tying_find_places(p, true);
        if (bundling_new(&p->bundling, p->session, p->ties, n_described, p->places, &err)) {
            LOG_AT(LOG_WARNING, "session %s: %s", session_id(p->session), err.text);
            session_tell_bundle(p->session, &(struct api_bundle){.state = API_BUNDLE_FAILED});
            return false;
        }
    }
    if (bundling_step(p->bundling))
        return true;
    bundling_free(&p->bundling);
    return false;
}

bool tying_step_bundle(struct tying_part *p)
{
    uint32_t n_described;
    bool asked;

    lock_take(&p->lock);
    asked = p->bundle;
    n_described = p->n_described;
    lock_give(&p->lock);
    if (!asked)
        return false;
    if (step(p, n_described))
        return true;
    lock_take(&p->lock);
    p->bundle = false;
    lock_give(&p->lock);
    session_set_bundle(p->session, false);
    p->tying->ended(p->session);
    return false;
}
