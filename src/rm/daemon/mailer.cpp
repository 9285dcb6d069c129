/* See mailer.h. */

#include "daemon/mailer.h"

#include "base/log.h"

namespace elastic::rm {

Mailer::Mailer(Loop &loop, std::vector<std::string> command, int64_t deadline_ms)
    : loop_(loop), command_(std::move(command)), deadline_ms_(deadline_ms)
{
}

void Mailer::send(Mail mail)
{
    auto user = of_user_.find(mail.uid);
    bool has_many = user != of_user_.end() && user->second >= WAITING_OF_USER_MAX;
    if (waiting_.size() >= WAITING_MAX || has_many)
        return drop(mail);
    if (dropped_ > 1)
        log_line(LogLevel::WARNING, "mails were dropped", {{"mails", dropped_}});
    dropped_ = 0;
    of_user_[mail.uid]++;
    waiting_.push_back(std::move(mail));
    start_next();
}

/* Of many dropped mails in a row the first one is logged, and at the end their number. */
void Mailer::drop(const Mail &mail)
{
    if (++dropped_ == 1)
        log_line(LogLevel::WARNING, "a mail is dropped: too many wait",
                 {{"job", mail.job}, {"uid", mail.uid}, {"waiting", waiting_.size()}});
}

void Mailer::start_next()
{
    if (waiting_.empty() || running_.size() >= AT_ONCE)
        return;
    Mail mail = std::move(waiting_.front());
    waiting_.pop_front();
    if (auto user = of_user_.find(mail.uid); --user->second == 0)
        of_user_.erase(user);
    CommandSpec spec{command_};
    spec.input = std::move(mail.message);
    spec.limit_ms = deadline_ms_;
    spec.output_max = 1024;
    uint64_t number = next_++;
    running_[number] =
        std::make_unique<Command>(loop_, std::move(spec),
                                  [this, number, job = mail.job](const CommandEnd &end) {
                                      if (!end.good())
                                          log_line(LogLevel::WARNING, "a mail could not be sent",
                                                   {{"job", job}, {"error", end.problem}});
                                      running_.erase(number);
                                      start_next();
                                  });
}

bool Mailer::is_first(JobId array, uint64_t seq)
{
    if (seq != seq_)
        arrays_.clear();
    seq_ = seq;
    return arrays_.insert(array).second;
}

}  // namespace elastic::rm
