/*
 * The list of metrics: names, types, units and descriptions.  doc/admin/elasticd-metrics.md has the
 * same as a table, which test/rm compares with the output of elasticd.
 */

#ifndef ELASTIC_RM_METRIC_LIST_H_INCLUDED
#define ELASTIC_RM_METRIC_LIST_H_INCLUDED

namespace elastic::rm {

struct MetricInfo {
    const char *name;
    const char *type;           /* type of Prometheus */
    const char *label;          /* null: one value */
    const char *help;
};

namespace metric {

inline constexpr MetricInfo JOBS{"elasticd_jobs", "gauge", "state", "Jobs in memory."};
inline constexpr MetricInfo NODES{"elasticd_nodes", "gauge", "state", "Nodes."};
inline constexpr MetricInfo CORES{"elasticd_cores", "gauge", nullptr, "Cores of all nodes."};
inline constexpr MetricInfo CORES_USED{
    "elasticd_cores_used", "gauge", nullptr, "Cores that jobs occupy."};
inline constexpr MetricInfo GPUS{"elasticd_gpus", "gauge", nullptr, "GPUs of all nodes."};
inline constexpr MetricInfo GPUS_USED{
    "elasticd_gpus_used", "gauge", nullptr, "GPUs that jobs have."};
inline constexpr MetricInfo UNEXPECTED{"elasticd_unexpected_events_total", "counter", nullptr,
                                       "Events that were not expected in the state of the core."};
inline constexpr MetricInfo EVENTS{
    "elasticd_events_total", "counter", "event", "Events that the core has handled."};
inline constexpr MetricInfo RECORDS{
    "elasticd_records_total", "counter", "event", "Records of the history."};
inline constexpr MetricInfo RESPONSES{
    "elasticd_http_responses_total", "counter", "status", "Responses to HTTP requests."};
inline constexpr MetricInfo STANDSTILL{"elasticd_standstill_seconds_total", "counter", nullptr,
                                       "Standstill of programs by adaptations."};
inline constexpr MetricInfo STORAGE_ERRORS{"elasticd_storage_errors_total", "counter", nullptr,
                                           "Commits that failed."};
inline constexpr MetricInfo REDUNDANT{"elasticd_step_reports_redundant_total", "counter", nullptr,
                                      "Reports of steps that changed nothing."};
inline constexpr MetricInfo STEPS_BROKEN{"elasticd_steps_broken_total", "counter", nullptr,
                                         "Steps that have broken the step protocol."};
inline constexpr MetricInfo EVENTS_DROPPED{"elasticd_step_events_dropped_total", "counter", nullptr,
                                           "Events of steps that are not valid."};
inline constexpr MetricInfo SAMPLES{"elasticd_samples_total", "counter", "result",
                                    "Samples of the performance of programs."};
inline constexpr MetricInfo CORES_MEASURED{"elasticd_cores_measured", "gauge", nullptr,
                                           "Cores of jobs whose time in MPI is known."};
inline constexpr MetricInfo MPI_RATIO{
    "elasticd_mpi_ratio", "gauge", nullptr,
    "Part of these cores' time that is spent in MPI; 0 if there are none."};
inline constexpr MetricInfo STORAGE_WORKS{"elasticd_storage_works", "gauge", nullptr,
                                          "1: the last commit was written."};
inline constexpr MetricInfo CONNECTIONS{
    "elasticd_connections", "gauge", nullptr, "Open connections."};
inline constexpr MetricInfo START_TIME{
    "elasticd_start_time_seconds", "gauge", nullptr, "When this process started."};
inline constexpr MetricInfo BUILD{
    "elasticd_build_info", "gauge", "version", "1 for the version of this process."};
inline constexpr MetricInfo MEMORY{
    "process_resident_memory_bytes", "gauge", nullptr, "Memory of this process."};
inline constexpr MetricInfo CPU{
    "process_cpu_seconds_total", "counter", nullptr, "Processor time of this process."};
inline constexpr MetricInfo COMMIT{
    "elasticd_commit_seconds", "histogram", nullptr, "Time of one commit of the store."};
inline constexpr MetricInfo TURN{
    "elasticd_turn_seconds", "histogram", nullptr,
    "Processor time of one turn of the loop, during which no other client is served."};
inline constexpr MetricInfo TURN_LONGEST{"elasticd_turn_longest_seconds", "gauge", nullptr,
                                         "Processor time of the longest turn of this process."};
inline constexpr MetricInfo SUBMIT{"elasticd_submit_seconds", "histogram", nullptr,
                                   "From a submission's arrival to its answer."};

}  // namespace metric

}  // namespace elastic::rm

#endif /* ELASTIC_RM_METRIC_LIST_H_INCLUDED */
