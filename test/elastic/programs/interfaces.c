/*
 * Functions that mpi.h declares, or must declare: MPI_Status_set_elements_c, the constant list of
 * MPI_Pready_list, MPI_Status_f082f and MPI_Status_f2f08 (defect 29), and the text of the class
 * MPI_ERR_UNSUPPORTED_OPERATION (defect 33).  One process.
 */

#include "elastic_test.h"

static void set_elements(void)
{
    const MPI_Count many = (MPI_Count) 5000000000;
    MPI_Status status;
    MPI_Count count;

    memset(&status, 0, sizeof(status));
    ET_MPI(MPI_Status_set_elements_c(&status, MPI_INT, many));
    ET_MPI(MPI_Get_elements_c(&status, MPI_INT, &count));
    ET_CHECK(count == many, "%lld elements, not %lld", (long long) count, (long long) many);
}

static void ready_list(void)
{
    static const int list[2] = { 1, 0 };
    int sent[2] = { 7, 8 }, received[2] = { 0, 0 };
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int (*function) (int, const int[], MPI_Request) = MPI_Pready_list;

    ET_MPI(MPI_Psend_init(sent, 2, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
    ET_MPI(MPI_Precv_init(received, 2, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &requests[1]));
    ET_MPI(MPI_Startall(2, requests));
    ET_MPI(function(2, list, requests[0]));
    ET_MPI(MPI_Waitall(2, requests, statuses));
    ET_CHECK(received[0] == 7 && received[1] == 8, "received %d and %d", received[0], received[1]);
    ET_MPI(MPI_Request_free(&requests[0]));
    ET_MPI(MPI_Request_free(&requests[1]));
}

static void fortran_statuses(void)
{
    MPI_Status status, again;
    MPI_F08_status f08, f08_again;
    MPI_Fint f[MPI_F_STATUS_SIZE];
    int count, cancelled;

    memset(&status, 0, sizeof(status));
    memset(&f08_again, 0, sizeof(f08_again));
    status.MPI_SOURCE = 3;
    status.MPI_TAG = 17;
    status.MPI_ERROR = MPI_ERR_TRUNCATE;
    ET_MPI(MPI_Status_set_elements(&status, MPI_INT, 12));
    ET_MPI(MPI_Status_set_cancelled(&status, 1));
    ET_MPI(MPI_Status_c2f(&status, f));
    ET_MPI(MPI_Status_f2f08(f, &f08));
    ET_CHECK(f08.MPI_SOURCE == 3 && f08.MPI_TAG == 17 && f08.MPI_ERROR == MPI_ERR_TRUNCATE,
             "source %d, tag %d, error %d", (int) f08.MPI_SOURCE, (int) f08.MPI_TAG,
             (int) f08.MPI_ERROR);
    memset(f, 0, sizeof(f));
    ET_MPI(PMPI_Status_f082f(&f08, f));
    ET_CHECK(f[MPI_F_SOURCE] == 3 && f[MPI_F_TAG] == 17, "source %d, tag %d",
             (int) f[MPI_F_SOURCE], (int) f[MPI_F_TAG]);
    ET_MPI(PMPI_Status_f2f08(f, &f08_again));
    ET_CHECK(memcmp(&f08, &f08_again, sizeof(f08)) == 0, "there and back is another status");
    ET_MPI(MPI_Status_f082f(&f08, f));
    ET_MPI(MPI_Status_f2c(f, &again));
    ET_MPI(MPI_Get_elements(&again, MPI_INT, &count));
    ET_MPI(MPI_Test_cancelled(&again, &cancelled));
    ET_CHECK(count == 12 && cancelled, "%d elements, cancelled %d", count, cancelled);
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_CHECK(MPI_Status_f2f08(MPI_F_STATUS_IGNORE, &f08) != MPI_SUCCESS, "no status is converted");
    ET_CHECK(MPI_Status_f082f(MPI_F08_STATUS_IGNORE, f) != MPI_SUCCESS, "no status is converted");
}

static void class_text(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    ET_MPI(MPI_Error_string(MPI_ERR_UNSUPPORTED_OPERATION, text, &length));
    ET_CHECK(strstr(text, "Unsupported") &&
             !strstr(text, "file"), "the class is called '%s'", text);
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    set_elements();
    ready_list();
    fortran_statuses();
    class_text();
    et_log("PASS interfaces");
    ET_MPI(MPI_Finalize());
    return 0;
}
