#include "node/capabilities.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>

#include "base/buf.h"
#include "base/log.h"

#define PROGRAM "/proc/self/exe"

static const cap_value_t needed[] = {CAP_NET_ADMIN, CAP_NET_RAW};
static const char *const names[] = {"CAP_NET_ADMIN", "CAP_NET_RAW"};

#define NEEDED (sizeof(needed) / sizeof(*needed))

static cap_t get_own(void)
{
    cap_t own = cap_get_proc();

    if (!own)
        abort(); /* out of memory */
    return own;
}

static bool may(cap_t own, cap_value_t one)
{
    cap_flag_value_t is_permitted = CAP_CLEAR;

    return !cap_get_flag(own, one, CAP_PERMITTED, &is_permitted) && is_permitted == CAP_SET;
}

/* ---- what is missing, and why ---- */

/* A container or a service may be forbidden to have it at all. */
static bool is_out_of_bounds(cap_t own)
{
    for (size_t i = 0; i < NEEDED; i++)
        if (!may(own, needed[i]) && cap_get_bound(needed[i]) == 0)
            return true;
    return false;
}

static bool is_without_new_privileges(void)
{
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

static bool is_nosuid(void)
{
    struct statvfs about;

    return !statvfs(PROGRAM, &about) && about.f_flag & ST_NOSUID;
}

static void print_missing(cap_t own, struct buf *to)
{
    for (size_t i = 0; i < NEEDED; i++)
        if (!may(own, needed[i]))
            buf_printf(to, "%s%s", to->len ? " and " : "", names[i]);
}

static void print_remedy(cap_t own, struct buf *to)
{
    char program[4096] = "dueq-node";
    ssize_t len = readlink(PROGRAM, program, sizeof(program) - 1);

    if (len > 0)
        program[len] = '\0';
    if (is_out_of_bounds(own))
        buf_add_text(to,
                     "what it runs in is not allowed to have it: give NET_ADMIN and NET_RAW "
                     "to a container (cap_add), to a service (CapabilityBoundingSet)");
    else if (is_without_new_privileges())
        buf_add_text(to,
                     "no_new_privs is set, so the program's own do not count: run it without "
                     "(a container: no-new-privileges), or give them to the service "
                     "(AmbientCapabilities)");
    else if (is_nosuid())
        buf_printf(
            to,
            "%s is on a file system that is mounted with nosuid, so its own do not count: "
            "run it from another one",
            program);
    else
        buf_printf(to,
                   "give them to the program: setcap cap_net_admin,cap_net_raw=p %s; or to the "
                   "service (AmbientCapabilities)",
                   program);
}

static enum status refuse(cap_t own, const char *key)
{
    struct buf missing = BUF_INIT, remedy = BUF_INIT;

    print_missing(own, &missing);
    print_remedy(own, &remedy);
    LOG_ERROR("warden",
              "%s: needs %s, which this process lacks: %s. With vip.hook none is needed", key,
              buf_text(&missing), buf_text(&remedy));
    buf_fini(&missing);
    buf_fini(&remedy);
    return STATUS_WRONG_STATE;
}

/* ---- what is there ---- */

static bool has_all(cap_t own)
{
    for (size_t i = 0; i < NEEDED; i++)
        if (!may(own, needed[i]))
            return false;
    return true;
}

/* Permitted capabilities can be made effective, and any can be given up: an error is our own
 * bug. */
static void set_own(cap_t own)
{
    if (cap_set_proc(own)) {
        LOG_ERROR("warden", "cannot change the process's capabilities: %s", strerror(errno));
        abort();
    }
}

enum status capabilities_raise(const char *key)
{
    cap_t own = get_own();
    enum status s = STATUS_OK;

    if (has_all(own)) {
        cap_reset_ambient(); /* systemd's; an old kernel has none */
        cap_clear_flag(own, CAP_INHERITABLE);
        cap_set_flag(own, CAP_EFFECTIVE, NEEDED, needed, CAP_SET);
        set_own(own);
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    } else {
        s = refuse(own, key);
    }
    cap_free(own);
    return s;
}

void capabilities_drop(void)
{
    cap_t own = get_own();

    /* Capabilities no longer permitted or inheritable are not ambient, either. */
    cap_set_flag(own, CAP_INHERITABLE, NEEDED, needed, CAP_CLEAR);
    if (geteuid() != 0) {
        cap_set_flag(own, CAP_EFFECTIVE, NEEDED, needed, CAP_CLEAR);
        cap_set_flag(own, CAP_PERMITTED, NEEDED, needed, CAP_CLEAR);
    }
    set_own(own);
    cap_free(own);
}

static void keep_only(const cap_value_t *kept, int count)
{
    cap_t own = get_own(), less = cap_init();

    if (!less || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        abort();
    for (int i = 0; i < count; i++)
        if (may(own, kept[i])) {
            cap_set_flag(less, CAP_PERMITTED, 1, &kept[i], CAP_SET);
            cap_set_flag(less, CAP_EFFECTIVE, 1, &kept[i], CAP_SET);
        }
    set_own(less); /* unpermitted capabilities are not ambient, either */
    cap_free(less);
    cap_free(own);
}

void capabilities_confine(bool with_network)
{
    static const cap_value_t kept[] = {CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_NET_ADMIN,
                                       CAP_NET_RAW};

    if (geteuid() == 0)
        keep_only(kept, with_network ? 4 : 2);
}

void capabilities_give_up_all(void)
{
    keep_only(NULL, 0);
}

void capabilities_give_up_net_raw(void)
{
    static const cap_value_t raw = CAP_NET_RAW;
    cap_t own = get_own();

    cap_set_flag(own, CAP_EFFECTIVE, 1, &raw, CAP_CLEAR);
    cap_set_flag(own, CAP_PERMITTED, 1, &raw, CAP_CLEAR);
    set_own(own);
    cap_free(own);
}
