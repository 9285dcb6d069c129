/*
 * The history's events (Record): their names have this one definition.  Data beside job, node and
 * time in brackets.
 */

#ifndef ELASTIC_RM_CORE_RECORD_H_INCLUDED
#define ELASTIC_RM_CORE_RECORD_H_INCLUDED

namespace elastic::rm::record {

/* jobs */
constexpr const char *SUBMITTED = "submitted";  /* spec; of a task array, index */
constexpr const char *HELD = "held";            /* by: administrator, if an administrator did it */
constexpr const char *RELEASED = "released";
/* the changed fields: name, time_limit_ms, priority, minimum, ... */
constexpr const char *UPDATED = "updated";
/* its begin time is reached, its dependencies are fulfilled */
constexpr const char *ELIGIBLE = "eligible";
/* step, size, blocks, waited_ms, why (rule and start_numbers.h) */
constexpr const char *ALLOCATED = "placed";
constexpr const char *STARTED = "started";      /* step, size: it runs */
constexpr const char *SUSPENDED = "suspended";  /* step, by: its processes are stopped */
constexpr const char *RESUMED = "resumed";      /* step, by, suspended_ms: its processes continue */
constexpr const char *REQUEUED = "requeued";    /* step, reason */
constexpr const char *MODE = "mode";            /* step, mode: adaptive or rigid */
constexpr const char *SIZES = "sizes";          /* step, rule: the sizes that the program can use */
/* step, wish, kind, modify (all processes wait), waits (some wait), size, minimum, maximum,
 * reason: request of the program */
constexpr const char *SIZE_REQUESTED = "wished";
constexpr const char *REQUEST_ENDED = "wish_ended";        /* step, wish, result, size, reason */
/* For slots beside the world, `kind` is slots: `wished` has count, hard, host; `wish_ended` has
 * it. */
constexpr const char *SLOTS_GRANTED = "slots_granted";      /* step, wish, grant, blocks */
constexpr const char *SPAWNED = "spawned";      /* step, processes that run, without_cores */
constexpr const char *SLOTS_RELEASED = "slots_released";    /* step, places (left), released */
/* step, name: a name of its processes, for queries by other processes of its user; and its end */
constexpr const char *NAME_PUBLISHED = "name_published";
constexpr const char *NAME_WITHDRAWN = "name_withdrawn";
/* step, request, by_user, by (the user's name), old_size, size, leave, joining, reason, why
 * (rule, and the numbers from size_rules.h) */
constexpr const char *REQUESTED = "requested";
/* step, request, epoch, old_size, size, blocks, duration_ms, standstill_ms */
constexpr const char *COMMITTED = "committed";
constexpr const char *WITHDRAWN = "withdrawn";  /* step, request, old_size, size, reason */
constexpr const char *FAILED = "failed";        /* the same; of a request, not of the job */
/* step, request, old_size, size, reason: neither committed nor withdrawn; its cores are not
 * counted on */
constexpr const char *OVERDUE = "overdue";
/* change through process sets: step, request, uid: this process was notified, and has replied */
constexpr const char *NOTIFIED = "told";
constexpr const char *ACCEPTED = "accepted";
constexpr const char *DECLINED = "declined";
/* step, epoch, old_size, size, blocks: processes left without a request */
constexpr const char *LEFT = "left";
constexpr const char *FREED = "freed";          /* step, epoch, blocks */
/* step, reason: it is not resized any more */
constexpr const char *STEP_BROKEN = "step_broken";
constexpr const char *COMPLETING = "completing";        /* step, verdict, reason */
constexpr const char *ENDED = "ended";          /* state, reason, exit_code, step */
/* nodes */
constexpr const char *NODE_UP = "node_up";      /* cores */
constexpr const char *NODE_GPUS = "node_gpus";  /* gpus */
constexpr const char *NODE_SUSPECT = "node_suspect";    /* reason */
constexpr const char *NODE_DOWN = "node_down";  /* reason */
constexpr const char *NODE_DRAINING = "node_draining";  /* reason */
constexpr const char *NODE_RESUMED = "node_resumed";
constexpr const char *NODE_REMOVED = "node_removed";
/* neither */
/* nodes, by: other jobs wait for them */
constexpr const char *NODES_WANTED = "nodes_wanted";
constexpr const char *CONFIGURED = "configured";        /* config */
/* by, reservation: an administrator has made or changed it; by, name: has deleted it */
constexpr const char *RESERVATION_SET = "reservation_set";
constexpr const char *RESERVATION_DELETED = "reservation_deleted";
constexpr const char *UNEXPECTED = "unexpected";        /* what: an event that did not fit */

}  // namespace elastic::rm::record

#endif /* ELASTIC_RM_CORE_RECORD_H_INCLUDED */
