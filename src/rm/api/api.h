/*
 * The HTTP interface of elasticd (doc/admin/elasticd-api.md): access rights, checks of each field,
 * answers.  No decision about jobs is made here: requests become events of the core.
 */

#ifndef ELASTIC_RM_API_H_INCLUDED
#define ELASTIC_RM_API_H_INCLUDED

#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/node_users.h"
#include "daemon/daemon.h"
#include "http/access.h"
#include "http/body_reader.h"
#include "http/http.h"

namespace elastic::rm {

/* Data from the store; throws if it cannot be read. */
template <class Value> Value stored(Result<Value> value)
{
    if (!value)
        throw ApiError{503,
                       "storage",
                       "elasticd cannot read its store: " + value.error(),
                       "",
                       {{"Retry-After", "5"}}};
    return std::move(value.value());
}

/* Specification of a job, for submissions and updates. */
constexpr int64_t PROCESSES_MAX = 1048576, CORES_MAX = 4096;
constexpr size_t JOB_NAME_BYTES_MAX = 128;
constexpr size_t PARTITION_NAMES_BYTES_MAX = 1024;
/* Of one page of a list; the reader continues with the next page. */
constexpr size_t ANSWER_BYTES_MAX = 4 << 20;

/* The core's refusals as clients receive them. */
ApiError error_of(const Answer &answer);

class Api : public RequestHandler {
  public:
    explicit Api(Daemon &daemon);
    /* Checks before the body is read: user, rate, and whether the resource exists. */
    std::optional<HttpResponse> admit(HttpRequest &request) override;
    /* After admit(). */
    void handle(HttpRequest request, Responder responder) override;

  private:
    /* A request in progress. */
    struct Call {
        const HttpRequest &request;
        Responder responder;
        Caller caller;
        bool known = false;     /* the user is known; false without a token */
        std::string argument;   /* the changing part of the path */
    };
    using Method = void (Api::*)(Call &);
    struct Route {
        const char *method, *path;      /* "*" stands for one part, "**" for the rest */
        Method call;
        bool is_open;           /* for all clients */
    };
    static const std::vector<Route> &routes();

    /* When its turn has come. */
    void serve(const HttpRequest &request, const Responder &responder);
    /* No exception leaves it: each becomes an answer. */
    void answer_safely(const Responder &responder, const std::string &path,
                       const std::function<void()> &task);
    /* For waiting requests, see Daemon::wait; `waiter` may throw like a request. */
    void wait(const Responder &responder, int64_t for_ms, Daemon::Waiter waiter);
    void identify(Call &call);
    void check_rate(const Call &call);
    /* The route of a request, after all checks that do not need its body; null: perhaps a file
     * of the page. */
    const Route *route_of(Call &call) const;
    HttpResponse error_response(const ApiError &error);
    void check_origin(const Call &call) const;
    void respond(const Call &call, HttpResponse response);
    void respond_json(const Responder &responder, const Json &json, int status = 200);
    void respond_text(const Responder &responder, std::string json);
    /* Computes the value on the reader's thread, then answers on the loop.  Both may throw like
     * a request; `task` must not use data of the loop. */
    template <class Value>
    void read(const Caller &caller, const Responder &responder,
              std::function<Value(History &)> task, std::function<void(Value)> done);
    /* Steps that may throw like a request: then no further step runs. */
    void in_slices(const Responder &responder, std::function<bool()> step);
    void respond_error(const Responder &responder, const ApiError &error);

    void get_version(Call &call);
    void get_health(Call &call);
    void get_metrics(Call &call);
    void get_summary(Call &call);
    void get_jobs(Call &call);
    void get_job(Call &call);
    void get_script(Call &call);
    void get_loops(Call &call);
    void get_job_records(Call &call);
    void get_records(Call &call);
    void get_nodes(Call &call);
    void get_node(Call &call);
    void get_reservations(Call &call);
    void create_reservation(Call &call);
    void update_reservation(Call &call);
    void delete_reservation(Call &call);
    void get_timeline(Call &call);
    void get_report(Call &call);
    void submit(Call &call);
    void cancel(Call &call);
    void requeue(Call &call);
    void suspend_job(Call &call);
    void resume_job(Call &call);
    void hold(Call &call);
    void release(Call &call);
    void resize(Call &call);
    void update(Call &call);
    void signal(Call &call);
    void get_names(Call &call);
    void get_name(Call &call);
    void publish_name(Call &call);
    void withdraw_name(Call &call);
    void drain(Call &call);
    void resume(Call &call);
    bool web_file(Call &call);

    bool may_see(const Caller &caller, uint32_t uid) const;
    bool may_change(const Caller &caller, uint32_t uid) const;
    /* The job, if the caller may see it, or an error; ended jobs are read from the store. */
    Job job_of(const Call &call, bool to_change);
    JobId find_id(const Caller &caller, const std::string &name);
    std::vector<JobId> find_ids(const Caller &caller, const std::vector<std::string> &names);
    JobRequest request_of_jobs(Call &call);
    std::vector<const Job *> jobs_of(const JobRequest &request) const;
    Job job_of(const Caller &caller, JobId id, const std::string &name, bool to_change);
    /* The job of the caller that has registered the name; else nullptr, */
    const Job *living_owner_of_name(const Call &call);
    /* or an error. */
    const Job &owner_of_name(const Call &call);
    std::string reason_of(const Job &job) const;
    std::string how_it_ended(const Job &job) const;
    std::string waiting_reason(const Job &job) const;
    Json fair_share_json(uint32_t uid) const;
    void add_forecast(Json &json, const Job &job) const;
    void add_dependencies(const Call &call, BodyReader &body, JobSpec &spec);
    /* `ran`: its Launch, if already known. */
    Json job_json(const Job &job, const Json *ran = nullptr);
    struct JobList;
    bool find_jobs(const std::shared_ptr<JobList> &list);
    void read_ended_jobs(const std::shared_ptr<JobList> &list);
    bool write_jobs(const std::shared_ptr<JobList> &list);
    Json performance_json(const Job &job) const;
    Json phase_json(const Job &job) const;
    Json history_json(const Job &job) const;
    Json scaling_json(const Job &job) const;
    std::string reason_without_sample(const Job &job) const;
    Json loops_json(const Job &job);
    Json backend_json() const;
    struct NodeRange {
        std::map<std::string, Node>::const_iterator begin, end;
    };
    NodeRange read_range(QueryReader &query) const;
    static std::string state_of(const Node &node);
    void send_use(Call &call, const NodeRange &range, int64_t from_ms, int64_t to_ms, size_t groups,
                  size_t columns);
    void send_segments(Call &call, const NodeRange &range, int64_t from_ms, int64_t to_ms,
                       Timeline::Query query);
    struct ReportQuery;
    void send_report(const std::shared_ptr<ReportQuery> &query);
    bool add_living_jobs(const std::shared_ptr<ReportQuery> &query);
    void compute_report(const std::shared_ptr<ReportQuery> &query);
    struct NodeList;
    bool find_nodes(const std::shared_ptr<NodeList> &list);
    bool write_nodes(const std::shared_ptr<NodeList> &list);
    Json node_json(const Caller &caller, const Node &node,
                   const std::vector<NodeUser> &users) const;
    /* Null: it does not exist (any more). */
    void respond_node(const Responder &responder, const Caller &caller, const std::string &name);
    struct RecordsWanted;
    void send_records(Call &call, RecordQuery query);
    void wait_for_records(const std::shared_ptr<RecordsWanted> &wanted);
    void read_records(const std::shared_ptr<RecordsWanted> &wanted);
    void query_core(Call &call, EventContent content, std::function<void(const Answer &)> done);
    void query_core(const Responder &responder, EventContent content,
                    std::function<void(const Answer &)> done);
    void change_job(Call &call, EventContent content, JobId job, bool is_array = false);
    void change_name(Call &call, EventContent content, JobId job);
    struct Submission;
    Submission read_submission(const Call &call);
    void test_submission(Call &call, const JobSpec &spec);
    int64_t read_time_limit(BodyReader &body, int64_t otherwise, bool may_be_none,
                            const Partition *partition) const;
    void read_partition(BodyReader &body, const Caller &caller, JobSpec &spec,
                        std::vector<std::string> &notes) const;
    void enter_partition(const BodyReader &body, const Caller &caller, JobSpec &spec) const;
    void read_reservation(BodyReader &body, const Caller &caller, JobSpec &spec) const;
    void read_reservation_fields(BodyReader &body, NodeReservation &reservation) const;
    void set_reservation(Call &call, const NodeReservation &reservation, bool is_new);
    Json reservation_json(const Caller &caller, const NodeReservation &reservation) const;
    Json partitions_json() const;
    Json partitions_of(const Node &node) const;
    int read_priority(BodyReader &body, const Caller &caller) const;
    void check_stored_bytes(uint32_t uid, size_t bytes, int64_t tasks) const;
    void check_bytes(uint32_t uid, size_t bytes) const;
    void submitted(const Responder &responder, const Answer *answer, bool is_new,
                   const std::vector<std::string> &notes);

    Daemon &daemon_;
    RateLimit rate_;
};

template <class Value>
void Api::read(const Caller &caller, const Responder &responder,
               std::function<Value(History &)> task, std::function<void(Value)> done)
{
    daemon_.read_history(
        caller.uid, [this, responder, task, done](History &history) -> HistoryReader::Done {
            try {
                auto value = std::make_shared<Value>(task(history));
                return [this, responder, done, value] {
                    answer_safely(responder, "", [&] { done(std::move(*value)); });
                };
            } catch (const ApiError &error) {
                return [this, responder, error] { respond_error(responder, error); };
            } catch (const std::exception &exception) {
                return [this, responder, what = std::string(exception.what())] {
                    answer_safely(responder, "", [&] { throw std::runtime_error(what); });
                };
            }
        });
}

}  // namespace elastic::rm

#endif /* ELASTIC_RM_API_H_INCLUDED */
