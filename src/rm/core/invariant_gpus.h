/* For invariants.cpp: a GPU has one process, or one job; each process has as many as it needs. */

#ifndef ELASTIC_RM_CORE_INVARIANT_GPUS_H_INCLUDED
#define ELASTIC_RM_CORE_INVARIANT_GPUS_H_INCLUDED

#include "core/gpus.h"
#include "core/state.h"

namespace elastic::rm {

using BookedGpus = std::map<std::string, GpuSet>;       /* by node */

class GpuInvariants {
  public:
    /* By all jobs checked so far. */
    BookedGpus booked;

    void see(const Job &job, std::vector<std::string> &wrong)
    {
        name_ = "job " + std::to_string(job.id) + " ";
        wrong_ = &wrong;
        BookedGpus own;
        for (const NodeGpus &each : job.gpus)
            book(own, each.node, each.gpus);
        for (const auto &[node, gpus] : own)
            book(booked, node, gpus);
        if (!job.gpus.empty() && !is_allocated(job.state))
            wrong.push_back(name_ + "has GPUs, and no nodes");
        if (job.state == JobState::STARTING && job.spec.gpus_per_node > 0)
            check_nodes(job, own);
        if (is_allocated(job.state) && job.spec.gpus_per_process > 0)
            check_processes(job, own);
    }

  private:
    void book(BookedGpus &all, const std::string &node, GpuSet gpus)
    {
        if (all[node] & gpus)
            wrong_->push_back(name_ + "has a GPU on " + node + " that is not free");
        all[node] |= gpus;
    }
    void check_nodes(const Job &job, const BookedGpus &own)
    {
        for (const auto &[node, gpus] : own)
            if (std::popcount(gpus) != job.spec.gpus_per_node)
                wrong_->push_back(name_ + "has another number of GPUs on " + node);
        if (own.size() != gathered_nodes(job.blocks))
            wrong_->push_back(name_ + "has no GPUs on one of its nodes");
    }
    static size_t gathered_nodes(const Blocks &blocks)
    {
        std::set<std::string> nodes;
        for (const Block &block : blocks)
            nodes.insert(block.node);
        return nodes.size();
    }
    void check_processes(const Job &job, const BookedGpus &own)
    {
        BookedGpus all;
        add(job, job.blocks, job.process_gpus, all);
        if (job.adaptation)
            add(job, job.adaptation->joining, job.adaptation->gpus, all);
        for (const Departure &departure : job.departures)
            add(job, departure.blocks, departure.gpus, all);
        if (all != own)
            wrong_->push_back(name_ + "has booked other GPUs than its processes have");
    }
    void add(const Job &job, const Blocks &blocks, const ProcessGpus &gpus, BookedGpus &all)
    {
        if (gpus.size() != static_cast<size_t>(count_processes(blocks)))
            wrong_->push_back(name_ + "has GPUs for another number of processes");
        for (const auto &[node, here] : gpus_by_node(blocks, gpus)) {
            for (GpuSet of_process : here) {
                if (std::popcount(of_process) != job.spec.gpus_per_process)
                    wrong_->push_back(name_ + "has a process without its GPUs on " + node);
                book(all, node, of_process);
            }
        }
    }

    std::string name_;
    std::vector<std::string> *wrong_ = nullptr;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_INVARIANT_GPUS_H_INCLUDED */
