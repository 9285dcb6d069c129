/* See placement.h: the capacity that a Space gains when bookings end, and the growth of a job in
 * it. */

#include "core/placement.h"

namespace elastic::rm {

/* ---- capacity of released cores -------------------------------------------------------------- */

GrowingCapacity::GrowingCapacity(const Space &space, const JobSpec &spec)
    : cores_(space.cores_), spec_(spec), any_core_will_do_(any_core_will_do(spec)),
      capacity_(any_core_will_do_ ? space.total() : space.capacity_of_all(spec)),
      total_(space.total()), capacity_of_each_(-1)
{
    if (!any_node_will_do(spec))
        own_ = space;
    if (!cores_.all_usable() || cores_.idle_groups().size() != 1)
        return;
    int cores = cores_.groups()[cores_.idle_groups().front()].cores;
    capacity_of_each_ = capacity_on(spec, cores, cores, 0);
}

/* No other job is on nodes that are booked as a whole. */
void GrowingCapacity::give(const Booking &booking)
{
    if (own_) {
        own_->give(booking.shares);
    } else if (any_core_will_do_ && cores_.all_usable()) {
        capacity_ = total_ += booking.cores;
    } else if (booking.whole && capacity_of_each_ >= 0) {
        capacity_ += int64_t{capacity_of_each_} * static_cast<int64_t>(booking.shares.size());
        total_ += booking.cores;
    } else {
        for (const Share &share : booking.shares)
            give(share);
    }
}

void GrowingCapacity::give(const Share &share)
{
    if (!cores_.usable(*share.node))
        return;
    if (free_.empty())
        free_ = cores_.by_position();
    int cores = share.node->cores, &free = free_[share.node->position];
    capacity_ -= capacity_on(spec_, cores, free, 0);
    free += share.cores;
    capacity_ += capacity_on(spec_, cores, free, 0);
    total_ += share.cores;
}

/* ---- growth step by step --------------------------------------------------------------------- */

GrowingJob::GrowingJob(const Space &space, const JobSpec &spec, const Blocks &own)
    : spec_(&spec), has_own_(!own.empty()), nodes_(space.usable_own(spec, own))
{
    if (spec.whole_nodes)
        std::erase_if(nodes_, [](const Space::Own &each) { return each.capacity == 0; });
    for (const Space::Own &each : nodes_)
        capacity_ += each.capacity;
}

/* Other allocations change the capacity of shared nodes. */
void GrowingJob::look(const Space &space)
{
    if (spec_->whole_nodes)
        return;
    capacity_ = 0;
    for (Space::Own &each : nodes_) {
        each.capacity = space.capacity_here(*spec_, *each.node, each.processes);
        capacity_ += each.capacity;
    }
}

int GrowingJob::capacity_within(const Space &space)
{
    look(space);
    return within_int(capacity_);
}

int GrowingJob::capacity(const Space &space)
{
    look(space);
    int64_t all = capacity_ + space.capacity_of_all(*spec_);
    if (spec_->whole_nodes)     /* no core of its own nodes is free */
        return within_int(all);
    for (const Space::Own &each : nodes_)
        all -= space.capacity_here(*spec_, *each.node, 0);
    return within_int(all);
}

bool GrowingJob::fits(const Space &space, int more)
{
    bool own_nodes = spec_->whole_nodes && has_own_;
    if (!own_nodes && int64_t{more} * spec_->cores_per_process > space.total())
        return false;
    bool own_suffice = own_nodes && capacity_ >= more;
    return any_core_will_do(*spec_) || own_suffice || capacity(space) >= more;
}

/* The free nodes are none of its own: its whole nodes have no free core. */
void GrowingJob::allocate(Space &space, int more, Blocks &target)
{
    if (spec_->whole_nodes && nodes_.size() == 1 && nodes_.front().capacity >= more)
        return fill_last(more, target);
    look(space);
    std::vector<Space::Piece> pieces;
    if (spec_->whole_nodes && nodes_.empty())
        space.choose_others(*spec_, more, nodes_, pieces);
    else
        pieces = space.choose(*spec_, more, nodes_);
    for (const Space::Piece &piece : pieces) {
        space.book(piece);
        append(target, {piece.node->name, piece.processes});
    }
    for (const Space::Piece &piece : pieces)
        put(space, piece);
    has_own_ = true;
}

/* The only whole node with capacity: further processes there book no more cores. */
void GrowingJob::fill_last(int more, Blocks &target)
{
    Space::Own &last = nodes_.front();
    append(target, {last.node->name, more});
    last.processes += more;
    last.capacity -= more;
    capacity_ -= more;
    if (last.capacity == 0)
        nodes_.clear();
}

void GrowingJob::put(const Space &space, const Space::Piece &piece)
{
    auto at = std::lower_bound(nodes_.begin(), nodes_.end(), piece.node->position,
                               [](const Space::Own &each, uint32_t position) {
                                   return each.node->position < position;
                               });
    bool is_new = at == nodes_.end() || at->node != piece.node;
    Space::Own now = is_new ? Space::Own{piece.node, 0, 0} : *at;
    capacity_ -= now.capacity;
    now.processes += piece.processes;
    now.capacity = space.capacity_here(*spec_, *now.node, now.processes);
    capacity_ += now.capacity;
    bool is_full = spec_->whole_nodes && now.capacity == 0;
    if (is_new && !is_full)
        nodes_.insert(at, now);
    else if (!is_new && is_full)
        nodes_.erase(at);
    else if (!is_new)
        *at = now;
}

}  // namespace elastic::rm
