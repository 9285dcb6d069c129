/* See user_directory.h. */

#include "base/user_directory.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace elastic::rm {

namespace {

constexpr size_t ENTRY_BYTES_MAX = 1 << 20;     /* of a user's entry */
constexpr int GROUPS_MAX = 65536;

/* With increasing space, as the functions of the system require.  0: found, ENOENT: there is none,
 * or an error. */
template <class Lookup> int lookup_entry(passwd &entry, std::vector<char> &space, Lookup lookup)
{
    passwd *found = nullptr;
    int code = ERANGE;
    for (size_t bytes = 4096; code == ERANGE && bytes <= ENTRY_BYTES_MAX; bytes *= 2) {
        space.resize(bytes);
        code = lookup(&entry, space.data(), space.size(), &found);
    }
    bool is_none = !found && (code == 0 || code == ESRCH || code == EBADF || code == EPERM);
    return is_none ? ENOENT : code;
}

User unknown_now(uint32_t uid, int code)
{
    User user{false, uid, 0, std::to_string(uid), {}, ""};
    user.error = std::string("cannot look up its user: ") + strerror(code);
    return user;
}

}  // namespace

User lookup_user(uint32_t uid)
{
    passwd entry = {};
    std::vector<char> space;
    int code =
        lookup_entry(entry, space, [uid](auto... rest) { return getpwuid_r(uid, rest...); });
    User user{false, uid, 0, std::to_string(uid), {}, ""};
    if (code != 0)
        return code == ENOENT ? user : unknown_now(uid, code);
    user.exists = true;
    user.name = entry.pw_name;
    user.gid = entry.pw_gid;
    int count = 64;
    user.groups.resize(static_cast<size_t>(count));
    errno = 0;
    while (getgrouplist(entry.pw_name, entry.pw_gid, user.groups.data(), &count) < 0) {
        if (count <= static_cast<int>(user.groups.size()) || count > GROUPS_MAX)
            count = static_cast<int>(user.groups.size()) * 2;
        if (count > GROUPS_MAX)
            break;
        user.groups.resize(static_cast<size_t>(count));
    }
    if (errno == EMFILE || errno == ENFILE)     /* some groups are missing */
        return unknown_now(uid, errno);
    user.groups.resize(static_cast<size_t>(std::max(count, 0)));
    return user;
}

std::optional<uint32_t> lookup_user_number(const std::string &name)
{
    passwd entry = {};
    std::vector<char> space;
    auto lookup = [&name](auto... rest) { return getpwnam_r(name.c_str(), rest...); };
    return lookup_entry(entry, space, lookup) == 0 ? std::optional<uint32_t>(entry.pw_uid)
                                                   : std::nullopt;
}

UserDirectory::UserDirectory(Loop &loop, Lookup lookup) : loop_(loop), lookup_(std::move(lookup))
{
}

UserDirectory::~UserDirectory()
{
    {
        std::lock_guard lock(mutex_);
        ends_ = true;
    }
    woken_.notify_one();
    if (thread_.joinable())
        thread_.join();
}

void UserDirectory::start()
{
    posting_ = loop_.make_posting([this] { take_results(); });
    thread_ = std::thread([this] { run(); });
}

const User *UserDirectory::known(uint32_t uid) const
{
    auto entry = entries_.find(uid);
    return entry == entries_.end() ? nullptr : &entry->second.user;
}

void UserDirectory::find(uint32_t uid, int64_t age_max_ms, Found found)
{
    auto entry = entries_.find(uid);
    int64_t age_ms = entry == entries_.end() ? INT64_MAX : monotonic_ms() - entry->second.at_ms;
    if (age_ms > FRESH_MS)
        query(uid);
    if (age_ms <= age_max_ms)
        found(entry->second.user);
    else
        waiting_[uid].push_back(std::move(found));
}

void UserDirectory::query(uint32_t uid)
{
    if (!waiting_.try_emplace(uid).second)
        return;
    {
        std::lock_guard lock(mutex_);
        queried_.push_back(uid);
    }
    woken_.notify_one();
}

void UserDirectory::run()
{
    std::unique_lock lock(mutex_);
    while (true) {
        woken_.wait(lock, [this] { return ends_ || !queried_.empty(); });
        if (ends_)
            return;
        uint32_t uid = queried_.front();
        queried_.pop_front();
        lock.unlock();
        User user = lookup_(uid);
        lock.lock();
        results_.push_back(std::move(user));
        posting_.post();
    }
}

void UserDirectory::take_results()
{
    std::deque<User> results;
    {
        std::lock_guard lock(mutex_);
        results.swap(results_);
    }
    for (User &user : results) {
        if (entries_.size() >= USERS_MAX)
            entries_.clear();
        if (user.error.empty())
            entries_[user.uid] = {user, monotonic_ms()};
        auto waiting = waiting_.extract(user.uid);
        for (Found &found : waiting.empty() ? std::vector<Found>() : std::move(waiting.mapped()))
            found(user);
    }
}

}  // namespace elastic::rm
