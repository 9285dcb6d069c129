/* See access.h. */

#include "http/access.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/log.h"
#include "base/user_directory.h"

namespace elastic::rm {

namespace {

constexpr size_t TOKEN_BYTES_MIN = 16, TOKEN_BYTES_MAX = 256, TOKENS_FILE_MAX = 1024 * 1024;
/* Nobody finds a token of this length by trials, however many there are. */
constexpr size_t TOKEN_BYTES_LONG = 40;

/* In constant time: it does not depend on the number of equal bytes. */
bool same_secret(const std::string &x, const std::string &y)
{
    unsigned char difference = x.size() != y.size();
    for (size_t i = 0; i < std::min(x.size(), y.size()); i++)
        difference |= static_cast<unsigned char>(x[i] ^ y[i]);
    return difference == 0;
}

}  // namespace

bool RateLimit::take(const std::string &who, int64_t now_ms, int64_t &wait_ms)
{
    if (buckets_.size() > BUCKETS_MAX)
        std::erase_if(buckets_,
                      [&](const auto &entry) { return now_ms - entry.second.at_ms > 2000; });
    auto [found, is_new] = buckets_.try_emplace(who);
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

Caller Access::of_user(uint32_t uid, const std::string &name) const
{
    Caller caller{uid, name, uid == 0 || uid == geteuid()};
    const auto &names = settings_.administrators;
    caller.administrator = caller.administrator ||
        std::find(names.begin(), names.end(), caller.name) != names.end();
    return caller;
}

/* `seen_from` not empty: only long tokens, and those that were correct from that address before. */
Access::Token *Access::find_token(const std::string &given, const std::string &seen_from)
{
    Token *match = nullptr;
    for (auto &[secret, token] : tokens_)
        if ((seen_from.empty() || secret.size() >= TOKEN_BYTES_LONG ||
             token.seen_from.contains(seen_from)) &&
            same_secret(secret, given))
            match = &token;
    return match;
}

void Access::note_wrong(WrongTokens &wrong, const std::string &address, int64_t now_ms)
{
    constexpr int64_t LOG_PAUSE_MS = 1000;
    wrong.level_ms += WRONG_PAUSE_MS;
    wrong.count++;
    if (wrong.logged_ms && now_ms - wrong.logged_ms < LOG_PAUSE_MS)
        return;
    wrong.logged_ms = now_ms;
    log_line(LogLevel::WARNING, "a wrong token", {{"address", address}, {"count", wrong.count}});
}

Access::TokenCheck Access::of_token(const std::string &authorization, const std::string &address,
                                    int64_t now_ms)
{
    constexpr const char *SCHEME = "Bearer ";
    constexpr size_t ADDRESSES_MAX = 1000;
    if (authorization.empty())
        return {};
    if (wrong_.size() > ADDRESSES_MAX)
        std::erase_if(wrong_, [&](const auto &entry) {
            return now_ms - entry.second.at_ms > WRONG_AT_ONCE * WRONG_PAUSE_MS;
        });
    WrongTokens &wrong = wrong_[address];
    wrong.level_ms = std::max<int64_t>(wrong.level_ms - (now_ms - wrong.at_ms), 0);
    wrong.at_ms = now_ms;
    int64_t wait_ms = wrong.level_ms - (WRONG_AT_ONCE - 1) * WRONG_PAUSE_MS;
    std::string given =
        authorization.starts_with(SCHEME) ? authorization.substr(strlen(SCHEME)) : "";
    Token *match = find_token(given, wait_ms > 0 ? address : "");
    if (!match && wait_ms > 0)
        return {std::nullopt, wait_ms};
    if (!match) {
        note_wrong(wrong, address, now_ms);
        return {};
    }
    if (match->seen_from.size() < ADDRESSES_MAX)
        match->seen_from.insert(address);
    Caller caller = of_user(match->uid, match->user);
    /* a token grants its own rights only */
    caller.administrator = match->administrator;
    return {caller, 0};
}

Result<Access::Tokens> Access::parse_tokens(const std::string &path, const std::string &text)
{
    Tokens tokens;
    std::istringstream lines(text);
    std::string line;
    for (int number = 1; std::getline(lines, line); number++) {
        std::istringstream words(line.substr(0, line.find('#')));
        std::string secret, user, mark, more;
        if (!(words >> secret))
            continue;
        std::string where = path + ":" + std::to_string(number) + ": ";
        if (!(words >> user) || ((words >> mark) && mark != "admin") || (words >> more))
            return Error{where + "a line is: TOKEN USER, or TOKEN USER admin"};
        if (secret.size() < TOKEN_BYTES_MIN || secret.size() > TOKEN_BYTES_MAX)
            return Error{
                where + "a token has 16 to 256 characters: make one with `openssl rand -hex 24`"};
        auto uid = lookup_user_number(user);
        if (!uid)
            return Error{where + "there is no user " + user};
        tokens[secret] = Token{user, mark == "admin", *uid};
    }
    return tokens;
}

Result<Access::Tokens> Access::read_tokens(const std::string &path)
{
    if (path.empty())
        return Tokens();
    struct stat status = {};
    std::ifstream file(path);
    if (!file || stat(path.c_str(), &status) != 0)
        return Error{"cannot read the tokens " + path + ": " + strerror(errno)};
    if (status.st_uid != geteuid() || (status.st_mode & 077) != 0)
        return Error{path + " must belong to the user that runs elasticd and have mode 0600: "
                            "others could read the tokens"};
    if (status.st_size > static_cast<off_t>(TOKENS_FILE_MAX))
        return Error{path + " is longer than 1 MiB"};
    std::ostringstream text;
    text << file.rdbuf();
    return parse_tokens(path, text.str());
}

}  // namespace elastic::rm
