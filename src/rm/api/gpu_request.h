/*
 * GPUs in a submission: of each process, of each node, or of the whole job; the latter are divided
 * equally among its nodes or processes.  Pure.
 */

#ifndef ELASTIC_RM_GPU_REQUEST_H_INCLUDED
#define ELASTIC_RM_GPU_REQUEST_H_INCLUDED

#include "core/job.h"
#include "http/body_reader.h"

namespace elastic::rm {

/* Of each process, or of each node.  0 means none, as if it were left out. */
void read_gpus_of_parts(BodyReader &body, JobSpec &spec);
/* Of the whole job, after those above; the sizes are known.  `nodes`: whole nodes, 0: not given. */
void read_gpus_of_all(BodyReader &body, JobSpec &spec, int nodes);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_GPU_REQUEST_H_INCLUDED */
