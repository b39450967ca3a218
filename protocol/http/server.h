/* What the files of http/ know of the server. Private to http/. */
#ifndef DUEQ_PROTOCOL_HTTP_SERVER_H
#define DUEQ_PROTOCOL_HTTP_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

struct http;
struct http_node;
struct loop;
struct queue;

struct list *http_exchanges(struct http *h);
void http_exchange_ended(struct http *h);

/* Unique among all nodes as far as 64 random bits go. */
void http_next_request_id(struct http *h, char *id, size_t room);

const struct http_node *http_node(const struct http *h);
struct queue *http_queue(const struct http *h);
const struct loop *http_loop(const struct http *h);

#endif
