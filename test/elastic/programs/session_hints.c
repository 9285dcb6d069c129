/*
 * SR10: a program states which numbers of processes it can do with.  --case
 *   range    under --adapt-range 1:4: the answer, what is wrong, and a preferred number, which
 *            comes true
 *   nobody   without resource manager and range: there is no answer
 */

#include "session_changes.h"

static MPI_Info hint(const char *const pairs[], int n)
{
    MPI_Info hints, answer;

    ET_MPI(MPI_Info_create(&hints));
    for (int i = 0; i < n; i++)
        ET_MPI(MPI_Info_set(hints, pairs[2 * i], pairs[2 * i + 1]));
    ET_MPI(MPIX_Session_add_scheduling_hints(session, hints, &answer));
    ET_MPI(MPI_Info_free(&hints));
    return answer;
}

static void expect(MPI_Info answer, const char *key, const char *expected)
{
    pset_name value;

    ET_CHECK(answer != MPI_INFO_NULL &&
             value_of(answer, key, value), "SR10: no %s in the answer", key);
    ET_CHECK(!strcmp(value, expected), "SR10: %s is %s, not %s", key, value, expected);
}

static void case_range(void)
{
    const char *const limits[] =
        { "mpix_size_max", "3", "mpi_num_procs_min", "2", "colour", "blue" };
    const char *const wrong[] =
        { "mpix_size_min", "some", "mpix_size_max", "-1", "mpix_size_preferred", "7" };
    pset_name whole;
    MPI_Info answer = hint(wrong, 3);

    expect(answer, "mpix_accepted", "");
    expect(answer, "mpix_size_min", "1");
    expect(answer, "mpix_size_max", "4");
    ET_MPI(MPI_Info_free(&answer));
    answer = hint(limits, 3);
    expect(answer, "mpix_accepted", "mpi_num_procs_min,mpix_size_max");
    expect(answer, "mpix_size_min", "2");
    expect(answer, "mpix_size_max", "3");
    ET_MPI(MPI_Info_free(&answer));
    /* it has one process, and can do with two at least */
    struct change change = await_change("mpi://WORLD");
    ET_CHECK(change.type == MPIX_RC_ADD, "type %d", change.type);
    set_after("mpi://WORLD", &change, whole);
    accept_change(&change, "app_set", whole);
    MPI_Comm comm = connect_set(whole, "both");
    ET_MPI(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    const char *what = et_argument(argc, argv, "case", "range"), *const none[] =
        { "mpix_size_max", "2" };
    pset_name set;

    et_options(&argc, &argv);
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    if (session_value("app_set", set)) {
        MPI_Comm comm = connect_set(set, "both");
        ET_MPI(MPI_Comm_free(&comm));
        ET_MPI(MPI_Session_finalize(&session));
        return 0;
    }
    if (!strcmp(what, "nobody"))
        ET_CHECK(hint(none, 1) == MPI_INFO_NULL, "SR10: somebody has answered");
    else
        case_range();
    ET_MPI(MPI_Session_finalize(&session));
    et_log("PASS session_hints");
    return 0;
}
