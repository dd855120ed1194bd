/* session_info.h - figures and pictures of a session for clients and metrics */
#pragma once

#include "daemon/session/session.h"

void session_get_info(struct session *s, struct session_info *info);
/* Returns its recent frames a second on its device; a new one counts as much as a camera. */
float session_load(struct session *s);
/* Fills its public description. */
void session_tell_bundle(struct session *s, const struct api_bundle *told);
/* A frame was used at this position, if it brought one. */
void session_set_position(struct session *s, const struct frame *f);
/* Keeps a preview: depth [net_h][net_w] metres, 0 = none. */
void session_set_preview(struct session *s, const float *depth, uint64_t seq);
/* Copies the latest depth map; with cap 0 only w, h and seq. Returns 0; ERR_STATE: none kept;
 * ERR_LIMIT: cap pixels are too few. */
MUST_CHECK int session_get_depth(struct session *s, float *buf, size_t cap, int *w, int *h,
                                 uint64_t *seq, struct err *err);
/* Replaces its tokens. Returns 0; ERR_LIMIT: more than SESSION_TOKENS_MAX. */
MUST_CHECK int session_keep_tokens(struct session *s, const struct api_token *tokens, int n,
                                   struct err *err);
/* Returns their number. */
int session_get_tokens(struct session *s, struct api_token tokens[SESSION_TOKENS_MAX]);
