/*
 * reconctl_table.h - the commands, each defined in the file of its family
 */
#ifndef RECOND_API_RECONCTL_TABLE_H
#define RECOND_API_RECONCTL_TABLE_H

#include "api/ctl/reconctl.h"

extern const struct reconctl_command reconctl_push_command;
extern const struct reconctl_command reconctl_pull_command;
extern const struct reconctl_command reconctl_session_create_command;
extern const struct reconctl_command reconctl_session_list_command;
extern const struct reconctl_command reconctl_session_get_command;
extern const struct reconctl_command reconctl_session_finalize_command;
extern const struct reconctl_command reconctl_session_delete_command;
extern const struct reconctl_command reconctl_export_command;
extern const struct reconctl_command reconctl_render_command;
extern const struct reconctl_command reconctl_top_command;
extern const struct reconctl_command reconctl_doctor_command;
extern const struct reconctl_command reconctl_token_new_command;
extern const struct reconctl_command reconctl_token_list_command;
extern const struct reconctl_command reconctl_token_revoke_command;
extern const struct reconctl_command reconctl_eval_depth_command;
extern const struct reconctl_command reconctl_eval_trajectory_command;
extern const struct reconctl_command reconctl_eval_cloud_command;
extern const struct reconctl_command reconctl_eval_scene_command;

#endif
