/* What any store counts, since its start; gauges are as they are now. A row,
 * X(FIELD, TYPE, "metric", "help"), is a field of the store's own numbers, one of those that
 * the API shows, and a metric.
 */
#ifndef DUEQ_NODE_STORE_COUNTERS_H
#define DUEQ_NODE_STORE_COUNTERS_H

/* clang-format off */
#define STORE_METRICS(X) \
    X(connects, COUNTER, "dueq_store_connects_total", \
      "Connections to the store that became usable.") \
    X(calls, COUNTER, "dueq_store_calls_total", \
      "Calls the store has answered; operations of one topic may share one.") \
    X(repeated, COUNTER, "dueq_store_repeated_total", \
      "Operations sent again: their answer was lost, or they were not carried " \
      "out.") \
    X(expired, COUNTER, "dueq_store_expired_total", \
      "Operations held for too long and given up.") \
    X(dropped, COUNTER, "dueq_store_dropped_total", \
      "Operations that were held, and whose client went away meanwhile.") \
    X(overflowed, COUNTER, "dueq_store_overflowed_total", \
      "Operations refused: too many were held.") \
    X(broken, COUNTER, "dueq_store_broken_total", \
      "Operations refused because the circuit breaker was open.") \
    X(breaker_trips, COUNTER, "dueq_store_breaker_trips_total", \
      "How often the circuit breaker has opened.") \
    X(rollbacks, COUNTER, "dueq_store_rollbacks_total", \
      "How often Redis rolled back: it had lost writes.") \
    X(lost_pushes, COUNTER, "dueq_store_lost_pushes_total", \
      "Acknowledged pushes of this node that a rollback has lost for certain.") \
    X(clock_jumps, COUNTER, "dueq_store_clock_jumps_total", \
      "How often the store's clock has jumped by more than a second against this " \
      "host's.") \
    X(replica_waits, COUNTER, "dueq_store_replica_waits_total", \
      "Answers that waited until replicas had them.") \
    X(replica_timeouts, COUNTER, "dueq_store_replica_timeouts_total", \
      "Answers whose replicas did not follow in time: they ended as unknown.") \
    X(waiting_for_replicas, GAUGE, "dueq_store_operations_waiting_for_replicas", \
      "Operations that are done, and whose answer waits for replicas.") \
    X(in_flight, GAUGE, "dueq_store_operations_in_flight", \
      "Operations sent and not answered.") \
    X(held, GAUGE, "dueq_store_operations_held", \
      "Operations that wait for the store to be back.") \
    X(held_bytes, GAUGE, "dueq_store_bytes_held", \
      "Topics, ids and bodies of the operations in flight and held.") \
    X(maps_read, COUNTER, "dueq_store_maps_read_total", \
      "How often the map of a Redis Cluster's buckets and masters was read.") \
    X(certificate_end_s, GAUGE, "dueq_store_tls_certificate_end_time_seconds", \
      "When the certificate that is shown to the store ends, in seconds since 1970; 0: there is " \
      "none.")
/* clang-format on */

#endif
