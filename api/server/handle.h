/* handle.h - what each route does; handlers leave their answer in r (api/server/answer.h) */
#ifndef RECOND_API_HANDLE_H
#define RECOND_API_HANDLE_H

#include "api/server/answer.h"

void handle_session_create(struct http_request *r);
void handle_session_list(struct http_request *r);
void handle_session_get(struct http_request *r);
void handle_session_delete(struct http_request *r);
void handle_session_finalize(struct http_request *r);

void handle_cloud_export(struct http_request *r);
void handle_cloud_trajectory(struct http_request *r);
void handle_cloud_depth(struct http_request *r);

void handle_model_list(struct http_request *r);
void handle_device_list(struct http_request *r);

void handle_health_live(struct http_request *r);
void handle_health_ready(struct http_request *r);
void handle_health_metrics(struct http_request *r);
void handle_health_openapi(struct http_request *r);

#endif
