/* dueq-node: the command line. */
#include <fcntl.h>
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/build.h"
#include "conf/conf.h"
#include "node/identities.h"
#include "node/warden/warden.h"
#include "node/wiring.h"

#define SETS_MAX 256

#define LARGE_BLOCK_BYTES (128 << 10)
#define HEAP_SPARE_BYTES  (4 << 20)

enum action { RUN_NODE, CHECK_CONFIG, PRINT_CONFIG };

struct arguments {
    enum action action;
    const char *file;
    const char *sets[SETS_MAX];
    size_t set_count;
};

static const char usage[] =
    "Usage: dueq-node [OPTION]...\n"
    "Runs a node of the dueq delayed-job queue in the foreground. Without a configuration it\n"
    "is a standalone node with its own Redis, on the loopback interface.\n"
    "\n"
    "  -c, --config FILE     read the configuration from FILE (YAML)\n"
    "  -s, --set KEY=VALUE   override one key, for example --set store.redis=127.0.0.1:6379;\n"
    "                        repeatable, the last one wins\n"
    "  -t, --check-config    check the configuration, say what is wrong with it, and exit\n"
    "  -p, --print-config    print the configuration in effect, secrets hidden, and exit\n"
    "  -V, --version         print the version and exit\n"
    "  -h, --help            print this and all configuration keys, and exit\n"
    "\n"
    "Signals:  TERM, INT, QUIT  stop gracefully; a second one stops forcibly\n"
    "          HUP              read the configuration again, reopen the log files\n"
    "          USR1             drain: puts over beanstalkd.listen are answered DRAINING\n"
    "\n"
    "With vip.address it needs the capabilities CAP_NET_ADMIN and CAP_NET_RAW:\n"
    "setcap cap_net_admin,cap_net_raw=p dueq-node. It speaks systemd's sd_notify(3).\n"
    "\n"
    "Exit status:  0   stopped gracefully\n"
    "              1   could not start, or did not stop gracefully\n"
    "              64  the command line is wrong\n"
    "              78  the configuration is wrong, or does not fit the store's data\n"
    "\n"
    "Configuration keys, with their defaults:\n"
    "\n";

static const struct option options[] = {
    {"config", required_argument, NULL, 'c'},
    {"set", required_argument, NULL, 's'},
    {"check-config", no_argument, NULL, 't'},
    {"print-config", no_argument, NULL, 'p'},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* stdout may be a full disk or a closed pipe. */
static void finish(void)
{
    exit(fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS);
}

static void refuse(const char *what)
{
    fprintf(stderr, "dueq-node: %s%sTry 'dueq-node --help'.\n", what, *what ? "\n" : "");
    exit(EX_USAGE);
}

static void take_option(struct arguments *a, int option)
{
    switch (option) {
    case 'c':
        a->file = optarg;
        break;
    case 's':
        if (a->set_count == SETS_MAX)
            refuse("too many --set");
        if (*optarg == '=' || !strchr(optarg, '='))
            refuse("--set: expected KEY=VALUE");
        a->sets[a->set_count++] = optarg;
        break;
    case 't':
        a->action = CHECK_CONFIG;
        break;
    case 'p':
        a->action = PRINT_CONFIG;
        break;
    case 'V':
        printf("dueq-node %s\n", build_info()->full);
        finish();
        break;
    case 'h':
        fputs(usage, stdout);
        conf_print_keys(stdout);
        finish();
        break;
    default:
        refuse(""); /* getopt has said what is wrong */
    }
}

static void parse_arguments(struct arguments *a, int argc, char **argv)
{
    int option;

    while ((option = getopt_long(argc, argv, "c:s:tpVh", options, NULL)) != -1)
        take_option(a, option);
    if (optind < argc)
        refuse("only options are expected");
}

/* A descriptor that lands on 0, 1 or 2 would be taken for the standard ones. */
static void occupy_standard_descriptors(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* A large block is a mapping of its own, and free() gives it back. By default glibc puts blocks
 * of up to 32 MiB into the heap once one such block was freed; there a small block above them
 * keeps them all, and a node would stay as large as at its worst flood. */
static void keep_large_blocks_apart(void)
{
    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES);
    mallopt(M_TRIM_THRESHOLD, HEAP_SPARE_BYTES);
}

/* Ends the process when the configuration has mistakes, with all of them on stderr. */
static struct conf *load(const struct conf_request *request)
{
    struct conf_errors errors;
    struct conf *conf;

    conf_errors_init(&errors);
    conf = conf_load(request, &errors);
    if (!conf) {
        fputs(conf_errors_text(&errors), stderr);
        fprintf(stderr, "dueq-node: the configuration has %u mistake%s\n", errors.count,
                errors.count == 1 ? "" : "s");
    }
    conf_errors_fini(&errors);
    if (!conf)
        exit(EX_CONFIG);
    return conf;
}

/* The same for access.file, which is read once more where it is used. */
static void check_identities(const struct conf *conf)
{
    struct buf why = BUF_INIT;
    bool is_good = identities_check(conf, &why) == STATUS_OK;

    if (why.len)
        fprintf(stderr, "access.file: %s: %s%s\n", conf->access.file,
                is_good ? "warning: " : "", buf_text(&why));
    buf_fini(&why);
    if (!is_good)
        exit(EX_CONFIG);
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.action = RUN_NODE};
    struct conf_request request;
    struct conf *conf;
    int exit_code = EXIT_SUCCESS;

    occupy_standard_descriptors();
    keep_large_blocks_apart();
    parse_arguments(&arguments, argc, argv);
    request = (struct conf_request){
        .file = arguments.file, .sets = arguments.sets, .set_count = arguments.set_count};
    conf = load(&request);
    if (arguments.action != PRINT_CONFIG)
        check_identities(conf);
    if (arguments.action == CHECK_CONFIG)
        puts("the configuration is good");
    else if (arguments.action == PRINT_CONFIG)
        conf_print(conf, stdout);
    else
        exit_code = warden_run(conf, &request);
    conf_free(conf);
    if (fflush(stdout))
        exit_code = EXIT_FAILURE;
    return exit_code;
}
