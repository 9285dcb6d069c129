/* See slurm_lines.h. */

#include "cli/slurm_lines.h"

#include <cstring>
#include <optional>
#include <sstream>

#include "cli/job_options.h"
#include "cli/units.h"

namespace elastic {

namespace {

constexpr const char *DIRECTIVE = "#SBATCH";

enum class Kind {
    VALUE,      /* the same meaning, with a value */
    FLAG,       /* the same meaning, without a value */
    NOTHING,    /* always true here: no effect, no note */
    NO_VALUE,   /* not supported; without a value */
    NO          /* not supported; with a value */
};

struct SlurmOption {
    const char *name;           /* --NAME */
    char letter;                /* 0: none */
    Kind kind;
    const char *ours;           /* the elastic option, or why there is none */
};

constexpr const char *NO_MEMORY = "elasticd counts memory for each core: --mem-per-cpu";
constexpr const char *NO_SOCKETS = "elasticd does not know the sockets of nodes";
constexpr const char *NO_ACCOUNTS = "elasticd has users, no accounts";
constexpr const char *NO_CHOICE = "elasticd chooses the nodes";
constexpr const char *NO_BINDING = "binding is mpiexec's: -bind-to";

constexpr SlurmOption OPTIONS[] = {
    {"ntasks", 'n', Kind::VALUE, "--ntasks"},
    {"nodes", 'N', Kind::VALUE, "--nodes"},
    {"ntasks-per-node", 0, Kind::VALUE, "--ntasks-per-node"},
    {"tasks-per-node", 0, Kind::VALUE, "--ntasks-per-node"},
    {"cpus-per-task", 'c', Kind::VALUE, "--cpus-per-task"},
    {"time", 't', Kind::VALUE, "--time"},
    {"job-name", 'J', Kind::VALUE, "--job-name"},
    {"chdir", 'D', Kind::VALUE, "--chdir"},
    {"workdir", 0, Kind::VALUE, "--chdir"},
    {"output", 'o', Kind::VALUE, "--output"},
    {"error", 'e', Kind::VALUE, "--error"},
    {"input", 'i', Kind::VALUE, "--input"},
    {"export", 0, Kind::VALUE, "--export"},
    {"begin", 'b', Kind::VALUE, "--begin"},
    {"signal", 0, Kind::VALUE, "--signal"},
    {"hold", 'H', Kind::FLAG, "--hold"},
    {"requeue", 0, Kind::FLAG, "--requeue"},
    {"wait", 'W', Kind::FLAG, "--wait"},
    {"parsable", 0, Kind::FLAG, "--parsable"},
    {"no-requeue", 0, Kind::NOTHING, ""},
    {"verbose", 'v', Kind::NOTHING, ""},
    {"quiet", 'Q', Kind::NOTHING, ""},
    {"oversubscribe", 's', Kind::NO_VALUE, "a core has one process"},
    {"overcommit", 'O', Kind::NO_VALUE, "a core has one process"},
    {"contiguous", 0, Kind::NO_VALUE, NO_CHOICE},
    {"array", 'a', Kind::VALUE, "--array"},
    {"mem", 0, Kind::VALUE, "--mem"},
    {"mem-per-cpu", 0, Kind::VALUE, "--mem-per-cpu"},
    {"mem-per-gpu", 0, Kind::NO, NO_MEMORY},
    {"mem-bind", 0, Kind::NO, NO_BINDING},
    {"tmp", 0, Kind::NO, "elasticd does not count disks"},
    {"gres", 0, Kind::VALUE, "--gres"},
    {"gpus", 'G', Kind::VALUE, "--gpus"},
    {"gpus-per-node", 0, Kind::VALUE, "--gpus-per-node"},
    {"gpus-per-task", 0, Kind::VALUE, "--gpus-per-task"},
    {"gpus-per-socket", 0, Kind::NO, NO_SOCKETS},
    {"gpu-bind", 0, Kind::NO, "each process sees the GPUs of --gpus-per-task, or all of its node"},
    {"gpu-freq", 0, Kind::NO, "elasticd sets no frequencies"},
    {"cpus-per-gpu", 0, Kind::NO, "--cpus-per-task counts cores"},
    {"ntasks-per-gpu", 0, Kind::NO, "--gres with --ntasks-per-node lets processes share GPUs"},
    {"partition", 'p', Kind::VALUE, "--partition"},
    {"qos", 'q', Kind::NO, "elasticd's limits are those of users, groups and partitions"},
    {"account", 'A', Kind::NO, NO_ACCOUNTS},
    {"wckey", 0, Kind::NO, NO_ACCOUNTS},
    {"clusters", 'M', Kind::NO, "elasticd is one cluster: ELASTICD_URL chooses another"},
    {"cluster-constraint", 0, Kind::NO, "elasticd is one cluster"},
    {"reservation", 0, Kind::VALUE, "--reservation"},
    {"constraint", 'C', Kind::NO, "elasticd's nodes have no features"},
    {"licenses", 'L', Kind::NO, "elasticd does not count licences"},
    {"nodelist", 'w', Kind::VALUE, "--nodelist"},
    {"exclude", 'x', Kind::VALUE, "--exclude"},
    {"nodefile", 'F', Kind::NO, NO_CHOICE},
    {"switches", 0, Kind::NO, NO_CHOICE},
    {"distribution", 'm', Kind::NO, NO_CHOICE},
    {"mail-type", 0, Kind::VALUE, "--mail-type"},
    {"mail-user", 0, Kind::VALUE, "--mail-user"},
    {"nice", 0, Kind::NO_VALUE, "--priority has the opposite sign"},
    {"time-min", 0, Kind::NO, "a job has one time limit"},
    {"deadline", 0, Kind::NO, "a job has a time limit, no deadline"},
    {"open-mode", 0, Kind::NO, "files are appended to"},
    {"get-user-env", 0, Kind::NO_VALUE, "the environment is that of the submission"},
    {"export-file", 0, Kind::NO, "--export names variables"},
    {"propagate", 0, Kind::NOTHING, ""},
    {"kill-on-invalid-dep", 0, Kind::NO, "a job that can never start is cancelled"},
    {"no-kill", 'k', Kind::NO_VALUE, "a job does not survive its node"},
    {"comment", 0, Kind::NO, "--job-name is stored with the job"},
    {"extra-node-info", 'B', Kind::NO, NO_CHOICE},
    {"sockets-per-node", 0, Kind::NO, NO_CHOICE},
    {"cores-per-socket", 0, Kind::NO, NO_CHOICE},
    {"threads-per-core", 0, Kind::NO, NO_CHOICE},
    {"ntasks-per-core", 0, Kind::NO, "a core has one process"},
    {"ntasks-per-socket", 0, Kind::NO, NO_CHOICE},
    {"mincpus", 0, Kind::NO, NO_CHOICE},
    {"hint", 0, Kind::NO, NO_CHOICE},
    {"core-spec", 'S', Kind::NO, NO_CHOICE},
    {"thread-spec", 0, Kind::NO, NO_CHOICE},
    {"profile", 0, Kind::NO, "'elastic loops' shows how programs use their time"},
    {"acctg-freq", 0, Kind::NO, "'elastic loops' shows how programs use their time"},
    {"container", 0, Kind::NO, "elasticd starts no containers"},
    {"uid", 0, Kind::NO, "a job belongs to its submitter"},
    {"gid", 0, Kind::NO, "a job belongs to its submitter"},
    {"priority", 0, Kind::VALUE, "--priority"},
    {"reboot", 0, Kind::NO_VALUE, "elasticd starts no nodes"},
    {"power", 0, Kind::NO, "elasticd starts no nodes"},
    {"bb", 0, Kind::NO, "elasticd has no burst buffers"},
    {"bbf", 0, Kind::NO, "elasticd has no burst buffers"},
};

const SlurmOption *find_long(const std::string &name)
{
    for (const SlurmOption &each : OPTIONS) {
        if (name == each.name)
            return &each;
    }
    return nullptr;
}

const SlurmOption *find_letter(char letter)
{
    for (const SlurmOption &each : OPTIONS) {
        if (letter && letter == each.letter)
            return &each;
    }
    return nullptr;
}

bool takes_value(const SlurmOption &option)
{
    return option.kind == Kind::VALUE || option.kind == Kind::NO;
}

/* One word, and the next one if it is its value. */
struct Given {
    std::string text;           /* as written there */
    std::string name;           /* without dashes */
    const SlurmOption *known;
    std::optional<std::string> value;
};

Result<Given> next_given(const std::vector<std::string> &words, size_t &at)
{
    const std::string &word = words[at++];
    Given given{word, "", nullptr, std::nullopt};
    if (word.starts_with("--")) {
        size_t equals = word.find('=');
        given.name = word.substr(2, equals == word.npos ? word.npos : equals - 2);
        given.known = find_long(given.name);
        if (equals != word.npos)
            given.value = word.substr(equals + 1);
    } else if (word.size() > 1 && word.front() == '-') {
        given.name = word.substr(1, 1);
        given.known = find_letter(word[1]);
        if (word.size() > 2)
            given.value = word.substr(word[2] == '=' ? 3 : 2);
    } else {
        return Error{"'" + word + "' is not an option"};
    }
    bool own = given.name == "dependency" || given.name == "d" || given.name == "exclusive" ||
               given.name == "wrap";
    bool wants = given.known ? takes_value(*given.known)
                             : given.name == "dependency" || given.name == "d";
    if (wants && !given.value) {
        if (at == words.size())
            return Error{"'" + word + "' has no value"};
        given.text += " " + words[at];
        given.value = words[at++];
    }
    /* after an unknown option, the next word may be its value */
    while (!given.known && !own && !given.value && at < words.size() &&
           !words[at].starts_with("-")) {
        given.text += " " + words[at++];
    }
    return given;
}

bool has(const std::vector<std::string> &words, const std::string &option)
{
    for (const std::string &word : words) {
        if (word == option || word.starts_with(option + "="))
            return true;
    }
    return false;
}

/* The type of a GPU, as in gpu:a100:2, is removed and reported; other devices are reported. */
std::string without_type(std::string value, const Given &given, SlurmOptions &found)
{
    auto note = [&](const std::string &why) {
        found.notes.push_back(given.text + " is not honoured: " + why);
    };
    bool is_gres = given.name == "gres";
    if (is_gres && !value.starts_with("gpu:") && value != "gpu") {
        note("elasticd counts GPUs, no other devices");
        return "";
    }
    size_t first = is_gres ? std::min(value.find(':'), value.size()) + 1 : 0;
    std::string rest = value.substr(std::min(first, value.size()));
    bool has_type = !rest.empty() && rest.find_first_not_of("0123456789") != std::string::npos;
    if (!has_type)
        return value;
    note("GPUs of elasticd have no types; any will do");
    size_t colon = rest.find(':');
    std::string number = colon == std::string::npos ? "1" : rest.substr(colon + 1);
    return (is_gres ? "gpu:" : "") + number;
}

std::optional<Error> take(const Given &given, SlurmOptions &found)
{
    auto note = [&](const std::string &why) {
        found.notes.push_back(given.text + " is not honoured: " + why);
    };
    if (given.name == "dependency" || given.name == "d") {
        auto known = parse_dependencies(*given.value);
        if (!known)
            return Error{given.text + ": " + known.error()};
        found.words.push_back("--dependency=" + *given.value);
        return std::nullopt;
    }
    if (given.name == "mail-type") {
        std::string types = *given.value;
        for (const std::string &unknown : split_mail_types(types))
            found.notes.push_back("--mail-type=" + unknown +
                                  " is not honoured: elasticd sends no such mail");
        found.words.push_back("--mail-type=" + types);
        return std::nullopt;
    }
    bool is_of_gpus = given.known && given.known->kind == Kind::VALUE &&
        (std::string(given.known->name).starts_with("gpus") || given.name == "gres");
    if (is_of_gpus) {
        if (std::string value = without_type(*given.value, given, found); !value.empty())
            found.words.push_back(std::string(given.known->ours) + "=" + value);
        return std::nullopt;
    }
    if (given.name == "exclusive") {
        found.words.push_back("--exclusive");
        return std::nullopt;
    }
    if (!given.known) {
        note("sbatch's option is not known here");
        return std::nullopt;
    }
    switch (given.known->kind) {
        case Kind::VALUE:
            found.words.push_back(std::string(given.known->ours) + "=" + *given.value);
            break;
        case Kind::FLAG: found.words.push_back(given.known->ours); break;
        case Kind::NOTHING: break;
        case Kind::NO:
        case Kind::NO_VALUE: note(given.known->ours); break;
    }
    return std::nullopt;
}

/* Slurm starts one process on each node if only nodes are given. */
void complete(SlurmOptions &found)
{
    bool has_nodes = has(found.words, "--nodes");
    if (has_nodes && !has(found.words, "--ntasks") && !has(found.words, "--ntasks-per-node"))
        found.words.push_back("--ntasks-per-node=1");
}

}  // namespace

Result<SlurmOptions> slurm_options(const std::string &script)
{
    SlurmOptions found;
    std::istringstream lines(script);
    int number = 0;
    for (std::string line; std::getline(lines, line);) {
        number++;
        if (!line.empty() && line.front() != '#' && line.find_first_not_of(" \t\r") != line.npos)
            break;
        if (!line.starts_with(DIRECTIVE) || line.size() <= strlen(DIRECTIVE) ||
            !isspace(static_cast<unsigned char>(line[strlen(DIRECTIVE)])))
            continue;
        found.any = true;
        std::string where = "line " + std::to_string(number) + ": ";
        auto words = split_words(line.substr(strlen(DIRECTIVE)));
        if (!words)
            return Error{where + words.error()};
        size_t notes = found.notes.size();
        for (size_t at = 0; at < words.value().size();) {
            auto given = next_given(words.value(), at);
            if (!given)
                return Error{where + given.error()};
            if (auto error = take(given.value(), found))
                return Error{where + error->message};
        }
        for (; notes < found.notes.size(); notes++)
            found.notes[notes].insert(0, where);
    }
    complete(found);
    return found;
}

}  // namespace elastic
