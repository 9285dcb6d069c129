/* See access.h. */

#include "api/access.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace elastic::rm {

namespace {

constexpr size_t TOKEN_BYTES_MIN = 16, TOKEN_BYTES_MAX = 256, TOKENS_FILE_MAX = 1024 * 1024;

/* In a time that does not tell how much of it was right. */
bool same_secret(const std::string &x, const std::string &y)
{
    unsigned char difference = x.size() != y.size();
    for (size_t i = 0; i < std::min(x.size(), y.size()); i++)
        difference |= static_cast<unsigned char>(x[i] ^ y[i]);
    return difference == 0;
}

}  // namespace

std::string user_name(uint32_t uid)
{
    const passwd *user = getpwuid(uid);
    return user ? user->pw_name : std::to_string(uid);
}

std::optional<uint32_t> user_number(const std::string &name)
{
    const passwd *user = getpwnam(name.c_str());
    return user ? std::optional<uint32_t>(user->pw_uid) : std::nullopt;
}

bool RateLimit::take(uint32_t uid, int64_t now_ms, int64_t &wait_ms)
{
    if (buckets_.size() > BUCKETS_MAX)
        std::erase_if(buckets_,
                      [&](const auto &entry) { return now_ms - entry.second.at_ms > 2000; });
    auto [found, is_new] = buckets_.try_emplace(uid);
    Bucket &bucket = found->second;
    if (is_new)
        bucket.at_ms = now_ms;
    double elapsed_s = static_cast<double>(std::max<int64_t>(now_ms - bucket.at_ms, 0)) / 1000;
    bucket.level = std::max(0.0, bucket.level - elapsed_s * per_second_);
    bucket.at_ms = now_ms;
    if (bucket.level + 1 > 2 * per_second_) {
        wait_ms = static_cast<int64_t>((bucket.level + 1 - 2 * per_second_) / per_second_ * 1000) +
            1;
        return false;
    }
    bucket.level += 1;
    return true;
}

Access::Access(const Settings &settings) : settings_(settings) {}

Caller Access::of_uid(uint32_t uid) const
{
    Caller caller{uid, user_name(uid), uid == 0 || uid == geteuid()};
    const auto &names = settings_.administrators;
    caller.administrator = caller.administrator ||
        std::find(names.begin(), names.end(), caller.name) != names.end();
    return caller;
}

std::optional<Caller> Access::of_token(const std::string &authorization) const
{
    constexpr const char *SCHEME = "Bearer ";
    if (!authorization.starts_with(SCHEME))
        return std::nullopt;
    std::string given = authorization.substr(strlen(SCHEME));
    const Token *match = nullptr;
    for (const auto &[secret, token] : tokens_)
        if (same_secret(secret, given))
            match = &token;
    auto uid = match ? user_number(match->user) : std::nullopt;
    if (!uid)
        return std::nullopt;
    Caller caller = of_uid(*uid);
    caller.administrator = match->administrator;        /* a token gives what it says, not more */
    return caller;
}

Result<std::map<std::string, Access::Token>> Access::parse_tokens(const std::string &text) const
{
    std::map<std::string, Token> tokens;
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); number++) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string secret, user, mark, more;
        if (!(words >> secret))
            continue;
        std::string where = settings_.tokens_file + ":" + std::to_string(number) + ": ";
        if (!(words >> user) || ((words >> mark) && mark != "admin") || (words >> more))
            return Error{where + "a line is: TOKEN USER, or TOKEN USER admin"};
        if (secret.size() < TOKEN_BYTES_MIN || secret.size() > TOKEN_BYTES_MAX)
            return Error{
                where + "a token has 16 to 256 characters: make one with `openssl rand -hex 24`"};
        if (!user_number(user))
            return Error{where + "there is no user " + user};
        tokens[secret] = Token{user, mark == "admin"};
    }
    return tokens;
}

std::string Access::read_tokens()
{
    const std::string &path = settings_.tokens_file;
    if (path.empty())
        return "";
    struct stat status = {};
    std::ifstream file(path);
    if (!file || stat(path.c_str(), &status) != 0)
        return "cannot read the tokens " + path + ": " + strerror(errno);
    if (status.st_uid != geteuid() || (status.st_mode & 077) != 0)
        return path +
            " must belong to the user that runs elasticd and have mode 0600: others could read the "
            "tokens";
    if (status.st_size > static_cast<off_t>(TOKENS_FILE_MAX))
        return path + " is longer than 1 MiB";
    std::ostringstream text;
    text << file.rdbuf();
    auto tokens = parse_tokens(text.str());
    if (!tokens)
        return tokens.error();
    tokens_ = std::move(tokens.value());
    return "";
}

}  // namespace elastic::rm
