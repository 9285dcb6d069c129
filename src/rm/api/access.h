/*
 * Who asks, whether he may, and whether he asks too often.  Names come from the system's user
 * database; tokens from a file that is read at start and at SIGHUP.  One thread.
 */

#ifndef ELASTIC_RM_ACCESS_H_INCLUDED
#define ELASTIC_RM_ACCESS_H_INCLUDED

#include <map>
#include <optional>
#include <string>

#include "daemon/config.h"
#include "result.h"

namespace elastic::rm {

struct Caller {
    uint32_t uid = 0;
    std::string name;
    bool administrator = false;
};

/* So many in a second, twice as many at once. */
class RateLimit {
  public:
    explicit RateLimit(int64_t per_second) : per_second_(static_cast<double>(per_second)) {}
    /* False: too many; `wait_ms` says when the next one fits. */
    bool take(uint32_t uid, int64_t now_ms, int64_t &wait_ms);

  private:
    struct Bucket {
        double level = 0;
        int64_t at_ms = 0;
    };
    static constexpr size_t BUCKETS_MAX = 10000;
    double per_second_;
    std::map<uint32_t, Bucket> buckets_;
};

class Access {
  public:
    explicit Access(const Settings &settings);

    /* Reads the tokens again.  Empty, or what is wrong; the former tokens stay then. */
    std::string read_tokens();

    Caller of_uid(uint32_t uid) const;
    std::optional<Caller> of_token(const std::string &authorization) const;

  private:
    struct Token {
        std::string user;
        bool administrator = false;
    };
    Result<std::map<std::string, Token>> parse_tokens(const std::string &text) const;

    const Settings &settings_;
    std::map<std::string, Token> tokens_;       /* by the token */
};

/* "1000" where nobody has that number. */
std::string user_name(uint32_t uid);
std::optional<uint32_t> user_number(const std::string &name);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_ACCESS_H_INCLUDED */
