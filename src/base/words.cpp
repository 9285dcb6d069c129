/* See words.h. */

#include "base/words.h"

namespace elastic::rm {

std::string join_words(const std::vector<std::string> &words)
{
    std::string text;
    for (const std::string &word : words)
        text += (text.empty() ? "" : " ") + word;
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
