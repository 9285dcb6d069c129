/*
 * The system's users.  A directory service (LDAP) may be slow or block: so a thread queries it,
 * and results are cached for some time.
 *
 * Owner of the thread.  All functions are for the loop's thread.
 */

#ifndef ELASTIC_RM_BASE_USER_DIRECTORY_H_INCLUDED
#define ELASTIC_RM_BASE_USER_DIRECTORY_H_INCLUDED

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/loop.h"

namespace elastic::rm {

struct User {
    bool exists = false;
    uint32_t uid = 0, gid = 0;
    std::string name;                   /* "1000" if the number has no user */
    std::vector<uint32_t> groups;       /* all of them, `gid` included */
    std::string error;          /* why it is unknown at present whether the user exists */
};

/* These may take long: not for the loop. */
User lookup_user(uint32_t uid);
std::optional<uint32_t> lookup_user_number(const std::string &name);

class UserDirectory {
  public:
    /* An older entry is queried again; meanwhile an entry of up to KNOWN_MS is used for a name. */
    static constexpr int64_t FRESH_MS = 30000, KNOWN_MS = 3600 * 1000;
    static constexpr size_t USERS_MAX = 10000;

    using Found = std::function<void(const User &)>;
    using Lookup = std::function<User(uint32_t uid)>;

    explicit UserDirectory(Loop &loop, Lookup lookup = lookup_user);
    ~UserDirectory();
    UserDirectory(const UserDirectory &) = delete;
    UserDirectory &operator=(const UserDirectory &) = delete;

    void start();
    /* Calls back at once if the user was queried within `age_max_ms`, else later. */
    void find(uint32_t uid, int64_t age_max_ms, Found found);
    /* The cached entry of the user; nullptr: none. */
    const User *known(uint32_t uid) const;

  private:
    struct Entry {
        User user;
        int64_t at_ms = 0;
    };
    void query(uint32_t uid);
    void run();
    void take_results();

    Loop &loop_;
    Lookup lookup_;
    Loop::Posting posting_;
    std::map<uint32_t, Entry> entries_;
    std::map<uint32_t, std::vector<Found>> waiting_;    /* lookups in progress */
    std::mutex mutex_;
    std::condition_variable woken_;
    std::deque<uint32_t> queried_;
    std::deque<User> results_;
    bool ends_ = false;
    std::thread thread_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_BASE_USER_DIRECTORY_H_INCLUDED */
