#include "node/reload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/access/audit.h"

static void log_errors(struct conf_errors *errors)
{
    const char *at = conf_errors_text(errors);

    LOG_ERROR("conf", "the configuration has mistakes; the old one stays");
    for (; *at; at += strcspn(at, "\n"), at += *at == '\n')
        LOG_ERROR("conf", "%.*s", (int)strcspn(at, "\n"), at);
}

static void log_changes(struct buf *taken, struct buf *need_restart)
{
    LOG_INFO("conf", "read again; changed: %s", taken->len ? buf_text(taken) : "nothing");
    if (need_restart->len)
        LOG_WARN("conf", "changed in the file, but takes a restart: %s",
                 buf_text(need_restart));
}

/* A log file that cannot be opened is not taken over; the log's other settings are. */
static void check_log_file(const struct conf *running, struct conf *fresh)
{
    struct log_options options = conf_log_options(fresh);

    if (log_configure(&options) == STATUS_OK)
        return;
    LOG_ERROR("conf", "log.file: cannot open %s: %s; the old one stays", options.file,
              strerror(errno));
    free(fresh->log.file);
    fresh->log.file = must(strdup(running->log.file));
}

/* False: the old one stays. Where none is open, the new one is wanted all the same. */
static bool use_audit_log(struct audit *audit, const char *file)
{
    if (audit_use(audit, file) == STATUS_OK)
        return true;
    LOG_ERROR("conf", "log.audit: cannot open %s: %s; %s", file, strerror(errno),
              audit_is_open(audit) ? "the old one stays"
                                   : "its lines are lost until it can be");
    return !audit_is_open(audit);
}

static void check_audit_log(const struct conf *running, struct conf *fresh, struct audit *audit)
{
    if (use_audit_log(audit, fresh->log.audit))
        return;
    free(fresh->log.audit);
    fresh->log.audit = must(strdup(running->log.audit));
}

static void take(struct conf *running, struct conf *fresh, struct audit *audit, bool aloud)
{
    struct buf taken = BUF_INIT, need_restart = BUF_INIT;
    struct log_options options;

    check_log_file(running, fresh);
    check_audit_log(running, fresh, audit);
    conf_reload(running, fresh, &taken, &need_restart);
    options = conf_log_options(running);
    if (log_configure(&options) != STATUS_OK)
        LOG_ERROR("conf", "log.file: cannot open %s: %s; going on with the old one",
                  options.file, strerror(errno));
    if (aloud)
        log_changes(&taken, &need_restart);
    buf_fini(&taken);
    buf_fini(&need_restart);
}

void reload_conf(struct conf *running, const struct conf_request *request, struct audit *audit,
                 bool aloud)
{
    struct conf_request again = *request;
    struct conf_errors errors;
    struct conf *fresh;

    again.is_reload = true;
    conf_errors_init(&errors);
    fresh = conf_load(&again, &errors);
    if (fresh) {
        take(running, fresh, audit, aloud);
    } else {
        log_reopen();
        (void)use_audit_log(audit, running->log.audit);
        if (aloud)
            log_errors(&errors);
    }
    conf_errors_fini(&errors);
    conf_free(fresh);
}
