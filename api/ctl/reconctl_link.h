/*
 * reconctl_link.h - REST connections of commands
 */
#ifndef RECOND_API_RECONCTL_LINK_H
#define RECOND_API_RECONCTL_LINK_H

#include "api/client/client.h"
#include "api/ctl/reconctl.h"
#include "api/ctl/reconctl_server.h"

struct reconctl_link {
    struct client *client;
    struct client_config config;
    char token[257];
    struct reconctl_server server;
};

/*
 * reconctl_link_open - REST connection as --url, --token-file and the environment say
 *
 * In:      may_start: where no URL is given and nothing answers at the default one, start a recond
 *          that stands beside this program or in PATH, on free ports, and say so on stderr
 */
MUST_CHECK int reconctl_link_open(struct reconctl_link *link, const struct reconctl_common *common,
                                  bool may_start, struct err *err);
/* Deletes a session that this program made, with the session's own token, because an ingest token
 * of the token file may not delete it. */
MUST_CHECK int reconctl_delete_session(const struct client_config *config,
                                       const struct client_session *s, struct err *err);
/* Stops the server that was started for this command, if one was. */
void reconctl_link_close(struct reconctl_link *link);

/* Gets a path as a JSON document; json_free() it. */
MUST_CHECK int reconctl_get(struct client *client, const char *path, struct json **doc,
                            struct err *err);
/*
 * reconctl_find_session - the session that a user means
 *
 * In:      text: an id, the beginning of one that no other has, or a name that no other has
 * Returns: 0; ERR_NOT_FOUND; ERR_INPUT: several; as client_request(), asked for all but a whole id
 */
MUST_CHECK int reconctl_find_session(char id[CONTROL_ID_CAP], struct client *client,
                                     const char *text, struct err *err);

#endif
