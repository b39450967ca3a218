#include "protocol/api/object.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/encoding.h"
#include "base/nearest.h"

#define QUOTED_MAX_BYTES 60 /* of what the client wrote */

enum status api_because(struct api_why *why, enum status status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    /* cppcheck-suppress ctuuninitvar ; it is written here, not read */
    vsnprintf(why->text, sizeof(why->text), format, args);
    va_end(args);
    return status;
}

/* ---- values ---- */

/* Where a value stands, and what it is to be. */
struct reading {
    const char *where;
    const struct object_rule *rule;
    struct api_why *why;
};

static enum status read_number(const struct reading *at, struct bytes value, int64_t *number)
{
    const struct object_rule *rule = at->rule;
    int64_t found;

    if (!number_read(value, &found))
        return api_because(at->why, STATUS_BAD_REQUEST, "%s%s: not an integer", at->where,
                           rule->name);
    if (found == 0 && rule->may_be_0) {
        *number = 0;
        return STATUS_OK;
    }
    if (rule->min == OBJECT_MOMENT_MIN && found >= 0 && found < rule->min)
        return api_because(
            at->why, STATUS_OUT_OF_RANGE,
            "%s%s: below %lld, these look like seconds (milliseconds since 1970)", at->where,
            rule->name, (long long)rule->min);
    if (found < rule->min || found > rule->max)
        return api_because(at->why, STATUS_OUT_OF_RANGE, "%s%s: not %sfrom %lld to %lld",
                           at->where, rule->name, rule->may_be_0 ? "0, nor " : "",
                           (long long)rule->min, (long long)rule->max);
    *number = found;
    return STATUS_OK;
}

/* A common mistake has a message of its own. */
static enum status refuse_kind(const struct reading *at)
{
    static const char *const kinds[] = {
        [JSON_KIND_BOOL] = "true or false", [JSON_KIND_NUMBER] = "an integer",
        [JSON_KIND_STRING] = "a string",    [JSON_KIND_LIST] = "a list",
        [JSON_KIND_OBJECT] = "an object",
    };
    const struct object_rule *rule = at->rule;
    const char *hint =
        strcmp(rule->name, "body") == 0 ? " (send other JSON as its text, in a string)" : "";

    return api_because(at->why, STATUS_BAD_REQUEST, "%s%s: not %s%s%s", at->where, rule->name,
                       kinds[rule->kind], rule->may_be_null ? ", or null" : "", hint);
}

static enum status read_value(const struct reading *at, struct bytes value,
                              struct object_member *member)
{
    const struct object_rule *rule = at->rule;

    if (member->is_given)
        return api_because(at->why, STATUS_BAD_REQUEST, "%s%s: given twice", at->where,
                           rule->name);
    member->is_given = true;
    member->is_null = rule->may_be_null && json_kind_of(value) == JSON_KIND_NULL;
    if (member->is_null)
        return STATUS_OK;
    if (json_kind_of(value) != rule->kind)
        return refuse_kind(at);
    if (rule->kind == JSON_KIND_NUMBER)
        return read_number(at, value, &member->number);
    if (rule->kind == JSON_KIND_STRING)
        member->text = json_unescape(value);
    else
        member->value = value;
    member->is_true = value.at[0] == 't';
    return STATUS_OK;
}

/* ---- the object ---- */

static const struct object_rule *find_rule(const struct object_rule *rules, unsigned count,
                                           struct bytes name)
{
    for (unsigned i = 0; i < count; i++)
        if (bytes_equal(name, bytes_of_text(rules[i].name)))
            return &rules[i];
    return NULL;
}

static enum status refuse_name(const char *where, const struct object_rule *rules,
                               unsigned count, struct bytes name, struct api_why *why)
{
    struct nearest nearest = nearest_to(name);

    for (unsigned i = 0; i < count; i++)
        nearest_offer(&nearest, rules[i].name);
    return api_because(why, STATUS_BAD_REQUEST, "%s%.*s: unknown member%s%s%s%s", where,
                       name.len < QUOTED_MAX_BYTES ? (int)name.len : QUOTED_MAX_BYTES, name.at,
                       nearest.found ? "; did you mean " : "", nearest.found ? where : "",
                       nearest.found ? nearest.found : "", nearest.found ? "?" : "");
}

enum status object_read(struct bytes object, const char *where, const struct object_rule *rules,
                        unsigned count, struct object_member *members, struct api_why *why)
{
    struct json_walk walk = json_walk_into(object);
    enum status status = STATUS_OK;
    struct bytes name, value;

    if (json_kind_of(object) != JSON_KIND_OBJECT)
        return api_because(why, STATUS_BAD_REQUEST, "not an object");
    while (!status && json_walk_member(&walk, &name, &value)) {
        struct reading at = {.where = where, .why = why};

        name = json_unescape(name);
        at.rule = find_rule(rules, count, name);
        if (at.rule)
            status = read_value(&at, value, &members[at.rule - rules]);
        else
            status = refuse_name(where, rules, count, name, why);
    }
    return status;
}

/* ---- words ---- */

static enum status refuse_word(const char *name, const char *const *words, unsigned count,
                               struct api_why *why)
{
    const char *before = ": not one of ";
    size_t at;

    api_because(why, STATUS_BAD_REQUEST, "%s", name);
    for (unsigned i = 0; i < count; i++) {
        if (!words[i])
            continue;
        at = strlen(why->text);
        snprintf(why->text + at, sizeof(why->text) - at, "%s%s", before, words[i]);
        before = ", ";
    }
    return STATUS_BAD_REQUEST;
}

enum status object_word(struct bytes text, const char *name, const char *const *words,
                        unsigned count, unsigned *index, struct api_why *why)
{
    for (unsigned i = 0; i < count; i++) {
        if (words[i] && bytes_equal(text, bytes_of_text(words[i]))) {
            *index = i;
            return STATUS_OK;
        }
    }
    return refuse_word(name, words, count, why);
}
