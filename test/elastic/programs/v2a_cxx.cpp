/* SC4, SC5: mpi_session_dyn.h in C++, and libmpidynres' header behind it. */

#include <cstdio>

#include <mpi_session_dyn.h>

static int count_processes(MPI_Session session, const char *set)
{
    char value[16] = "0";
    int flag = 0;
    MPI_Info info;

    MPI_Session_get_pset_info(session, set, &info);
    MPI_Info_get(info, "mpi_size", sizeof(value) - 1, value, &flag);
    MPI_Info_free(&info);
    return flag ? std::atoi(value) : 0;
}

/* v2a's outputs are the caller's to free. */
static int unite(MPI_Session session, char *first, char *second)
{
    char *inputs[] = {first, second};
    char **outputs = nullptr;
    int op = MPI_PSETOP_UNION, n = 0;

    if (MPI_Session_dyn_v2a_psetop(session, &op, inputs, 2, &outputs, &n, MPI_INFO_NULL) || n != 1)
        return 0;
    int size = count_processes(session, outputs[0]);
    std::free(outputs[0]);
    std::free(outputs);
    return size;
}

#include <mpidynres.h>

int main()
{
    char set[256], self[] = "mpi://SELF";
    int dynamic, primary;
    mpidynres_session session;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Session_get_default_pset(set, &dynamic);
    MPI_Session_get_primary_process(set, &primary);
    if (unite(session->session_id, self, set) != 2 || dynamic)
        return 1;
    if (primary)
        std::printf("PASS v2a_cxx\n");
    MPI_Session_finalize(&session);
}
