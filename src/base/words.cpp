/* See words.h. */

#include "base/words.h"

namespace elastic::rm {

std::string join_words(const std::vector<std::string> &words, const char *separator)
{
    std::string text;
    for (const std::string &word : words)
        text += (text.empty() ? "" : separator) + word;
    return text;
}

std::string shell_word(const std::string &text)
{
    std::string word = "'";
    for (char c : text)
        word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
}

std::vector<std::string> split_list(const std::string &text, char separator)
{
    std::vector<std::string> parts(1);
    for (char c : text) {
        if (c == separator)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

std::string format_counts(const std::vector<int> &counts)
{
    std::string text;
    for (size_t i = 0, same = 1; i < counts.size(); i += same) {
        same = 1;
        while (i + same < counts.size() && counts[i + same] == counts[i])
            same++;
        text += (text.empty() ? "" : ",") + std::to_string(counts[i]) +
                (same > 1 ? "(x" + std::to_string(same) + ")" : "");
    }
    return text;
}

std::vector<char *> pointers_to(const std::vector<std::string> &texts)
{
    std::vector<char *> list;
    for (const std::string &text : texts)
        list.push_back(const_cast<char *>(text.c_str()));
    list.push_back(nullptr);
    return list;
}

}  // namespace elastic::rm
