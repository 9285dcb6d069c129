/* See slurm_lines.h. */

#include "cli/slurm_lines.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <sstream>

#include "base/change.h"
#include "base/words.h"
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
constexpr const char *NO_FEATURES = "elasticd's nodes have no features";
constexpr const char *NO_POWER = "elasticd starts no nodes";
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
    {"test-only", 0, Kind::FLAG, "--test-only"},
    {"no-requeue", 0, Kind::NOTHING, ""},
    {"verbose", 'v', Kind::NOTHING, ""},
    {"quiet", 'Q', Kind::NOTHING, ""},
    {"ignore-pbs", 0, Kind::NOTHING, ""},
    {"help", 'h', Kind::NO_VALUE, "it is an option of the command line"},
    {"usage", 0, Kind::NO_VALUE, "it is an option of the command line"},
    {"version", 'V', Kind::NO_VALUE, "it is an option of the command line"},
    {"wrap", 0, Kind::NO, "there is a script"},
    {"oversubscribe", 's', Kind::NO_VALUE, "a core has one process"},
    {"overcommit", 'O', Kind::NO_VALUE, "a core has one process"},
    {"contiguous", 0, Kind::NO_VALUE, NO_CHOICE},
    {"spread-job", 0, Kind::NO_VALUE, NO_CHOICE},
    {"use-min-nodes", 0, Kind::NO_VALUE, NO_CHOICE},
    {"array", 'a', Kind::VALUE, "--array"},
    {"mem", 0, Kind::VALUE, "--mem"},
    {"mem-per-cpu", 0, Kind::VALUE, "--mem-per-cpu"},
    {"mem-per-gpu", 0, Kind::NO, NO_MEMORY},
    {"mem-bind", 0, Kind::NO, NO_BINDING},
    {"tmp", 0, Kind::NO, "elasticd does not count disks"},
    {"gres", 0, Kind::VALUE, "--gres"},
    {"gres-flags", 0, Kind::NO, NO_SOCKETS},
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
    {"constraint", 'C', Kind::NO, NO_FEATURES},
    {"prefer", 0, Kind::NO, NO_FEATURES},
    {"batch", 0, Kind::NO, NO_FEATURES},
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
    {"mcs-label", 0, Kind::NO, "a job belongs to its submitter"},
    {"reboot", 0, Kind::NO_VALUE, NO_POWER},
    {"power", 0, Kind::NO, NO_POWER},
    {"delay-boot", 0, Kind::NO, NO_POWER},
    {"wait-all-nodes", 0, Kind::NO, "a job starts when all its nodes are ready"},
    {"cpu-freq", 0, Kind::NO, "elasticd sets no frequencies"},
    {"network", 0, Kind::NO, "elasticd does not set up networks"},
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
    bool own = given.name == "dependency" || given.name == "d" || given.name == "exclusive";
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

void add_note(SlurmOptions &found, const Given &given, const std::string &why)
{
    found.notes.push_back(given.text + " is not honoured: " + why);
}

/* GPUs by kind, as in gpu:a100:2,gpu:v100:1 and a100:2,v100:1, become one number; types and other
 * devices are reported. */
std::string without_types(const std::string &value, const Given &given, SlurmOptions &found)
{
    bool is_gres = given.name == "gres", has_type = false, has_others = false, has_gpus = false;
    int64_t sum = 0;
    for (std::string entry : rm::split_list(value, ',')) {
        if (is_gres && (entry.starts_with("gres:") || entry.starts_with("gres/")))
            entry = entry.substr(5);
        if (is_gres && entry != "gpu" && !entry.starts_with("gpu:")) {
            has_others = has_others || entry != "none";
            continue;
        }
        std::string rest = is_gres ? entry.substr(std::min<size_t>(4, entry.size())) : entry;
        std::string last = rest.substr(rest.rfind(':') + 1);
        bool has_count = !last.empty() && last.find_first_not_of("0123456789") == last.npos;
        auto count = has_count ? parse_number(last, 0, INT32_MAX) : 1;
        if (!count || entry.ends_with(':'))
            return value;       /* elastic submit refuses it */
        has_type = has_type || (!rest.empty() && !(has_count && rest == last));
        has_gpus = true;
        sum += *count;
    }
    if (has_others)
        add_note(found, given, "elasticd counts GPUs, no other devices");
    if (has_type && sum > 0)
        add_note(found, given, "GPUs of elasticd have no types; any will do");
    return has_gpus && sum > 0 ? (is_gres ? "gpu:" : "") + std::to_string(sum) : "";
}

/* In names of files, the patterns of a step have their values of Slurm's batch step. */
std::string of_batch_step(const std::string &path)
{
    std::string result;
    for (size_t i = 0; i < path.size(); i++) {
        if (path[i] != '%' || i + 1 == path.size()) {
            result += path[i];
            continue;
        }
        size_t end = i + 1;
        while (end + 1 < path.size() && isdigit(static_cast<unsigned char>(path[end])))
            end++;
        std::string digits = path.substr(i + 1, end - i - 1);
        char letter = path[end];
        if (letter == 'J')
            result += "%" + digits + "j";
        else if (letter == 's')
            result += "batch";
        else if (letter == 'n' || letter == 't')
            result += std::string(std::max(strtoul(digits.c_str(), nullptr, 10) % 11, 1UL), '0');
        else
            result += path.substr(i, end - i + 1);
        i = end;
    }
    return result;
}

/* The value of an option of the kind VALUE, as it is here; nothing: the option is left out. */
std::optional<std::string> value_here(const Given &given, SlurmOptions &found)
{
    const std::string &value = *given.value;
    std::string name = given.known->name;
    if (name.starts_with("gpus") || name == "gres") {
        std::string gpus = without_types(value, given, found);
        return gpus.empty() ? std::nullopt : std::optional(gpus);
    }
    if (name == "output" || name == "error" || name == "input")
        return of_batch_step(value);
    return value;
}

std::optional<Error> take(const Given &given, SlurmOptions &found)
{
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
    if (given.name == "exclusive") {
        found.words.push_back("--exclusive");
        return std::nullopt;
    }
    if (given.name == "kill-on-invalid-dep" && given.value == "yes")
        return std::nullopt;
    if (!given.known) {
        add_note(found, given, "sbatch's option is not known here");
        return std::nullopt;
    }
    switch (given.known->kind) {
        case Kind::VALUE:
            if (auto value = value_here(given, found))
                found.words.push_back(std::string(given.known->ours) + "=" + *value);
            break;
        case Kind::FLAG: found.words.push_back(given.known->ours); break;
        case Kind::NOTHING: break;
        case Kind::NO:
        case Kind::NO_VALUE: add_note(found, given, given.known->ours); break;
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

std::string why_not_honoured(const std::string &option)
{
    const SlurmOption *known = option.starts_with("--") ? find_long(option.substr(2))
                               : option.size() == 2     ? find_letter(option[1])
                                                        : nullptr;
    if (!known || known->kind == Kind::VALUE || known->kind == Kind::FLAG)
        return "";
    return known->kind == Kind::NOTHING ? "elastic always does what it requests" : known->ours;
}

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
