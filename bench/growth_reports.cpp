/*
 * The cost of a growth for mpiexec: simulates the proxies and processes of a large job against the
 * real core of the step manager (src/pm/hydra/elastic/stepmgr), and measures the processor time
 * that the core takes for what they report.
 *
 *   growth_reports PROCESSES PROXIES
 *
 * Half of the processes are launched on half of the proxies and initialise; then the step is
 * requested to grow to all of them: launch, INIT and READY of each joining process, the plan,
 * PREPARED, FROZEN and COMMITTED of the proxies.  At the end all processes exit.  Prints one JSON
 * line: seconds of processor time for the launch's reports, the growth, the end, and how many
 * reports that were.  The work of proxies and the network is not in it.
 */

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "stepmgr/proto/payload.h"
#include "stepmgr/stepmgr.h"

namespace {

using namespace elastic;

/* of an address of libfabric's tcp provider and what is around it */
constexpr size_t CARD_BYTES = 64;

double processor_seconds()
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

[[noreturn]] void fail(const std::string &what)
{
    std::fprintf(stderr, "growth_reports: %s\n", what.c_str());
    std::exit(1);
}

/* Half of the processes each: the launch and the growth. */
class SimulatedJob {
  public:
    SimulatedJob(int processes, int proxies) : half_(processes / 2), proxies_(proxies / 2)
    {
        step_config config = {};
        config.step_id = "bench";
        config.program = "./app";
        config.user = "user";
        config.margin = 2;
        config.prepare_ms = 50;
        config.interval_ms = 1000;
        config.size = half_;
        step_effects effects = {this,  launch, [](void *, int) {},
                                [](void *, const char *why) { fail(why); },
                                send,  reply,  [](void *, const char *) {},
                                [](void *, const char *text) { fail(text); },
                                    [](void *, int64_t) {}, nullptr, nullptr, nullptr};
        char error[1024] = "";
        core_ = stepmgr_create(&config, &effects, error, sizeof error);
        if (!core_)
            fail(error);
    }
    ~SimulatedJob() { stepmgr_destroy(core_); }
    SimulatedJob(const SimulatedJob &) = delete;
    SimulatedJob &operator=(const SimulatedJob &) = delete;

    void start()
    {
        start_group(0);
        init(0, 0);
    }

    void grow()
    {
        std::string line =
            R"({"id":1,"op":"resize","wait":true,"size":)" + std::to_string(2 * half_) + "}";
        stepmgr_client_line(core_, ++now_ms_, 1, line.c_str());
        if (group_ < 0)
            fail("the growth was not launched: " + answer_);
        start_group(group_);
        init(group_, 1);
        for (int rank = 0; rank < half_; rank++)
            report(group_, rank, REPORT_READY,
                   write_ready({static_cast<uint32_t>(rank), {1, 2, 4096, 0, 0, 0}}));
        each_proxy(group_, REPORT_PREPARED, "");
        each_proxy(0, REPORT_PREPARED, "");
        each_proxy(group_, REPORT_PREPARED, "");
        stepmgr_time(core_, now_ms_ += 1000);
        each_proxy(0, REPORT_FROZEN, write_number(10));
        each_proxy(0, REPORT_COMMITTED, "");
        each_proxy(group_, REPORT_COMMITTED, "");
        if (!committed_)
            fail("the growth was not committed: " + answer_);
    }

    void end()
    {
        for (int group : {0, group_}) {
            for (int rank = 0; rank < half_; rank++)
                report(group, rank, REPORT_EXITED, write_exited({static_cast<uint32_t>(rank), 0}));
            for (int proxy = 0; proxy < proxies_; proxy++)
                stepmgr_proxy_disconnected(core_, now_ms_, group, proxy);
        }
    }

    long reports() const { return reports_; }

  private:
    int proxy_of(int rank) const
    {
        return static_cast<int>(static_cast<int64_t>(rank) * proxies_ / half_);
    }

    void start_group(int group)
    {
        std::vector<std::string> names;
        for (int proxy = 0; proxy < proxies_; proxy++)
            names.push_back("node" + std::to_string(10000 + (group ? proxies_ : 0) + proxy));
        std::vector<step_process> processes;
        for (int rank = 0; rank < half_; rank++)
            processes.push_back(
                {proxy_of(rank), names[static_cast<size_t>(proxy_of(rank))].c_str()});
        stepmgr_group(core_, now_ms_, group, half_, processes.data());
    }

    void init(int group, uint32_t epoch)
    {
        epoch_ = epoch;
        for (int rank = 0; rank < half_; rank++)
            report(group, rank, REPORT_INIT,
                   write_init({static_cast<uint32_t>(rank), REPORT_MODE_ADAPTIVE, 4026531836,
                               std::string(CARD_BYTES, 'c')}));
    }

    void report(int group, int rank, step_report kind, const std::string &payload)
    {
        to_core(group, proxy_of(rank), kind, payload);
    }

    void each_proxy(int group, step_report kind, const std::string &payload)
    {
        for (int proxy = 0; proxy < proxies_; proxy++)
            to_core(group, proxy, kind, payload);
    }

    void to_core(int group, int proxy, step_report kind, const std::string &payload)
    {
        reports_++;
        stepmgr_report(core_, now_ms_, group, proxy, kind, epoch_, payload.data(), payload.size());
    }

    static SimulatedJob &self(void *context) { return *static_cast<SimulatedJob *>(context); }
    static int launch(void *context, uint32_t, int, int, int, uint32_t, int, const char *const *,
                      int, int *group, char *, size_t)
    {
        *group = self(context).group_ = 1;
        return 0;
    }
    static void send(void *, const step_proxy *, int, step_command, uint32_t, const void *, size_t)
    {}
    static void reply(void *context, int, const char *line)
    {
        self(context).answer_ = line;
        if (std::string(line).find("\"committed\"") != std::string::npos)
            self(context).committed_ = true;
    }

    int half_, proxies_, group_ = -1;
    int64_t now_ms_ = 0;
    uint32_t epoch_ = 0;
    long reports_ = 0;
    bool committed_ = false;
    std::string answer_;
    stepmgr *core_ = nullptr;
};

}  // namespace

int main(int argc, char **argv)
{
    int processes = argc == 3 ? std::atoi(argv[1]) : 0,
        proxies = argc == 3 ? std::atoi(argv[2]) : 0;
    if (proxies < 2 || proxies % 2 || processes < proxies || processes % 2) {
        std::fprintf(
            stderr,
            "usage: growth_reports PROCESSES PROXIES (even, at least one process on each)\n");
        return 2;
    }
    SimulatedJob job(processes, proxies);
    double times[4] = {processor_seconds()};
    long growth = 0;
    job.start();
    times[1] = processor_seconds();
    growth -= job.reports();
    job.grow();
    growth += job.reports();
    times[2] = processor_seconds();
    job.end();
    times[3] = processor_seconds();
    std::printf(
        "{\"processes\": %d, \"daemons\": %d, \"launch_s\": %.4f, \"growth_s\": %.4f, \"end_s\": "
        "%.4f, "
        "\"reports\": %ld}\n",
        processes, proxies, times[1] - times[0], times[2] - times[1], times[3] - times[2], growth);
    return 0;
}
