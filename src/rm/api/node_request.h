/*
 * The number of whole nodes in a submission.  A rigid job has exactly that number, or of a range as
 * many as its processes need; the nodes of an elastic job are filled in sequence.  Pure.
 */

#ifndef ELASTIC_RM_NODE_REQUEST_H_INCLUDED
#define ELASTIC_RM_NODE_REQUEST_H_INCLUDED

#include <functional>
#include <string>
#include <vector>

#include "core/job_spec.h"
#include "http/body_reader.h"

namespace elastic::rm {

struct NodeRange {
    int minimum = 0, maximum = 0;       /* 0: no number is requested */
};
NodeRange read_node_range(BodyReader &body);

/* The number of processes of a specification that all nodes can hold, or as many nodes as it
 * requests. */
using CapacityOf = std::function<int(const JobSpec &)>;

/* Sets them in the specification, whose sizes, kind and GPUs of a process or node are known.
 * Returns their number.  Adds a note if fewer than requested are used. */
int put_on_nodes(const BodyReader &body, JobSpec &spec, NodeRange range,
                 const CapacityOf &capacity_of, std::vector<std::string> &notes);

/* The processes of a job that requests `nodes` whole nodes and no size: as many as the largest ones
 * hold; 0: there are too few nodes. */
int processes_on_nodes(JobSpec spec, int nodes, const CapacityOf &capacity_of);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_NODE_REQUEST_H_INCLUDED */
