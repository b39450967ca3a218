#include "ha/coord/coordinator.h"

#include <assert.h>

static const char *const status_words[] = {
#define X(name, word) word,
    COORD_STATUS_LIST(X)
#undef X
};

static const char *const session_words[] = {
#define X(name, word) word,
    COORD_SESSION_LIST(X)
#undef X
};

void coordinator_open(struct coordinator *c)
{
    assert(c->session == COORD_SESSION_CLOSED);
    c->ops->open(c);
}

void coordinator_close(struct coordinator *c)
{
    c->ops->close(c);
}

void coordinator_read(struct coordinator *c, struct coord_call *call)
{
    assert(call->path && call->on_done);
    c->ops->read(c, call);
}

void coordinator_list(struct coordinator *c, struct coord_call *call)
{
    assert(call->path && call->on_done);
    c->ops->list(c, call);
}

void coordinator_write(struct coordinator *c, struct coord_call *call)
{
    assert(call->on_done && call->change_count > 0 && call->change_count <= COORD_CHANGES_MAX);
    c->ops->write(c, call);
}

void coordinator_end_session(struct coordinator *c, const struct coord_credentials *whose)
{
    c->ops->end_session(c, whose);
}

const char *coord_status_word(enum coord_status status)
{
    assert(status < COORD_STATUS_COUNT);
    return status_words[status];
}

const char *coord_session_word(enum coord_session session)
{
    assert(session < COORD_SESSION_COUNT);
    return session_words[session];
}
