/* See ch4_adapt_nodes.h. */

#include "mpidimpl.h"
#include "ch4_adapt_nodes.h"

bool MPIDI_Adapt_is_same_node(const struct pmi_adapt_plan *plan, int i, int j)
{
    const struct pmi_adapt_member *members = MPIDI_Adapt_plan_members(plan);

    return i == j || (!MPIR_CVAR_NOLOCAL && members[i].host == members[j].host);
}

int MPIDI_Adapt_make_nodes(const struct pmi_adapt_plan *plan, const int *list, int n,
                           MPIDI_Adapt_nodes_t * result)
{
    int mpi_errno = MPI_SUCCESS;
    const struct pmi_adapt_member *members = MPIDI_Adapt_plan_members(plan);
    int *node_of_host = NULL;
    MPIR_CHKLMEM_DECL(1);

    result->num_nodes = 0;
    MPIR_CHKLMEM_MALLOC(node_of_host, int *, plan->n_hosts * sizeof(int), mpi_errno, "hosts",
                        MPL_MEM_ADDRESS);
    result->node_of = MPL_malloc(n * sizeof(int), MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!result->node_of, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (unsigned i = 0; i < plan->n_hosts; i++)
        node_of_host[i] = -1;
    for (int i = 0; i < n; i++) {
        int host = (int) members[list ? list[i] : i].host;
        if (node_of_host[host] < 0 || MPIR_CVAR_NOLOCAL)
            node_of_host[host] = result->num_nodes++;
        result->node_of[i] = node_of_host[host];
    }

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_Adapt_set_nodes(const MPIDI_Adapt_nodes_t * map)
{
    MPL_free(MPIR_Process.node_map);
    MPIR_Process.node_map = map->node_of;
    MPIR_Process.num_nodes = map->num_nodes;
}

int MPIDI_Adapt_set_process(const struct pmi_adapt_plan *plan, const int *list, int n, int rank)
{
    int mpi_errno = MPI_SUCCESS;
    int *local_map = NULL, *root_map = NULL, n_local = 0;
    MPIDI_Adapt_nodes_t nodes;

    mpi_errno = MPIDI_Adapt_make_nodes(plan, list, n, &nodes);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_Adapt_set_nodes(&nodes);
    const int *node_map = MPIR_Process.node_map;

    local_map = MPL_malloc(n * sizeof(int), MPL_MEM_ADDRESS);
    root_map = MPL_malloc(MPIR_Process.num_nodes * sizeof(int), MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!local_map || !root_map, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = n - 1; i >= 0; i--)
        root_map[node_map[i]] = i;
    for (int i = 0; i < n; i++) {
        if (node_map[i] == node_map[rank]) {
            if (i == rank)
                MPIR_Process.local_rank = n_local;
            local_map[n_local++] = i;
        }
    }
    MPL_free(MPIR_Process.node_local_map);
    MPL_free(MPIR_Process.node_root_map);
    MPIR_Process.node_local_map = local_map;
    MPIR_Process.node_root_map = root_map;
    MPIR_Process.local_size = n_local;
    MPIR_Process.rank = rank;
    MPIR_Process.size = n;
    MPIR_Process.attrs.universe = plan->universe_size ? (int) plan->universe_size :
        MPIR_UNIVERSE_SIZE_NOT_SET;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(local_map);
    MPL_free(root_map);
    goto fn_exit;
}
