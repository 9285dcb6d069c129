/*
 * The user of a request, the user's rights, and the user's rate.  Names come from the system's user
 * database (base/user_directory.h); tokens from a file that is read at start and at SIGHUP.  A
 * token belongs to the user who had the name at that time.  One thread.
 */

#ifndef ELASTIC_RM_ACCESS_H_INCLUDED
#define ELASTIC_RM_ACCESS_H_INCLUDED

#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "settings/settings.h"

namespace elastic::rm {

struct Caller {
    uint32_t uid = 0;
    std::string name;
    bool administrator = false;
};

/* Limit per second for each user or address, and twice that number at once. */
class RateLimit {
  public:
    explicit RateLimit(int64_t per_second) : per_second_(static_cast<double>(per_second)) {}
    /* False: over the limit; `wait_ms` is the time until the next one is accepted. */
    bool take(const std::string &who, int64_t now_ms, int64_t &wait_ms);

  private:
    struct Bucket {
        double level = 0;
        int64_t at_ms = 0;
    };
    static constexpr size_t BUCKETS_MAX = 10000;
    double per_second_;
    std::map<std::string, Bucket> buckets_;
};

class Access {
  public:
    explicit Access(const Settings &settings);

    struct Token {
        std::string user;
        bool administrator = false;
        uint32_t uid = 0;
        std::set<std::string> seen_from = {};   /* addresses that have sent it */
    };
    using Tokens = std::map<std::string, Token>;        /* by the token */
    /* May take long; any thread. */
    static Result<Tokens> read_tokens(const std::string &path);
    void set_tokens(Tokens tokens) { tokens_ = std::move(tokens); }

    Caller of_user(uint32_t uid, const std::string &name) const;
    /* Wrong tokens are logged.  After WRONG_AT_ONCE of them from an address, tokens that were
     * not correct from there before are checked only every WRONG_PAUSE_MS. */
    static constexpr int WRONG_AT_ONCE = 20;
    static constexpr int64_t WRONG_PAUSE_MS = 1000;
    struct TokenCheck {
        std::optional<Caller> caller;   /* by the user's name when the tokens were read */
        int64_t wait_ms = 0;            /* not 0: it was not checked */
    };
    TokenCheck of_token(const std::string &authorization, const std::string &address,
                        int64_t now_ms);

  private:
    struct WrongTokens {
        int64_t level_ms = 0, at_ms = 0;        /* a bucket: WRONG_PAUSE_MS for each */
        uint64_t count = 0;
        int64_t logged_ms = 0;
    };
    Token *find_token(const std::string &given, const std::string &seen_from);
    void note_wrong(WrongTokens &wrong, const std::string &address, int64_t now_ms);
    static Result<Tokens> parse_tokens(const std::string &path, const std::string &text);

    const Settings &settings_;
    Tokens tokens_;
    std::map<std::string, WrongTokens> wrong_;  /* by the address */
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_ACCESS_H_INCLUDED */
