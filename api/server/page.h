/*
 * page.h - the page: files that a browser loads from the daemon, which holds them in its memory
 *
 * web_embed.py makes the table of api/web when recond is built, so that the page needs no folder at
 * run time. It needs no token: it holds nothing of any session, and asks for a token itself.
 * A file's policy (Content-Security-Policy) lets it load from its own origin and connect to the
 * streams of this server alone.
 */
#ifndef RECOND_API_PAGE_H
#define RECOND_API_PAGE_H

#include "api/server/answer.h"

struct web_file {
    const char *path, *type, *tag; /* path, "/style.css"; tag: hash of the plain bytes */
    const char *plain;
    size_t plain_len;
    const char *packed; /* the same bytes, compressed by gzip */
    size_t packed_len;
};

extern const struct web_file web_files[];
extern const int n_web_files;

/* Finds the file of a path, "/" being "/index.html"; NULL: there is none. */
const struct web_file *page_file(const char *path);
/* Tells whether an Accept-Encoding header allows gzip; NULL = absent, which does not. */
bool page_takes_gzip(const char *accept_encoding);

#endif
