/*
 * A change of the world: the request (a size, perhaps the leaving ranks, the hosts of new processes
 * and their program) and the resulting change for the present size.  Pure; used by schedules,
 * policies and the step protocol, so that they use the same rules.  SPEC W6, W7.
 */

#ifndef ELASTIC_CHANGE_H_INCLUDED
#define ELASTIC_CHANGE_H_INCLUDED

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace elastic {

inline constexpr int SIZE_MAX_PROCESSES = 1 << 20;      /* of a world; bounds every list of ranks */
inline constexpr int PROGRAMS_MAX = 1 << 16;    /* launched together */
inline constexpr size_t HOSTS_MAX = 65536;      /* names in one change */
inline constexpr size_t HOST_NAME_MAX_BYTES = 255;

struct ChangeRequest {
    int size = 0;               /* after the change */
    std::optional<std::vector<int>> leave;      /* ranks before the change; none: the highest */
    /* for joining processes; empty: any host with capacity */
    std::vector<std::string> hosts;
    std::string tag{};          /* set by the client, repeated in the event "requested" */
    std::optional<int> program{};       /* of joining processes: its MPI_APPNUM; none: the first */
};

struct Change {
    std::vector<int> leaving;   /* ascending */
    int joining = 0;
    int new_size = 0;
};

/* The change that `request` makes in a world of `present` processes, or the reason why it is
 * impossible.  `programs`: number of programs launched together; 0: unknown. */
Result<Change> resolve_change(int present, const ChangeRequest &request, int programs = 0);

/* "0+2", "0,2" or "0-3,7" (separator given): ranks in the order given, duplicates refused. */
Result<std::vector<int>> parse_ranks(std::string_view text, char separator);
/* "a+b" or "a,b": letters, digits, '.', '-', '_'. */
Result<std::vector<std::string>> parse_hosts(std::string_view text, char separator);
/* A list in a user's form, "0+2" or "[0, 2]", with this separator and without brackets and
 * blanks: for parse_ranks and parse_hosts, which report invalid parts. */
std::string plain_list(std::string_view text, char separator);
bool valid_host_name(std::string_view name);
/* A host name, or NAME:COUNT: exactly this number of joining processes there. */
bool valid_host_slot(std::string_view slot);
/* The same, or NAME:COUNT=GPUS: numbers of GPUs with commas, in equal parts for these processes. */
bool valid_host_of_joining(std::string_view slot);

/* Whole number within [low, high]; the text contains nothing else. */
std::optional<long long> parse_number(std::string_view text, long long low, long long high);

/* "0-3,7" from ascending ranks. */
std::string format_ranks(const std::vector<int> &ranks);
/* Text of another process in one line, safe for a terminal, a log or the header of a mail: line
 * ends and tabs become blanks, other control characters '?', and so does each byte outside of the
 * character set.  At most `bytes_max` bytes, cut between characters. */
enum class Charset { ASCII, UTF_8 };
std::string printable(std::string_view text, Charset charset = Charset::UTF_8,
                      size_t bytes_max = std::string_view::npos);
/* A long list, cut after a comma: "0,2,4 ...". */
std::string shorten(std::string list, size_t bytes);

}  // namespace elastic

#endif /* ELASTIC_CHANGE_H_INCLUDED */
