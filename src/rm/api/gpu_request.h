/*
 * GPUs in a submission: of each process, of each node, or of the whole job; the latter are divided
 * equally among its nodes or processes.  Pure.
 */

#ifndef ELASTIC_RM_GPU_REQUEST_H_INCLUDED
#define ELASTIC_RM_GPU_REQUEST_H_INCLUDED

#include "core/job.h"
#include "http/body_reader.h"

namespace elastic::rm {

/* Sets them in the specification, whose sizes are known; `nodes`: whole nodes, 0: not given. */
void read_gpus(BodyReader &body, JobSpec &spec, int nodes);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_GPU_REQUEST_H_INCLUDED */
