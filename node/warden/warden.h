/* The warden: the parent process. Small, so that it never dies; it does nothing but start,
 * watch, replace and stop its children, the worker and the embedded Redis.
 *
 *   start.c         all checks that may refuse the start, before anything runs
 *   datadir.c       one owner for the data directory
 *   listen.c        the listening sockets, bound before anything starts
 *   child.c         a child process as a state machine; the worker is one that beats
 *   session_end.c   ends the ZooKeeper session that a dead worker leaves
 *   vip.c           lets go of the virtual address that a dead worker leaves
 *   notify.c        what systemd is told
 *   redis.c         the embedded Redis: the child that keeps the data
 *   aof_files.c     checks its files before it starts: shortened, or not listed
 *
 * ../channel.h is what the worker says to the warden.
 *
 * Start: directory, ports, Redis; when that answers, the worker. Stop: the worker gracefully,
 * then Redis. SIGTERM, SIGINT and SIGQUIT stop; a second one, or node.stop_timeout, stops
 * forcibly. SIGHUP reads the configuration again and reopens the log, SIGUSR1 drains the ports
 * that know that word. As process 1 of a container it reaps whatever is left to it.
 */
#ifndef DUEQ_NODE_WARDEN_WARDEN_H
#define DUEQ_NODE_WARDEN_WARDEN_H

#include "conf/conf.h"

/* Runs the node to its end; returns the exit code: 0 stopped gracefully, EX_CONFIG (78) the
 * configuration does not fit the store, 1 could not start, or was stopped forcibly. Both are
 * borrowed; a reload changes `conf`. */
int warden_run(struct conf *conf, const struct conf_request *request);

#endif
