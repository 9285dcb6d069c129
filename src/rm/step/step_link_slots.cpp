/* See step_link.h: slots beside the world. */

#include "step/slots_answer.h"
#include "step/step_link.h"

namespace elastic::rm {

/* A change while the answer is in transit may or may not be included: then it queries again. */
void StepLink::query_slots()
{
    if (!connection_ || !caught_up_)
        return;
    if (slots_queried_ != Asking::NO) {
        slots_queried_ = Asking::AGAIN;
        return;
    }
    slots_queried_ = Asking::YES;
    connection_->send({{"id", SLOTS_ID},
                       {"op", "slots"},
                       {"most", setup_.most_slots ? setup_.most_slots() : 0}});
}

/* An error: from an mpiexec without slots. */
void StepLink::slots(const StepMessage &message, const Json &line)
{
    if (slots_queried_ == Asking::NO) {
        counts_.dropped++;
        return;
    }
    bool again = std::exchange(slots_queried_, Asking::NO) == Asking::AGAIN;
    if (!message.ok)
        return;
    auto read = read_slots(line);
    if (!read)
        return cut_off(read.error());
    slots_ = std::move(read.value());
    slots_->job = setup_.job;
    slots_->step = setup_.step;
    notify(*slots_);
    if (again)
        query_slots();
}

void StepLink::grant(const GrantSlots &grant)
{
    if (!connection_ || !slots_ || slots_->mpiexec != grant.mpiexec)
        return;
    Json hosts = Json::array();
    for (const Block &block : grant.blocks)
        hosts.push_back(block.node + ":" + std::to_string(block.processes));
    connection_->send({{"id", "grant"},
                       {"op", "grant"},
                       {"wish", grant.size_request},
                       {"grant", grant.grant},
                       {"hosts", hosts}});
}

}  // namespace elastic::rm
