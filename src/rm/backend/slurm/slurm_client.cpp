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

void SlurmClient::look(const std::string &partition, Looked done)
{
    std::string marker = draw_marker();
    run(nodes_command(partition, marker), 0,
        [this, partition, marker, done](const SlurmAnswer &answer) {
            SlurmLook look;
            SlurmAnswer read = read_listing(answer, parse_nodes, marker, look.nodes);
            if (!read.good())
                return done(read, look);
            list_jobs(partition, false, std::move(look), done);
        });
}

void SlurmClient::look_at_ended(const std::string &partition, Looked done)
{
    list_jobs(partition, true, {}, std::move(done));
}

void SlurmClient::list_jobs(const std::string &partition, bool ended, SlurmLook look, Looked done)
{
    std::string marker = draw_marker();
    run(jobs_command(partition, marker, ended), 0,
        [look = std::move(look), marker,
         done = std::move(done)](const SlurmAnswer &answer) mutable {
            done(read_listing(answer, parse_jobs, marker, look.jobs), look);
        });
}

}  // namespace elastic::rm
