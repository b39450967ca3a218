#include "ha/coord/zk_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/resolve.h"
#include "ha/coord/zk_closer.h"
#include "ha/coord/zk_io.h"
#include "ha/coord/zk_probe.h"

#define AGAIN_MS     1000
#define COMPLAINT_MS 30000

struct zk_coordinator {
    struct coordinator base;
    struct zk_options options;
    struct loop *loop;
    struct zk_io io;
    zhandle_t *handle;            /* while connected; NULL: calls end UNAVAILABLE */
    const struct ACL_vector *acl; /* for znodes that are created */
    struct later ended;           /* calls that end in a later turn */
    struct zk_closer closer;
    struct zk_probe probe;
    struct zk_conf conf;
    struct resolve resolve;
    struct timer again;       /* while not connected */
    int64_t complain_mono_ms; /* when to log again that no server is reached */
    int64_t lost_mono_ms;     /* when the connection was lost; valid with was_connected */
    bool was_connected;       /* this session has been */
    bool is_tick_missed;      /* the unknown tickTime has been logged */
};

static struct zk_coordinator *self_of(struct coordinator *c)
{
    return CONTAINER_OF(c, struct zk_coordinator, base);
}

/* ---- the session ---- */

static void set_why(struct zk_coordinator *z, const char *why)
{
    snprintf(z->base.why, sizeof(z->base.why), "%s", why);
}

static void enter(struct zk_coordinator *z, enum coord_session to, const char *why)
{
    set_why(z, why);
    if (z->base.session == to)
        return;
    z->base.session = to;
    z->base.on_session(&z->base);
}

static void take_session(struct zk_coordinator *z)
{
    struct coordinator *c = &z->base;
    const clientid_t *id = zoo_client_id(z->io.handle);
    const char *server = zoo_get_current_server(z->io.handle);

    c->granted_ms = zoo_recv_timeout(z->io.handle);
    c->credentials.session = id->client_id;
    memcpy(c->credentials.password, id->passwd, sizeof(c->credentials.password));
    snprintf(c->server, sizeof(c->server), "%s", server ? server : "");
}

/* The tickTime is known, or will not be told: the user knows it when the session begins. */
static void connected(struct zk_coordinator *z)
{
    struct coordinator *c = &z->base;
    bool is_back = z->was_connected;

    z->was_connected = true;
    z->handle = z->io.handle;
    z->io.why[0] = '\0';
    zk_probe_stop(&z->probe);
    timer_disarm(&z->loop->timers, &z->again);
    LOG_INFO("zookeeper", "%s %s: session 0x%llx, %lld ms", is_back ? "is back at" : "is at",
             c->server, (unsigned long long)c->credentials.session, (long long)c->granted_ms);
    enter(z, COORD_SESSION_CONNECTED, "");
    if (is_back && c->session == COORD_SESSION_CONNECTED)
        c->on_change(c, "");
}

static void on_tick(struct zk_conf *conf, int64_t tick_ms)
{
    struct zk_coordinator *z = CONTAINER_OF(conf, struct zk_coordinator, conf);

    z->base.tick_ms = tick_ms;
    if (tick_ms)
        LOG_DEBUG("zookeeper", "%s has a tickTime of %lld ms", z->base.server,
                  (long long)tick_ms);
    else
        LOG_AT(z->is_tick_missed ? LEVEL_DEBUG : LEVEL_WARN, "zookeeper",
               "%s does not tell its tickTime, which must be a quarter of ha.session_timeout "
               "or less: put conf into its 4lw.commands.whitelist",
               z->base.server);
    z->is_tick_missed = !tick_ms;
    if (z->base.session != COORD_SESSION_CONNECTED)
        connected(z);
}

/* A new session waits for the tickTime. A session that goes on does not wait, and asks only if
 * no server has told yet: somebody may have changed the whitelist. */
static void reached(struct zk_coordinator *z)
{
    struct sockaddr_storage server;
    socklen_t size = sizeof(server);
    bool begins = !z->was_connected, asks = begins || !z->base.tick_ms;

    take_session(z);
    asks =
        asks && zookeeper_get_connected_host(z->io.handle, (struct sockaddr *)&server, &size);
    if (asks)
        zk_conf_start(&z->conf, (struct sockaddr *)&server, size, z->options.session_ms / 4);
    if (!begins || !asks)
        connected(z);
}

/* No call reaches a server until the session is connected again. */
static void disconnected(struct zk_coordinator *z, enum coord_session to, const char *why)
{
    z->handle = NULL;
    z->base.server[0] = '\0';
    enter(z, to, why);
}

static void lost(struct zk_coordinator *z)
{
    char why[sizeof(z->base.why)];

    snprintf(why, sizeof(why), "the connection to %s was lost", z->base.server);
    LOG_WARN("zookeeper", "%s", why);
    z->lost_mono_ms = timers_now(&z->loop->timers);
    z->complain_mono_ms = z->lost_mono_ms + AGAIN_MS;
    timer_arm(&z->loop->timers, &z->again, AGAIN_MS);
    disconnected(z, COORD_SESSION_CONNECTING, why);
}

static void over(struct zk_coordinator *z, enum coord_session to, const char *why)
{
    LOG_WARN("zookeeper", "session 0x%llx: %s", (unsigned long long)z->base.credentials.session,
             why);
    zk_probe_stop(&z->probe);
    timer_disarm(&z->loop->timers, &z->again);
    disconnected(z, to, why);
}

static void on_session(struct zk_coordinator *z, int state)
{
    if (zk_conf_is_asking(&z->conf)) {
        zk_conf_stop(&z->conf);
        if (z->base.session != COORD_SESSION_CONNECTED)
            z->base.server[0] = '\0';
    }
    if (state == ZOO_CONNECTED_STATE)
        reached(z);
    else if (state == ZOO_EXPIRED_SESSION_STATE)
        over(z, COORD_SESSION_EXPIRED, "a server says that it is over");
    else if (state == ZOO_AUTH_FAILED_STATE)
        over(z, COORD_SESSION_DENIED, "the servers refuse the credentials (ha.auth)");
    else if (z->base.session == COORD_SESSION_CONNECTED)
        lost(z);
}

/* Notices of the session and of every watched znode. */
static void on_watch(zhandle_t *handle, int type, int state, const char *path, void *context)
{
    struct zk_coordinator *z = context;

    if (!z->io.handle) /* the handle is being closed */
        return;
    if (type == ZOO_SESSION_EVENT)
        on_session(z, state);
    else if (type != ZOO_NOTWATCHING_EVENT)
        z->base.on_change(&z->base, path);
}

/* ---- reaching a server ---- */

/* Servers do not check a digest when they receive it. */
static void on_authorized(int code, const void *data)
{
}

static void begin(struct zk_coordinator *z)
{
    struct zk_target target = {.servers = buf_text(&z->resolve.servers),
                               .session_ms = z->options.session_ms,
                               .on_watch = on_watch,
                               .context = z};
    const char *auth = z->options.auth;

    if (zk_io_start(&z->io, &target) == STATUS_OK && *auth)
        zoo_add_auth(z->io.handle, "digest", auth, (int)strlen(auth), on_authorized, NULL);
}

static void on_resolved(struct resolve *r)
{
    struct zk_coordinator *z = CONTAINER_OF(r, struct zk_coordinator, resolve);

    if (z->base.session != COORD_SESSION_CONNECTING || !r->servers.len)
        return;
    if (z->io.handle)
        zk_io_set_servers(&z->io, buf_text(&r->servers));
    else
        begin(z);
}

static const char *why_not_connected(struct zk_coordinator *z)
{
    if (*z->io.why)
        return z->io.why;
    return *z->resolve.unknown ? z->resolve.unknown : "no server has answered yet";
}

/* Do the servers serve new sessions but not this one? Then their data are gone, or older. */
static bool is_void(struct zk_coordinator *z, int64_t now_mono_ms)
{
    return z->was_connected && now_mono_ms >= z->lost_mono_ms + 2 * z->options.session_ms &&
           zk_probe_tick(&z->probe, buf_text(&z->resolve.servers), z->options.session_ms);
}

/* While no server is reached the names are looked up again: their addresses may have changed.
 */
static void on_again(struct timer *timer)
{
    struct zk_coordinator *z = CONTAINER_OF(timer, struct zk_coordinator, again);
    int64_t now_mono_ms = timers_now(&z->loop->timers);

    set_why(z, why_not_connected(z));
    if (now_mono_ms >= z->complain_mono_ms) {
        LOG_WARN("zookeeper", "not connected: %s; check ha.zookeeper", z->base.why);
        z->complain_mono_ms = now_mono_ms + COMPLAINT_MS;
    }
    if (is_void(z, now_mono_ms)) {
        over(z, COORD_SESSION_EXPIRED,
             "the servers serve others, but have forgotten what this session has seen");
        return;
    }
    resolve_start(&z->resolve, z->options.servers);
    timer_arm(&z->loop->timers, &z->again, AGAIN_MS);
}

/* ---- calls ----
 *
 * A call ends from inside zookeeper_interest() or zookeeper_process() when a server answers or
 * the connection is lost; in a later turn when it could not begin, or the handle is closed.
 */

/* A write under way: the library fills in the results when it is answered. */
struct write {
    struct coord_call *call;
    zoo_op_result_t results[COORD_CHANGES_MAX];
};

/* A watched read. For a missing znode the server sets a watch only with `exists`. So an
 * `exists` follows each watched read at once, and a read that finds nothing ends with its
 * answer. */
struct watched {
    struct coord_call *call; /* NULL: the call has ended */
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
    struct zk_coordinator *z = call->private;

    call->status = status_of(code);
    later_add(&z->ended, &call->link);
}

/* Closing a handle ends its calls from inside, so these end in a later turn. */
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

/* ZOK after a read that found nothing: the znode was created in between. */
static void on_exists(int code, const struct Stat *stat, const void *data)
{
    struct watched *watched = (struct watched *)data;
    struct coord_call *call = watched->call;
    struct zk_coordinator *z;
    char *path;

    free(watched);
    if (!call)
        return;
    if (code != ZOK) {
        end(call, code);
        return;
    }
    z = call->private;
    path = must(strdup(call->path));
    end(call, ZNONODE);
    z->base.on_change(&z->base, path);
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

/* The changes before the refused one have no error; those after it have another error. */
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

static void begin_call(struct zk_coordinator *z, struct coord_call *call)
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

/* Lets the library send the call, or ends the call that it does not take. */
static void begun(struct coord_call *call, int error)
{
    struct zk_coordinator *z = call->private;

    if (error != ZOK)
        end_later(call, error);
    zk_io_poke(&z->io);
}

static int read_watched(struct zk_coordinator *z, struct coord_call *call)
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

static void read_znode(struct coordinator *c, struct coord_call *call)
{
    struct zk_coordinator *z = self_of(c);
    int error = ZINVALIDSTATE;

    begin_call(z, call);
    if (z->handle)
        error = call->watches ? read_watched(z, call)
                              : zoo_aget(z->handle, call->path, 0, on_data, call);
    begun(call, error);
}

static void list_znodes(struct coordinator *c, struct coord_call *call)
{
    struct zk_coordinator *z = self_of(c);
    int error = ZINVALIDSTATE;

    begin_call(z, call);
    if (z->handle)
        error = zoo_aget_children2(z->handle, call->path, call->watches, on_names, call);
    begun(call, error);
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

static void write_znodes(struct coordinator *c, struct coord_call *call)
{
    struct zk_coordinator *z = self_of(c);
    zoo_op_t ops[COORD_CHANGES_MAX];
    struct write *write;
    int error;

    begin_call(z, call);
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
    if (error != ZOK)
        free(write);
    begun(call, error);
}

/* ---- the port ---- */

static void open_session(struct coordinator *c)
{
    struct zk_coordinator *z = self_of(c);

    z->was_connected = false;
    z->complain_mono_ms = 0;
    c->granted_ms = 0;
    c->session = COORD_SESSION_CONNECTING;
    set_why(z, "no server has answered yet");
    resolve_start(&z->resolve, z->options.servers);
    timer_arm(&z->loop->timers, &z->again, AGAIN_MS);
}

/* `left` stays until a server has confirmed the end of the session. */
static void on_drained(struct zk_drain *d, bool is_over)
{
    struct zk_coordinator *z = CONTAINER_OF(d, struct zk_coordinator, io.drain);

    if (!is_over)
        LOG_WARN("zookeeper", "the session 0x%llx is left to expire: no server has ended it",
                 (unsigned long long)z->base.leaving);
    else if (z->base.left.session == z->base.leaving) /* no other session was left since */
        z->base.left = (struct coord_credentials){0};
    z->base.leaving = 0;
}

static void close_session(struct coordinator *c)
{
    struct zk_coordinator *z = self_of(c);

    if (c->session == COORD_SESSION_CONNECTED || c->session == COORD_SESSION_CONNECTING)
        c->left = c->credentials;
    c->session = COORD_SESSION_CLOSED;
    c->server[0] = c->why[0] = '\0';
    z->handle = NULL;
    resolve_cancel(&z->resolve);
    timer_disarm(&z->loop->timers, &z->again);
    zk_probe_stop(&z->probe);
    zk_conf_stop(&z->conf);
    if (zk_io_stop(&z->io, z->options.session_ms))
        c->leaving = c->credentials.session;
    explicit_bzero(&c->credentials, sizeof(c->credentials));
}

/* At the server that this node is connected to, because that server surely answers. */
static void end_session(struct coordinator *c, const struct coord_credentials *whose)
{
    struct zk_coordinator *z = self_of(c);
    const char *servers = *c->server ? c->server : buf_text(&z->resolve.servers);

    zk_closer_start(&z->closer, servers, whose, z->options.session_ms);
}

struct coordinator *zk_coordinator_new(const struct zk_options *options, struct loop *loop)
{
    static const struct coordinator_ops ops = {.open = open_session,
                                               .close = close_session,
                                               .read = read_znode,
                                               .list = list_znodes,
                                               .write = write_znodes,
                                               .end_session = end_session};
    struct zk_coordinator *z = must(calloc(1, sizeof(*z)));

    z->base.ops = &ops;
    z->options = *options;
    z->loop = loop;
    zk_io_init(&z->io, loop, on_drained);
    later_init(&z->ended, &loop->timers, tell);
    z->acl = *options->auth ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
    zk_closer_init(&z->closer, loop, NULL);
    zk_probe_init(&z->probe, loop);
    zk_conf_init(&z->conf, loop, on_tick);
    resolve_init(&z->resolve, loop, on_resolved);
    timer_init(&z->again, on_again);
    return &z->base;
}

void zk_coordinator_free(struct coordinator *c)
{
    struct zk_coordinator *z;

    if (!c)
        return;
    z = self_of(c);
    close_session(c);
    zk_io_fini(&z->io);
    zk_probe_fini(&z->probe);
    explicit_bzero(&c->left, sizeof(c->left));
    zk_closer_fini(&z->closer);
    resolve_fini(&z->resolve);
    later_fini(&z->ended);
    free(z);
}
