/* Lists of texts for programs: argument and environment vectors, and command lines for people.
 * Pure. */

#ifndef ELASTIC_RM_WORDS_H_INCLUDED
#define ELASTIC_RM_WORDS_H_INCLUDED

#include <cctype>
#include <string>
#include <vector>

namespace elastic::rm {

/* Separated by blanks, not quoted: for messages. */
std::string join_words(const std::vector<std::string> &words, const char *separator = " ");

/* Quoted, as one word of a command line of /bin/sh. */
std::string shell_word(const std::string &text);

/* ASCII letters in upper case. */
inline std::string to_upper(std::string text)
{
    for (char &c : text)
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

/* Includes empty parts. */
std::vector<std::string> split_list(const std::string &text, char separator);

/* "4(x2),2": Slurm's form for the numbers of consecutive nodes. */
std::string format_counts(const std::vector<int> &counts);

/* The argument array for exec and posix_spawn, with the null at its end; valid as long as
 * `texts`. */
std::vector<char *> pointers_to(const std::vector<std::string> &texts);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_WORDS_H_INCLUDED */
