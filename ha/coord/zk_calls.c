#include "ha/coord/zk_calls.h"

#include <stdlib.h>
#include <string.h>

/* A write under way: the library fills in the results when it is answered. */
struct write {
    struct coord_call *call;
    zoo_op_result_t results[COORD_CHANGES_MAX];
};

/* A watched read. The server watches what is not there only for who asks whether it exists:
 * so that question follows each such read on its heels, and a read that finds nothing ends
 * with its answer. */
struct watched {
    struct coord_call *call; /* NULL: it has ended */
};

static enum coord_status status_of(int code)
{
    static const struct {
        int code;
        enum coord_status status;
    } table[] = {
        {ZOK, COORD_OK},
        {ZNONODE, COORD_NO_NODE},
        {ZNODEEXISTS, COORD_EXISTS},
        {ZBADVERSION, COORD_BAD_VERSION},
        {ZNOAUTH, COORD_DENIED},
        {ZAUTHFAILED, COORD_DENIED},
        {ZINVALIDACL, COORD_DENIED},
        {ZSESSIONEXPIRED, COORD_EXPIRED},
        {ZCONNECTIONLOSS, COORD_UNKNOWN},
        {ZOPERATIONTIMEOUT, COORD_UNKNOWN},
        {ZSESSIONMOVED, COORD_UNKNOWN},
        {ZCLOSING, COORD_UNKNOWN},
        {ZINVALIDSTATE, COORD_UNAVAILABLE},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (table[i].code == code)
            return table[i].status;
    return COORD_ERROR;
}

/* ---- the end of a call ---- */

static void end_later(struct coord_call *call, int code)
{
    struct zk_calls *z = call->private;

    call->status = status_of(code);
    later_add(&z->ended, &call->link);
}

/* Closing a handle ends its calls from inside. */
static void end(struct coord_call *call, int code)
{
    if (code == ZCLOSING) {
        end_later(call, code);
        return;
    }
    call->status = status_of(code);
    call->on_done(call);
}

static void tell(struct later *later, struct list *link)
{
    struct coord_call *call = CONTAINER_OF(link, struct coord_call, link);

    call->on_done(call);
}

/* ---- answers ---- */

static void take_data(struct coord_call *call, const char *value, int value_len,
                      const struct Stat *stat)
{
    if (value_len > 0)
        call->data = bytes_of(value, (size_t)value_len);
    call->version = stat->version;
    call->owner = stat->ephemeralOwner;
}

static void on_data(int code, const char *value, int value_len, const struct Stat *stat,
                    const void *data)
{
    struct coord_call *call = (struct coord_call *)data;

    if (code == ZOK)
        take_data(call, value, value_len, stat);
    end(call, code);
}

static void on_watched_data(int code, const char *value, int value_len, const struct Stat *stat,
                            const void *data)
{
    struct watched *watched = (struct watched *)data;
    struct coord_call *call = watched->call;

    if (code == ZNONODE)
        return;
    watched->call = NULL;
    if (code == ZOK)
        take_data(call, value, value_len, stat);
    end(call, code);
}

/* ZOK where the read had found nothing: it was created in between. */
static void on_exists(int code, const struct Stat *stat, const void *data)
{
    struct watched *watched = (struct watched *)data;
    struct coord_call *call = watched->call;
    struct coordinator *c;
    char *path;

    free(watched);
    if (!call)
        return;
    if (code != ZOK) {
        end(call, code);
        return;
    }
    c = ((struct zk_calls *)call->private)->coordinator;
    path = strdup(call->path);
    if (!path)
        abort();
    end(call, ZNONODE);
    c->on_change(c, path);
    free(path);
}

static void on_names(int code, const struct String_vector *names, const struct Stat *stat,
                     const void *data)
{
    struct coord_call *call = (struct coord_call *)data;

    if (code == ZOK && names) {
        call->names = (const char *const *)names->data;
        call->name_count = (unsigned)names->count;
        call->list_number = stat->pzxid;
    }
    end(call, code);
}

/* The changes before the refused one have no error, those behind it another one. */
static unsigned first_refused(const struct write *write)
{
    for (unsigned i = 0; i < write->call->change_count; i++)
        if (write->results[i].err != ZOK && write->results[i].err != ZRUNTIMEINCONSISTENCY)
            return i;
    return 0;
}

static void on_written(int code, const void *data)
{
    struct write *write = (struct write *)data;
    struct coord_call *call = write->call;

    call->failed = first_refused(write);
    free(write);
    end(call, code);
}

/* ---- calls ---- */

static void *must(void *memory)
{
    if (!memory)
        abort();
    return memory;
}

static void begin(struct zk_calls *z, struct coord_call *call)
{
    list_init(&call->link);
    call->private = z;
    call->failed = 0;
    call->data = bytes_of("", 0);
    call->version = 0;
    call->owner = 0;
    call->names = NULL;
    call->name_count = 0;
    call->list_number = 0;
}

static int read_watched(struct zk_calls *z, struct coord_call *call)
{
    struct watched *watched = must(calloc(1, sizeof(*watched)));
    int error;

    watched->call = call;
    error = zoo_aget(z->handle, call->path, 1, on_watched_data, watched);
    if (error != ZOK)
        free(watched);
    else if (zoo_aexists(z->handle, call->path, 1, on_exists, watched) != ZOK)
        abort(); /* only for want of memory */
    return error;
}

void zk_read(struct zk_calls *z, struct coord_call *call)
{
    int error = ZINVALIDSTATE;

    begin(z, call);
    if (z->handle)
        error = call->watches ? read_watched(z, call)
                              : zoo_aget(z->handle, call->path, 0, on_data, call);
    if (error != ZOK)
        end_later(call, error);
}

void zk_list(struct zk_calls *z, struct coord_call *call)
{
    int error = ZINVALIDSTATE;

    begin(z, call);
    if (z->handle)
        error = zoo_aget_children2(z->handle, call->path, call->watches, on_names, call);
    if (error != ZOK)
        end_later(call, error);
}

static void translate(zoo_op_t *to, const struct coord_change *from,
                      const struct ACL_vector *acl)
{
    int data_len = (int)from->data.len;

    switch (from->kind) {
    case COORD_CHECK:
        zoo_check_op_init(to, from->path, from->version);
        break;
    case COORD_CREATE:
    case COORD_CREATE_EPHEMERAL:
        zoo_create_op_init(to, from->path, from->data.at, data_len, acl,
                           from->kind == COORD_CREATE ? 0 : ZOO_EPHEMERAL, NULL, 0);
        break;
    case COORD_SET:
        zoo_set_op_init(to, from->path, from->data.at, data_len, from->version, NULL);
        break;
    case COORD_DELETE:
        zoo_delete_op_init(to, from->path, from->version);
        break;
    }
}

void zk_write(struct zk_calls *z, struct coord_call *call)
{
    zoo_op_t ops[COORD_CHANGES_MAX];
    struct write *write;
    int error;

    begin(z, call);
    if (!z->handle) {
        end_later(call, ZINVALIDSTATE);
        return;
    }
    write = must(calloc(1, sizeof(*write)));
    write->call = call;
    for (unsigned i = 0; i < call->change_count; i++)
        translate(&ops[i], &call->changes[i], z->acl);
    error =
        zoo_amulti(z->handle, (int)call->change_count, ops, write->results, on_written, write);
    if (error != ZOK) {
        free(write);
        end_later(call, error);
    }
}

void zk_calls_init(struct zk_calls *z, struct coordinator *c, struct timers *timers)
{
    *z = (struct zk_calls){.coordinator = c};
    later_init(&z->ended, timers, tell);
}

void zk_calls_fini(struct zk_calls *z)
{
    later_fini(&z->ended);
}
