/*
 * The world of lead.pml, which includes this: what goes wrong, how time passes, and how soon
 * somebody must lead again.
 *
 * So many FAULTS begin, on any node; each ends at any time or never. KINDS says which (a sum):
 *   1 the worker is stalled     2 worker and warden are frozen    4 the worker is killed
 *   8 worker and warden are killed (later the machine starts again)
 *  16 the link to ZooKeeper is cut     32 the peer link is reset     64 the leader resigns
 *
 * Time waits for what is healthy: the clock only ticks when nobody is BUSY.
 */
#ifndef PATIENCE
#define PATIENCE 2
#endif
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef KINDS
#define KINDS 127
#endif

byte budget = FAULTS;
byte without_leader = 0;

#define BREAK(kind) (budget && (KINDS & kind))

proctype faults(byte n) {
    do
    :: atomic { BREAK(1) && RUNS(n) -> stalled[n] = true; budget-- }
    :: stalled[n] -> stalled[n] = false
    :: atomic { BREAK(2) && !frozen[n] && warden[n] -> frozen[n] = true; budget-- }
    :: frozen[n] -> frozen[n] = false
    :: atomic { BREAK(4) && alive[n] -> die(n); budget-- }
    :: atomic { BREAK(8) && warden[n] ->
           die(n); left_behind[n] = 0; frozen[n] = false; warden[n] = false; budget-- }
    :: !warden[n] -> warden[n] = true
    :: atomic { BREAK(16) && !cut[n] -> cut[n] = true; budget-- }
    :: cut[n] -> cut[n] = false
    :: atomic {
           BREAK(32) && ONLINE(n) && peer_session[n] -> /* and it connects again */
#ifdef PEER_EOF
           end_session(peer_session[n]);
#endif
           peer_session[n] = 0;
           budget--
       }
    :: atomic { BREAK(64) && IDLE(n) && leads[n] -> step_down(n); ask(n, RESIGN); budget-- }
    :: atomic { n == 0 && budget -> budget = 0 } /* no more of them */
    od
}

#define HEALTHY(n) (!stalled[n] && !frozen[n] && warden[n] && !cut[n])
#define FAULTS_OVER (budget == 0 && HEALTHY(0) && HEALTHY(1))

inline shrink(counter) {
    if
    :: counter > 0 -> counter--
    :: else
    fi
}

proctype clock() {
    byte i;
    do
    :: atomic {
           !BUSY(0) && !BUSY(1) ->
           for (i : 0 .. 1) {
               shrink(lease[i]);
               beaten[i] = false;
               if
               :: asks[i] != NOTHING && age[i] < T -> age[i]++
               :: else
               fi
           }
           for (i : 1 .. 4) {
               if
               :: left[i] == 1 -> end_session(i)
               :: left[i] > 1 -> left[i]--
               :: else
               fi
           }
           i = 0;
           if
           :: FAULTS_OVER && !lease[0] && !lease[1] ->
              without_leader++;
              assert(without_leader <= PATIENCE)
           :: else -> without_leader = 0
           fi
       }
    od
}
