/* The warden: the parent process. Small, so that it never dies; it does nothing but start,
 * watch, replace and stop its children, the worker and the embedded Redis.
 *
 *   start.c         everything that can be refused, before anything runs
 *   datadir.c       one owner for the data directory
 *   listen.c        the listening sockets, bound before anything starts
 *   child.c         a child process as a state machine; the worker is one that beats
 *   session_end.c   what a dead worker leaves in ZooKeeper is ended
 *   vip.c           and what it leaves on the interface, the virtual address, moves
 *   notify.c        what systemd is told
 *   redis.c         the embedded Redis: the child that keeps the data
 *   aof_sizes.c     how long its files were when it was stopped
 *
 * ../channel.h is what the worker says to the warden.
 *
 * Start: directory, ports, Redis; when that answers, the worker. Stop: the worker in order,
 * then Redis. SIGTERM, SIGINT and SIGQUIT stop; again, or past node.stop_timeout: harder.
 * SIGHUP reads the configuration again and reopens the log. As process 1 of a container it
 * reaps whatever is left to it.
 */
#ifndef DUEQ_NODE_WARDEN_WARDEN_H
#define DUEQ_NODE_WARDEN_WARDEN_H

#include "conf/conf.h"

/* Runs the node to its end; returns the exit code: 0 stopped gracefully, EX_CONFIG (78) the
 * configuration does not fit the store, 1 could not start, or was stopped the hard way.
 * Both are borrowed; a reload changes `conf`. */
int warden_run(struct conf *conf, const struct conf_request *request);

#endif
