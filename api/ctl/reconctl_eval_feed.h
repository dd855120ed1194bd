/*
 * reconctl_eval_feed.h - a session that is asked for its depth map after every frame
 *
 * Frames go one by one, each after the answer to the one before, so that the map that the server
 * has is that of the frame asked about. A frame without a pose gets the identity, because only the
 * depth of the session is of interest.
 */
#ifndef RECOND_API_RECONCTL_EVAL_FEED_H
#define RECOND_API_RECONCTL_EVAL_FEED_H

#include "api/ctl/reconctl_args.h"
#include "api/ctl/reconctl_link.h"
#include "api/ctl/reconctl_source.h"
#include "proto/cloud/ply.h"

struct reconctl_eval_feed;

struct reconctl_eval_feed_config {
    const struct reconctl_link *link; /* outlives the feed */
    const struct reconctl_source_info *info;
    struct reconctl_size net; /* 0 = the server chooses */
    const struct reconctl_list *options;
    double
        max_depth_m; /* what the session fuses, unless an option says it; 0 = the server chooses */
};

/* Returns: 0; as client_session_create() and client_stream_open() */
MUST_CHECK int reconctl_eval_feed_open(struct reconctl_eval_feed **feed,
                                       const struct reconctl_eval_feed_config *config,
                                       struct err *err);
/* Deletes the session and closes the connection. */
void reconctl_eval_feed_close(struct reconctl_eval_feed **feed);

/*
 * reconctl_eval_feed_frame - send one frame, wait for its answer, fetch its depth
 *
 * In:      f: seq above the last one's
 * Out:     *depth [*h][*w] metres over the picture as it came, 0 = none, free() it
 * Returns: 0; ERR_UNSUPPORTED: the server did not use the frame, err says why: the next one may be
 *          sent; ERR_END: Ctrl-C; ERR_STATE: the map is another frame's; as client_stream_run()
 */
MUST_CHECK int reconctl_eval_feed_frame(struct reconctl_eval_feed *feed, float **depth, int *w,
                                        int *h, const struct frame *f, struct err *err);

/* The exit code for what these functions returned; feed is NULL where it could not be opened. */
int reconctl_eval_feed_exit(int rc, const struct reconctl_eval_feed *feed);

/*
 * reconctl_eval_feed_finish - no more frames: the session is closed and its cloud fetched
 *
 * Out:     cloud, ply_cloud_free() it
 * Returns: 0; ERR_IO: not closed within two minutes; as client_request() and ply_read_file()
 */
MUST_CHECK int reconctl_eval_feed_finish(struct reconctl_eval_feed *feed, struct ply_cloud *cloud,
                                         struct err *err);

#endif
