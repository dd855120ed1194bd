/*
 * control_answer.h - messages about frames (`ack`, `poses`, `objects`), and the fields that other
 * messages share with them
 */
#ifndef RECOND_PROTO_CONTROL_ANSWER_H
#define RECOND_PROTO_CONTROL_ANSWER_H

#include "proto/wire/control_message.h"

const char *control_reason_name(enum control_reason r);
const char *control_object_state_name(enum control_object_state s);

bool control_is_one_of(const char *word, const char *const *names);

/* Reads q x y z w and t from a list of seven numbers. Returns false for anything else. */
bool control_pose_read(const struct json *list, float pose[7]);
void control_pose_write(struct json_writer *w, const char *key, const float pose[7]);

/* The useful rate and quality; 0 = not said. */
void control_pace_read(const struct json_at *at, float *rate, uint8_t *jpeg);
void control_pace_write(struct json_writer *w, float rate, uint8_t jpeg);

/* Read and write the members of an op, in a message that the caller opened. */
void control_ack_parse(const struct json_at *at, struct control_ack *ack);
void control_ack_write(struct json_writer *w, const struct control_ack *ack);
void control_poses_parse(const struct json_at *at, struct control_poses *poses);
void control_poses_write(struct json_writer *w, const struct control_poses *poses);
void control_objects_parse(const struct json_at *at, struct control_objects *objects);
/* The members of an item of `objects`, in a map that the caller opened. */
void control_object_write(struct json_writer *w, const struct control_object *o);

/* Converts a pose q x y z w, t from OpenCV camera axes to OpenGL's, and back. */
void control_pose_swap_axes(float pose[7]);

#endif
