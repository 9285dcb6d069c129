/* See job_options.h: the options in a script. */

#include <cstring>
#include <sstream>

#include "cli/job_options.h"

namespace elastic {

namespace {

constexpr const char *ELASTIC_LINE = "#ELASTIC";

}  // namespace

Result<std::vector<std::string>> split_words(const std::string &line)
{
    std::vector<std::string> words;
    std::string word;
    bool in_word = false;
    char quote = 0;
    for (size_t i = 0; i < line.size(); i++) {
        char c = line[i];
        bool escapes = c == '\\' && quote != '\'';
        if (escapes && i + 1 == line.size())
            return Error{"a backslash at the end of a line: " + line};
        if (escapes) {
            word += line[++i];
        } else if (quote) {
            if (c == quote)
                quote = 0;
            else
                word += c;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            if (in_word)
                words.push_back(std::exchange(word, ""));
            in_word = false;
            continue;
        } else if (c == '#' && !in_word) {
            break;
        } else {
            word += c;
        }
        in_word = true;
    }
    if (quote)
        return Error{"a quote is not closed: " + line};
    if (in_word)
        words.push_back(word);
    return words;
}

Result<std::vector<std::string>> script_options(const std::string &script)
{
    std::vector<std::string> words;
    std::istringstream lines(script);
    for (std::string line; std::getline(lines, line);) {
        if (!line.empty() && line.front() != '#' && line.find_first_not_of(" \t\r") != line.npos)
            break;
        bool directive = line.starts_with(ELASTIC_LINE) && line.size() > strlen(ELASTIC_LINE) &&
                         isspace(static_cast<unsigned char>(line[strlen(ELASTIC_LINE)]));
        if (!directive)
            continue;
        auto more = split_words(line.substr(strlen(ELASTIC_LINE)));
        if (!more)
            return Error{more.error()};
        words.insert(words.end(), more.value().begin(), more.value().end());
    }
    return words;
}

}  // namespace elastic
