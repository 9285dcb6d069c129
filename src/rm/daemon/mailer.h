/*
 * Mails of jobs, by a command of the configuration (mail.command) that gets each on its standard
 * input.  The configuration alone defines the arguments of the command; it runs beside the loop,
 * with a deadline.  Mails wait in a queue that is bounded in total and for each user: further mails
 * are dropped and logged.  Mails that wait when elasticd ends are not sent.
 *
 * Owner of the queue and the commands.  One thread, that of the loop.
 */

#ifndef ELASTIC_RM_DAEMON_MAILER_H_INCLUDED
#define ELASTIC_RM_DAEMON_MAILER_H_INCLUDED

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/command.h"
#include "daemon/mail_message.h"

namespace elastic::rm {

class Mailer {
  public:
    static constexpr size_t WAITING_MAX = 1000, WAITING_OF_USER_MAX = 100, AT_ONCE = 2;

    Mailer(Loop &loop, std::vector<std::string> command, int64_t deadline_ms);

    struct Mail {
        uint32_t uid = 0;
        JobId job = 0;
        std::string message;
    };
    void send(Mail mail);
    /* Whether this is the first mail about the end of an array: its last tasks may end by one
     * event. */
    bool is_first(JobId array, uint64_t seq);
    size_t waiting() const { return waiting_.size(); }

  private:
    void start_next();
    void drop(const Mail &mail);

    Loop &loop_;
    std::vector<std::string> command_;
    int64_t deadline_ms_;
    std::deque<Mail> waiting_;
    std::map<uint32_t, size_t> of_user_;        /* number of waiting mails */
    std::map<uint64_t, std::unique_ptr<Command>> running_;
    uint64_t next_ = 1;
    uint64_t dropped_ = 0;              /* dropped mails since the last sent one */
    std::set<JobId> arrays_; /* arrays with a mail about their end, by the event `seq_` */
    uint64_t seq_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_DAEMON_MAILER_H_INCLUDED */
