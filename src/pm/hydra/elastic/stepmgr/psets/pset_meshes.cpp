/* See pset_meshes.h. */

#include "stepmgr/psets/pset_meshes.h"

#include <algorithm>

namespace elastic {

namespace {

template <class Visit> bool all_of(const SetMembers &members, Visit visit)
{
    for (const SetMembers::Run &run : members.runs()) {
        for (uint32_t i = 0; i < run.count; i++) {
            if (!visit(run.first + i))
                return false;
        }
    }
    return true;
}

}  // namespace

bool SetCircles::hold(const SetMembers &members) const
{
    const uint32_t *first = nullptr;
    return all_of(members, [&](uint32_t uid) {
        auto circle = circle_of_.find(uid);
        if (circle == circle_of_.end())
            return false;
        first = first ? first : &circle->second;
        return circle->second == *first;
    });
}

bool SetCircles::join(const SetMembers &members)
{
    std::map<uint32_t, size_t> present; /* by circle */
    all_of(members, [&](uint32_t uid) {
        if (auto circle = circle_of_.find(uid); circle != circle_of_.end())
            present[circle->second]++;
        return true;
    });
    if (!std::ranges::all_of(present, [&](const auto &circle) { return sizes_.at(circle.first) == circle.second; }))
        return false;
    for (const auto &[circle, size] : present)
        sizes_.erase(circle);
    sizes_[++last_] = members.size();
    all_of(members, [&](uint32_t uid) {
        circle_of_[uid] = last_;
        return true;
    });
    return true;
}

void SetCircles::departed(uint32_t uid)
{
    auto circle = circle_of_.find(uid);
    if (circle == circle_of_.end())
        return;
    auto size = sizes_.find(circle->second);
    if (--size->second == 0)
        sizes_.erase(size);
    circle_of_.erase(circle);
}

}  // namespace elastic
