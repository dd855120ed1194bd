/* ws.h - what the stream edge shows to its neighbours in api/ beyond api.h */
#ifndef RECOND_API_WS_H
#define RECOND_API_WS_H

#include "api/api.h"

struct ws_counts {
    uint64_t connections, accepted, refused, overstayed, broken;
    uint64_t messages_in, messages_out, bytes_in, bytes_out;
};
void ws_counts(const struct ws *w, struct ws_counts *counts);

#endif
