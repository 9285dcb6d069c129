/* See task_programs.h. */

#include "slurm/task_programs.h"

#include <algorithm>
#include <sstream>

#include "base/change.h"

namespace elastic::rm {

namespace {

/* The words of a line up to a comment; false: a quote is not closed.  The result of `hide` stands
 * for a character in single quotes. */
template <class Hide>
bool split_quoted(const std::string &line, std::vector<std::string> &words, Hide hide)
{
    bool in_word = false;
    for (size_t i = 0; i < line.size(); i++) {
        char c = line[i];
        bool is_blank = c == ' ' || c == '\t' || c == '\r';
        if (!in_word && c == '#')
            return true;
        if (is_blank) {
            in_word = false;
            continue;
        }
        if (!in_word)
            words.emplace_back();
        in_word = true;
        if (c != '\'' && c != '"') {
            words.back() += c;
            continue;
        }
        size_t end = line.find(c, i + 1);
        if (end == std::string::npos)
            return false;
        for (size_t at = i + 1; at < end; at++)
            words.back() += c == '\'' ? hide(line[at]) : line[at];
        i = end;
    }
    return true;
}

}  // namespace

Result<TaskPrograms::Line> TaskPrograms::parse_line(const std::string &text)
{
    std::vector<std::string> words;
    auto hide = [](char c) { return c == '%' ? QUOTED_PERCENT : c; };
    if (!split_quoted(text, words, hide))
        return Error{"a quote is not closed"};
    Line line;
    if (words.empty())
        return line;
    if (words.front() != "*") {
        auto ranks = parse_ranks(words.front(), ',');
        if (!ranks)
            return Error{"ranks such as 0-2,5 or * are expected first: " + ranks.error()};
        line.ranks = std::move(ranks.value());
    }
    line.words.assign(words.begin() + 1, words.end());
    if (line.words.empty() || line.words.front().empty())
        return Error{"a program is expected after the ranks"};
    return line;
}

Result<TaskPrograms> TaskPrograms::parse(const std::string &text)
{
    if (text.size() > TASK_PROGRAMS_BYTES_MAX)
        return Error{"it has more than " + std::to_string(TASK_PROGRAMS_BYTES_MAX) + " bytes"};
    if (text.find('\0') != std::string::npos || text.find(QUOTED_PERCENT) != std::string::npos)
        return Error{"it has control characters: it is not a text file"};
    TaskPrograms programs;
    std::istringstream rows(text);
    std::string joined;
    int number = 0;
    for (std::string row; std::getline(rows, row);) {
        number++;
        joined += row;
        if (joined.ends_with('\\')) {
            joined.back() = ' ';
            continue;
        }
        auto line = parse_line(joined);
        joined.clear();
        if (!line)
            return Error{"line " + std::to_string(number) + ": " + line.error()};
        if (!line.value().words.empty())
            programs.lines_.push_back(std::move(line.value()));
    }
    if (!joined.empty())
        return Error{"its last line ends with a backslash"};
    if (programs.lines_.empty())
        return Error{"it names no program"};
    return programs;
}

const TaskPrograms::Line *TaskPrograms::line_of(int rank) const
{
    auto has = [rank](const Line &line) {
        return line.ranks.empty() || std::ranges::find(line.ranks, rank) != line.ranks.end();
    };
    auto found = std::ranges::find_if(lines_, has);
    return found == lines_.end() ? nullptr : &*found;
}

std::vector<std::string> TaskPrograms::words_of(int rank) const
{
    const Line *line = line_of(rank);
    if (!line)
        return {};
    auto listed = std::ranges::find(line->ranks, rank);
    auto position = listed == line->ranks.end() ? rank : listed - line->ranks.begin();
    std::vector<std::string> words;
    for (const std::string &pattern : line->words) {
        std::string word;
        for (size_t i = 0; i < pattern.size(); i++) {
            char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
            bool is_number = pattern[i] == '%' && (next == 't' || next == 'o');
            if (is_number)
                word += std::to_string(next == 't' ? rank : position);
            else
                word += pattern[i] == QUOTED_PERCENT ? '%' : pattern[i];
            i += is_number;
        }
        words.push_back(word);
    }
    return words;
}

int TaskPrograms::first_without(int ranks) const
{
    for (int rank = 0; rank < ranks; rank++) {
        if (!line_of(rank))
            return rank;
    }
    return -1;
}

}  // namespace elastic::rm
