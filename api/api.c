#include "api/api.h"

const char *api_state_name(enum session_state s)
{
    static const char *const names[SESSION_STATES] = {"created",   "streaming",  "idle",
                                                      "suspended", "recovering", "closed"};
    return (unsigned)s < SESSION_STATES ? names[s] : "";
}
