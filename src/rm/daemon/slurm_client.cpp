/* See slurm_client.h. */

#include "daemon/slurm_client.h"

#include <unistd.h>

#include <random>

#include "daemon/slurm_launch.h"

namespace elastic::rm {

namespace {

constexpr int64_t COMMAND_LIMIT_MS = 30000;
constexpr size_t OUTPUT_MAX = 64 * 1024 * 1024;         /* a listing of a large site */

std::string draw_marker()
{
    static std::random_device random;
    char text[40];
    snprintf(text, sizeof text, "%08x%08x%08x", random(), random(), random());
    return text;
}

SlurmAnswer unreadable(const std::string &problem)
{
    SlurmAnswer answer;
    answer.problem = problem;
    return answer;
}

}  // namespace

void SlurmClient::run(Words words, int64_t wait_ms, Done done)
{
    uint64_t number = ++last_;
    CommandSpec spec{std::move(words)};
    spec.without = misleading_variables(environ);
    spec.variables = {"LC_ALL=C"};
    spec.limit_ms = COMMAND_LIMIT_MS + wait_ms;
    spec.output_max = OUTPUT_MAX;
    commands_[number] = std::make_unique<Command>(loop_, std::move(spec), [this, number, done](const CommandEnd &end) {
        SlurmAnswer answer = answer_of(end);
        forget(number);
        done(answer);
    });
}

/* We are called by it. */
void SlurmClient::forget(uint64_t number)
{
    auto found = commands_.find(number);
    std::shared_ptr<Command> kept = std::move(found->second);
    commands_.erase(found);
    loop_.after(0, [kept] {});
}

/* The two listings of a look; whichever comes last tells. */
struct SlurmClient::Looking {
    Looked done;
    SlurmLook look;
    SlurmAnswer answer;         /* of the first that went wrong */
    int open = 0;

    template <class Row> using Read = Result<std::vector<Row>> (*)(std::string_view text, const std::string &marker);

    template <class Row>
    void part(const SlurmAnswer &end, Read<Row> read, const std::string &marker, std::vector<Row> &rows)
    {
        auto parsed = end.good() ? read(end.output, marker) : Result<std::vector<Row>>(Error{""});
        if (parsed)
            rows = std::move(parsed.value());
        else if (answer.good())
            answer = end.good() ? unreadable(parsed.error()) : end;
        if (--open == 0)
            done(answer, look);
    }
};

std::shared_ptr<SlurmClient::Looking> SlurmClient::begin_look(const std::string &partition, bool ended, int listings,
                                                              Looked done)
{
    auto looking = std::make_shared<Looking>();
    looking->done = std::move(done);
    looking->answer.kind = SlurmAnswer::Kind::GOOD;
    looking->open = listings;
    std::string marker = draw_marker();
    run(jobs_command(partition, marker, ended), 0, [looking, marker](const SlurmAnswer &end) {
        looking->part(end, parse_jobs, marker, looking->look.jobs);
    });
    return looking;
}

void SlurmClient::look(const std::string &partition, Looked done)
{
    auto looking = begin_look(partition, false, 2, std::move(done));
    std::string marker = draw_marker();
    run(nodes_command(partition, marker), 0, [looking, marker](const SlurmAnswer &end) {
        looking->part(end, parse_nodes, marker, looking->look.nodes);
    });
}

void SlurmClient::look_at_ended(const std::string &partition, Looked done)
{
    begin_look(partition, true, 1, std::move(done));
}

}  // namespace elastic::rm
