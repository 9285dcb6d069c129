/* See host_probe.h. */

#include "backend/hosts/host_probe.h"

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "base/words.h"

namespace elastic::rm {

namespace {

constexpr const char *FIRST_LINE = "elastic-probe 1", *LAST_LINE = "elastic-probe end";

std::string parent_of(const std::string &path)
{
    size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

void add_if_here(std::vector<InstalledFile> &files, const std::string &path, bool is_library)
{
    struct stat status = {};
    if (stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode))
        files.push_back({path, status.st_size, is_library});
}

/* ---- refusals of ssh ------------------------------------------------------------------------- */

struct Complaint {
    const char *part;           /* part of the message of ssh */
    HostHealth health;
    const char *advice;
};

constexpr Complaint COMPLAINTS[] = {
    {"Could not resolve", HostHealth::NO_ACCESS,
     "check the name in the list of hosts (backend.hosts) and the name service of this machine"},
    {"Permission denied", HostHealth::NO_ACCESS,
     "the user of elasticd needs access without a password: put a key into ~/.ssh/authorized_keys "
     "there"},
    {"Too many authentication failures", HostHealth::NO_ACCESS,
     "name the key in the configuration of ssh"},
    {"HOST IDENTIFICATION HAS CHANGED", HostHealth::NO_ACCESS,
     "its host key has changed: if that is expected, put the new one into known_hosts"},
    {"Host key verification failed", HostHealth::NO_ACCESS,
     "its host key is unknown or has changed: put the right one into known_hosts (ssh-keyscan "
     "prints it)"},
    {"Connection refused", HostHealth::NO_ACCESS, "no sshd listens there"},
    {"kex_exchange_identification", HostHealth::NO_ACCESS,
     "its sshd rejects connections (MaxStartups?)"},
    {"Connection reset", HostHealth::NO_ACCESS, "its sshd rejects connections"},
    {"Connection closed", HostHealth::NO_ACCESS,
     "its sshd rejects connections, or requires more than a key"},
    {"Bad configuration option", HostHealth::NO_ACCESS,
     "correct the configuration of ssh (backend.ssh_config)"},
    {"Can't open user config file", HostHealth::NO_ACCESS,
     "backend.ssh_config must name a file that elasticd can read"},
    {"banner exchange", HostHealth::NO_ACCESS, "check whether it is overloaded or hangs"},
    {"No route to host", HostHealth::NO_ANSWER, "check whether the host and its network are up"},
    {"Network is unreachable", HostHealth::NO_ANSWER, "check the network of this machine"},
    {"timed out", HostHealth::NO_ANSWER, "check whether the host and its network are up"},
    {"gave no answer", HostHealth::NO_ACCESS,
     "check whether it is overloaded, or it or its file system hangs"},
};

HostReport complain(const std::string &host, const CommandEnd &end, const std::string &ssh)
{
    std::string reports = end.errors + end.problem;
    HostReport poll;
    std::string advice = "test the connection by hand";
    for (const Complaint &complaint : COMPLAINTS)
        if (reports.find(complaint.part) != std::string::npos) {
            poll.health = complaint.health;
            advice = complaint.advice;
            break;
        }
    std::string what = end.started && !end.timed_out ? last_line(end.errors) : end.problem;
    if (end.timed_out && !end.errors.empty())
        what = "no answer in time: " + last_line(end.errors);
    else if (end.timed_out)
        what = "no answer in time";
    if (what.empty())
        what = "ssh ended with code " + std::to_string(end.exit_code);
    poll.reason = "host " + host + " cannot be used: " + what + " (" + advice + "; try: " + ssh +
        " true)";
    return poll;
}

/* ---- the answer of the host ------------------------------------------------------------------ */

struct ProbeAnswer {
    bool complete = false;
    int64_t cores = 0, time_s = 0;
    std::map<std::string, int64_t> sizes;       /* -1: missing, or unusable */
    std::vector<std::string> lacks;             /* libraries */
};

/* "WORD NUMBER REST"; false: another form. */
bool split(const std::string &line, const std::string &word, int64_t &number, std::string &rest)
{
    if (!line.starts_with(word + " "))
        return false;
    const char *begin = line.data() + word.size() + 1, *end = line.data() + line.size();
    auto [stop, error] = std::from_chars(begin, end, number);
    if (error != std::errc() || (stop != end && *stop != ' '))
        return false;
    rest = stop == end ? "" : std::string(stop + 1, end);
    return true;
}

/* Other lines may precede it: messages of the host at login. */
ProbeAnswer read_answer(const std::string &text)
{
    ProbeAnswer answer;
    bool begun = false;
    for (size_t at = 0; at < text.size() && !answer.complete;) {
        size_t end = std::min(text.find('\n', at), text.size());
        std::string line = text.substr(at, end - at), rest;
        at = end + 1;
        int64_t number = 0;
        if (line == FIRST_LINE)
            begun = true;
        else if (!begun)
            continue;
        else if (line == LAST_LINE)
            answer.complete = true;
        else if (split(line, "cores", number, rest))
            answer.cores = number;
        else if (split(line, "time", number, rest))
            answer.time_s = number;
        else if (split(line, "file", number, rest))
            answer.sizes[rest] = number;
        else if (line.starts_with("lacks "))
            answer.lacks.push_back(line.substr(6));
    }
    return answer;
}

/* Empty, or the missing requirements of the processes. */
std::string unfit(const ProbeAnswer &answer, const std::vector<InstalledFile> &files)
{
    for (const InstalledFile &file : files) {
        auto found = answer.sizes.find(file.path);
        if (found == answer.sizes.end() || found->second < 0)
            return file.path + " is missing there, or cannot be used";
        if (found->second != file.bytes)
            return file.path + " differs from the file on this machine (" +
                std::to_string(found->second) + " bytes, not " + std::to_string(file.bytes) + ")";
    }
    if (!answer.lacks.empty())
        return "the library " + last_line(answer.lacks.front(), 100) +
            " is missing there, which libmpi needs";
    return "";
}

}  // namespace

std::vector<InstalledFile> installed_files(const std::string &mpiexec)
{
    std::vector<InstalledFile> files;
    std::string folder = parent_of(mpiexec);
    add_if_here(files, folder + "/hydra_pmi_proxy", false);
    for (const char *library : {"/lib/libmpi.so", "/lib64/libmpi.so"})
        if (files.size() < 2)
            add_if_here(files, parent_of(folder) + library, true);
    return files;
}

std::string probe_script(const std::vector<InstalledFile> &files)
{
    std::string script =
        "unset OMP_NUM_THREADS OMP_THREAD_LIMIT\n"
        "export LC_ALL=C\n"
        "echo " + std::string(FIRST_LINE) + "\n"
        "echo cores $(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)\n"
        "echo time $(date +%s)\n";
    for (const InstalledFile &file : files) {
        std::string word = shell_word(file.path);
        script += std::string("if [ ") + (file.is_library ? "-r " : "-x ") + word +
            " ]; then bytes=$(wc -c <" + word +
            "); else bytes=-1; fi\n"
            "echo file $bytes " +
            word + "\n";
        if (file.is_library)
            script += "ldd " + word +
                " 2>/dev/null | sed -n 's/^[[:space:]]*\\(.*\\) => not found.*/lacks \\1/p'\n";
    }
    return script + "echo " + LAST_LINE + "\n";
}

HostReport judge(const std::string &host, const CommandEnd &end,
               const std::vector<InstalledFile> &files, int64_t queried_ms, int64_t answered_ms,
               const std::string &ssh)
{
    ProbeAnswer answer = read_answer(end.output);
    if (!answer.complete)
        return complain(host, end, ssh);
    HostReport poll;
    std::string wrong = unfit(answer, files);
    if (wrong.empty() && (answer.cores < 1 || answer.cores > 65536))
        wrong = "it does not report its number of cores";
    poll.health = wrong.empty() ? HostHealth::WELL : HostHealth::UNFIT;
    if (!wrong.empty())
        poll.reason = "host " + host + " cannot be used: " + wrong +
                      " (the same Elastic MPICH must be at the same path on all hosts)";
    poll.cores = static_cast<int>(answer.cores);
    if (answer.time_s * 1000 > answered_ms)
        poll.clock_offset_s = (answer.time_s * 1000 - answered_ms) / 1000;
    else if ((answer.time_s + 1) * 1000 < queried_ms)
        poll.clock_offset_s = -((queried_ms - (answer.time_s + 1) * 1000) / 1000);
    return poll;
}

}  // namespace elastic::rm
