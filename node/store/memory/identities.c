/* Identities: who may do what. See op.h, and identify.lua for what this mirrors. */
#include "node/store/memory/ops.h"

#include <string.h>

#include "node/store/memory/db.h"
#include "node/store/memory/topic.h"

struct memory_identity {
    struct list link;
    int64_t version;
    struct bytes name, line; /* point to `bytes` */
    char bytes[];
};

static struct memory_identity *identity_of(struct list *link)
{
    return CONTAINER_OF(link, struct memory_identity, link);
}

void memory_identities_init(struct memory_identities *identities)
{
    *identities = (struct memory_identities){0};
    list_init(&identities->all);
}

static void identity_remove(struct memory_identity *identity)
{
    list_remove(&identity->link);
    free(identity);
}

void memory_identities_fini(struct memory_identities *identities)
{
    LIST_EACH_SAFE (link, &identities->all)
        identity_remove(identity_of(link));
}

enum status memory_run_identities(struct call *c)
{
    const struct memory_identities *all = &c->bucket->identities;
    struct identity_row *rows = room_get(c->room, OP_IDENTITY_ROWS_MAX * sizeof(*rows));
    typeof(c->op->out.identities) *out = &c->op->out.identities;
    struct bytes id = bytes_of(all->id, all->id_len);

    if (id.len && bytes_equal(id, c->op->in.identities.known)) {
        out->is_same = true;
        return STATUS_OK;
    }
    LIST_EACH (link, &all->all) {
        const struct memory_identity *identity = identity_of(link);

        rows[out->count++] = (struct identity_row){.name = room_copy(c->room, identity->name),
                                                   .version = identity->version,
                                                   .line = room_copy(c->room, identity->line)};
    }
    out->rows = rows;
    out->version = all->version;
    out->horizon = all->horizon;
    out->id = room_copy(c->room, id);
    return STATUS_OK;
}

/* ---- identify ---- */

/* A certificate's name may have a comma in it; a token stands behind '=' or a comma. */
static bool has_mark(struct bytes line, struct bytes mark)
{
    bool is_cert = mark.len >= 5 && !memcmp(mark.at, "cert=", 5);
    const char *front = is_cert ? " " : " ,=", *back = is_cert ? " " : " ,";

    for (size_t i = 0; i + mark.len <= line.len; i++) {
        size_t end = i + mark.len;

        if (!memcmp(line.at + i, mark.at, mark.len) &&
            (i == 0 || memchr(front, line.at[i - 1], strlen(front))) &&
            (end == line.len || memchr(back, line.at[end], strlen(back))))
            return true;
    }
    return false;
}

/* What there is beside the identity itself. */
struct others {
    struct memory_identity *itself; /* NULL: it is not there */
    bool have_mark;
    unsigned living;
    size_t bytes;
};

static struct others look_around(const struct memory_identities *all, const struct op *op)
{
    struct others others = {0};

    LIST_EACH (link, &all->all) {
        struct memory_identity *identity = identity_of(link);

        if (bytes_equal(identity->name, op->id)) {
            others.itself = identity;
            continue;
        }
        others.living += identity->line.len > 0;
        others.bytes += identity->line.len;
        for (unsigned i = 0; i < op->in.identify.mark_count; i++)
            others.have_mark |= has_mark(identity->line, op->in.identify.marks[i]);
    }
    return others;
}

static bool heals(const struct op *op, const struct memory_identity *old, int64_t horizon)
{
    int64_t as = op->in.identify.as;

    if (!old)
        return as > horizon;
    return as > old->version ||
           (as == old->version && !op->in.identify.line.len && old->line.len);
}

static bool has_room(const struct op *op, const struct others *others)
{
    size_t len = op->in.identify.line.len;
    size_t was = others->itself ? others->itself->line.len : 0;

    if (!len)
        return true;
    if (op->in.identify.as)
        return was || others->living < 2 * OP_IDENTITIES_MAX;
    if (!was && others->living >= OP_IDENTITIES_MAX)
        return false;
    return len <= was || others->bytes + len <= OP_IDENTITY_BYTES_MAX;
}

static void put_identity(struct memory_identities *all, const struct op *op, int64_t version)
{
    struct bytes line = op->in.identify.line;
    struct memory_identity *identity =
        must(calloc(1, sizeof(*identity) + op->id.len + line.len));

    memcpy(identity->bytes, op->id.at, op->id.len);
    if (line.len)
        memcpy(identity->bytes + op->id.len, line.at, line.len);
    identity->name = bytes_of(identity->bytes, op->id.len);
    identity->line = bytes_of(identity->bytes + op->id.len, line.len);
    identity->version = version;
    list_append(&all->all, &identity->link);
    all->id_len = op->in.identify.id.len;
    memcpy(all->id, op->in.identify.id.at, all->id_len);
    if (version > all->version)
        all->version = version;
}

static void cut_tombstones(struct memory_identities *all)
{
    struct memory_identity *oldest = NULL;
    unsigned count = 0;

    LIST_EACH (link, &all->all) {
        struct memory_identity *identity = identity_of(link);

        if (identity->line.len)
            continue;
        count++;
        if (!oldest || identity->version < oldest->version)
            oldest = identity;
    }
    if (count <= OP_IDENTITIES_MAX)
        return;
    if (oldest->version > all->horizon)
        all->horizon = oldest->version;
    identity_remove(oldest);
}

static int64_t next_version(const struct memory_identities *all, const struct op *op)
{
    int64_t floor = op->in.identify.floor;

    if (op->in.identify.as)
        return op->in.identify.as;
    return (all->version > floor ? all->version : floor) + 1;
}

static enum status change(struct call *c, struct memory_identity *old)
{
    struct memory_identities *all = &c->bucket->identities;
    int64_t version = next_version(all, c->op);

    if (version > OP_IDENTITY_VERSION_MAX)
        return STATUS_OUT_OF_RANGE;
    if (old)
        identity_remove(old);
    put_identity(all, c->op, version);
    cut_tombstones(all);
    c->op->out.identify.version = version;
    LIST_EACH (link, &c->bucket->db->listeners) {
        struct memory_listener *listener = CONTAINER_OF(link, struct memory_listener, link);

        listener->on_identities(listener);
    }
    return STATUS_OK;
}

static bool is_expected(const struct op *op, const struct memory_identity *old)
{
    int64_t version = old && old->line.len ? old->version : 0;

    return op->in.identify.expected == -1 || op->in.identify.expected == version;
}

enum status memory_run_identify(struct call *c)
{
    struct op *op = c->op;
    struct others others = look_around(&c->bucket->identities, op);
    struct memory_identity *old = others.itself;
    bool is_heal = op->in.identify.as > 0;
    bool is_done = is_heal ? !heals(op, old, c->bucket->identities.horizon)
                           : old && bytes_equal(old->line, op->in.identify.line) &&
                                 c->bucket->identities.version >= op->in.identify.floor;

    if (is_done) {
        op->out.identify.version = old ? old->version : 0;
        return STATUS_OK;
    }
    if (!is_heal && !is_expected(op, old))
        return STATUS_WRONG_STATE;
    if (!is_heal && others.have_mark)
        return STATUS_DUPLICATE;
    if (!has_room(op, &others))
        return STATUS_TOO_MANY_IDENTITIES;
    return change(c, old);
}
