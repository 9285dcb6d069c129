/* See slurm_client.h. */

#include "backend/slurm/slurm_client.h"

#include <unistd.h>

#include <random>

#include "backend/slurm/slurm_launch.h"

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

/* The answer, or why it cannot be read. */
template <class Row>
SlurmAnswer
read_listing(const SlurmAnswer &answer,
             Result<std::vector<Row>> (*parse)(std::string_view text, const std::string &marker),
             const std::string &marker, std::vector<Row> &rows)
{
    if (!answer.good())
        return answer;
    auto parsed = parse(answer.output, marker);
    if (parsed) {
        rows = std::move(parsed.value());
        return answer;
    }
    SlurmAnswer unreadable;
    unreadable.problem = parsed.error();
    return unreadable;
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
    commands_[number] = std::make_unique<Command>(
        loop_, std::move(spec), [this, number, done](const CommandEnd &end) {
            SlurmAnswer answer = answer_of(end);
            discard(number);
            done(answer);
        });
}

/* The command may be the caller. */
void SlurmClient::discard(uint64_t number)
{
    auto found = commands_.find(number);
    std::shared_ptr<Command> ended = std::move(found->second);
    commands_.erase(found);
    loop_.after(0, [ended] {});
}

void SlurmClient::poll(const std::string &partition, Polled done)
{
    std::string marker = draw_marker();
    run(nodes_command(partition, marker), 0,
        [this, partition, marker, done](const SlurmAnswer &answer) {
            SlurmReport poll;
            SlurmAnswer read = read_listing(answer, parse_nodes, marker, poll.nodes);
            if (!read.good())
                return done(read, poll);
            list_jobs(partition, false, std::move(poll), done);
        });
}

void SlurmClient::list_ended(const std::string &partition, Polled done)
{
    list_jobs(partition, true, {}, std::move(done));
}

void SlurmClient::list_jobs(const std::string &partition, bool ended, SlurmReport poll, Polled done)
{
    std::string marker = draw_marker();
    run(jobs_command(partition, marker, ended), 0,
        [poll = std::move(poll), marker,
         done = std::move(done)](const SlurmAnswer &answer) mutable {
            done(read_listing(answer, parse_jobs, marker, poll.jobs), poll);
        });
}

}  // namespace elastic::rm
