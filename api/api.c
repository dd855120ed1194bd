#include "api/api.h"

const char *api_state_name(enum session_state s)
{
    static const char *const names[SESSION_STATES] = {"created",   "streaming",  "idle",
                                                      "suspended", "recovering", "closed"};
    return (unsigned)s < SESSION_STATES ? names[s] : "";
}

const char *api_tracks_state_name(enum api_tracks_state s)
{
    static const char *const names[API_TRACKS_STATES] = {"none", "begun", "found", "lost"};

    return (unsigned)s < API_TRACKS_STATES ? names[s] : "";
}

const char *api_bundle_state_name(enum api_bundle_state s)
{
    static const char *const names[API_BUNDLE_STATES] = {"none",     "running",   "unseen", "right",
                                                         "contrary", "corrected", "failed"};

    return (unsigned)s < API_BUNDLE_STATES ? names[s] : "";
}

const char *api_views_state_name(enum api_views_state s)
{
    static const char *const names[API_VIEWS_STATES] = {"off", "waiting", "ok", "poses_disagree"};

    return (unsigned)s < API_VIEWS_STATES ? names[s] : "";
}
