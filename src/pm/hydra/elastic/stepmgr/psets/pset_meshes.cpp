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

bool PsetMeshes::hold(const SetMembers &members) const
{
    const uint32_t *first = nullptr;
    return all_of(members, [&](uint32_t uid) {
        auto mesh = mesh_of_.find(uid);
        if (mesh == mesh_of_.end())
            return false;
        first = first ? first : &mesh->second;
        return mesh->second == *first;
    });
}

bool PsetMeshes::join(const SetMembers &members)
{
    std::map<uint32_t, size_t> present; /* by mesh */
    all_of(members, [&](uint32_t uid) {
        if (auto mesh = mesh_of_.find(uid); mesh != mesh_of_.end())
            present[mesh->second]++;
        return true;
    });
    if (!std::ranges::all_of(present, [&](const auto &mesh) {
            return sizes_.at(mesh.first) == mesh.second;
        }))
        return false;
    for (const auto &[mesh, size] : present)
        sizes_.erase(mesh);
    sizes_[++last_] = members.size();
    all_of(members, [&](uint32_t uid) {
        mesh_of_[uid] = last_;
        return true;
    });
    return true;
}

void PsetMeshes::disconnected(uint32_t uid)
{
    auto mesh = mesh_of_.find(uid);
    if (mesh == mesh_of_.end())
        return;
    auto size = sizes_.find(mesh->second);
    if (--size->second == 0)
        sizes_.erase(size);
    mesh_of_.erase(mesh);
}

}  // namespace elastic
