/*
 * SI3, SI4, SI7, SR7, SR8, SR11, SL2, SO4, SO8, SX2: unusual orders.  Each process has two sessions
 * and ends either, or both and opens others, while a change is offered, and between being notified
 * of it and answering; sets are requested after their processes have ended.  Run by 2 processes, to
 * which one is added, which is removed, and another, declined.
 */

#include "session_changes.h"

static MPI_Session other;
static MPI_Comm comm;
static int rank;

static MPI_Session open_another(void)
{
    MPI_Session opened;
    MPI_Info info;

    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, "mpix_dynamic", "true"));
    ET_MPI(MPI_Info_set(info, "thread_level", "MPI_THREAD_FUNNELED"));
    ET_MPI(MPI_Info_set(info, "colour", "own"));
    ET_MPI(MPI_Info_set(info, "mpidynres", "no"));
    ET_MPI(MPI_Session_init(info, MPI_ERRORS_RETURN, &opened));
    ET_MPI(MPI_Info_free(&info));
    return opened;
}

/* The one that was opened first ends. */
static void change_sessions(void)
{
    ET_MPI(MPI_Session_finalize(&session));
    session = other;
    other = open_another();
}

/* For a moment there is none. */
static void end_sessions(void)
{
    ET_MPI(MPI_Session_finalize(&session));
    ET_MPI(MPI_Session_finalize(&other));
    et_sleep_ms(rank == 0 ? 20 : 0);
    session = open_another();
    other = open_another();
}

static void expect(MPI_Info info, const char *key, const char *expected, const char *clause)
{
    pset_name value;

    ET_CHECK(value_of(info, key, value) &&
             !strcmp(value, expected), "%s: %s is '%s', not '%s'", clause, key, value, expected);
}

/* SI4, of whichever session. */
static void check_session(int joins, int uid)
{
    char own[16];
    MPI_Info info;

    snprintf(own, sizeof(own), "%d", uid);
    ET_MPI(MPI_Session_get_info(session, &info));
    expect(info, "colour", joins ? "of the accept" : "own", "SI4");
    expect(info, "thread_level", "MPI_THREAD_FUNNELED", "SI4");
    expect(info, "mpidynres", "yes", "SI4");
    expect(info, "mpidynres_process_id", own, "SI4");
    expect(info, "mpidynres_dynamic_start", joins ? "yes" : "no", "SI4");
    expect(info, "mpidynres_pending_shutdown", "no", "SI4");
    ET_MPI(MPI_Info_free(&info));
}

static void check_notified(const struct change *change, const char *type, int old_size,
                           int new_size)
{
    char old[16], new[16], tag[16];
    pset_name value;
    MPI_Info info;

    snprintf(old, sizeof(old), "%d", old_size);
    snprintf(new, sizeof(new), "%d", new_size);
    snprintf(tag, sizeof(tag), "%d", change->tag);
    expect(change->info, "mpix_old_size", old, "SR11");
    expect(change->info, "mpix_new_size", new, "SR11");
    expect(change->info, "mpix_deadline", "0", "SR11");
    ET_CHECK(value_of(change->info, "mpix_reason", value), "SR11: no mpix_reason");
    ET_MPI(MPI_Session_get_pset_info(session, change->delta, &info));
    expect(info, "mpidynres_rc", "true", "SI3");
    expect(info, "mpidynres_rc_type", type, "SI3");
    expect(info, "mpidynres_rc_tag", tag, "SI3");
    expect(info, "mpi_dyn", strcmp(type, "add") ? "False" : "True", "SI3");
    expect(info, "mpi_size", "1", "SI3");
    ET_MPI(MPI_Info_free(&info));
}

/* Rank 0 is offered, is notified, and accepts, with other sessions each time. */
static struct change take(const char *set, pset_name after, int old_size)
{
    static const char *const keys[][2] = {
        {"colour", "of the accept"}, {"thread_level", "MPI_THREAD_SINGLE"},
        {"mpidynres_process_id", "77"}, {"mpidynres_pending_shutdown", "yes"}
    };
    struct change change;
    MPI_Info info;
    int flag = 0;

    for (; !flag; et_sleep_ms(1))
        ET_MPI(MPIX_Session_rc_test(session, set, &flag));
    end_sessions();
    change = get_change(set);
    int adds = change.type == MPIX_RC_ADD;
    check_notified(&change, adds ? "add" : "sub", old_size, old_size + (adds ? 1 : -1));
    ET_MPI(MPI_Info_free(&change.info));
    change_sessions();
    set_after(set, &change, after);
    end_sessions();
    ET_MPI(MPI_Info_create(&info));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        ET_MPI(MPI_Info_set(info, keys[i][0], keys[i][1]));
    ET_MPI(MPI_Info_set(info, "app_set", after));
    ET_MPI(MPIX_Session_rc_accept(session, change.tag, info));
    ET_MPI(MPI_Info_free(&info));
    return change;
}

static void use(const char *set, const char *tag)
{
    MPI_Comm made = connect_set(set, tag);

    et_exercise(made, set);
    ET_MPI(MPI_Comm_free(&made));
}

/* The joining process is one in each of its sessions, also when there was none meanwhile. */
static void join(pset_name delta)
{
    pset_name whole, again;

    check_session(1, 2);
    ET_CHECK(session_value("app_set", whole), "SR7: the keys of the accept");
    use(whole, "with all");
    change_sessions();
    check_session(1, 2);
    end_sessions();
    check_session(1, 2);
    ET_CHECK(is_joining_process(again) && !strcmp(again, delta), "SI5: %s was %s", again, delta);
    use(whole, "with all again");
    while (session_value("mpidynres_pending_shutdown", again) && strcmp(again, "yes"))
        et_sleep_ms(1);
    ET_MPI(MPI_Session_finalize(&other));
    ET_MPI(MPI_Session_finalize(&session));
    exit(0);
}

/* SL2, SI7, SO4, SO8: the set of those who have ended, and the one that they were in. */
static void check_ended_now(const char *delta, const char *whole)
{
    const char *const ended_one[] = { delta, whole };
    pset_name rest;
    MPI_Group group;
    MPI_Info info;
    int flag;

    await_state(delta, "ended");
    for (int i = 0; i < 2; i++) {
        ET_ERROR(MPI_Group_from_session_pset(session, ended_one[i], &group), MPI_ERR_PROC_ABORTED,
                 NULL);
        ET_MPI(MPI_Session_get_pset_info(session, ended_one[i], &info));
        expect(info, "mpi_size", i ? "3" : "1", "SI3");
        expect(info, "mpix_state", "ended", "SI3");
        ET_MPI(MPI_Info_free(&info));
        ET_MPI(MPIX_Session_pset_exists(session, ended_one[i], &flag, NULL));
        ET_CHECK(!flag, "SI6: %s runs", ended_one[i]);
        end_sessions();
    }
    make_set(MPIX_PSETOP_DIFFERENCE, whole, delta, rest);
    use("mpi://WORLD", "the rest");
    check_state(rest, "running");
    ET_MPI(MPI_Barrier(comm));
    if (rank == 1)
        ET_MPI(MPIX_Session_pset_free(session, delta));
    ET_MPI(MPI_Barrier(comm));
    ET_ERROR(MPI_Group_from_session_pset(session, delta, &group), MPI_ERR_ARG, NULL);
    ET_ERROR(MPI_Session_get_pset_info(session, delta, &info), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Session_pset_free(session, delta), MPI_ERR_ARG, NULL);
}

/* By a session that was not there when it was notified. */
static void decline_last(void)
{
    struct change change = await_change(NULL);

    ET_CHECK(change.type == MPIX_RC_ADD, "type %d", change.type);
    check_notified(&change, "add", 2, 3);
    end_sessions();
    decline_change(&change);
    ET_ERROR(MPIX_Session_rc_accept(session, change.tag, MPI_INFO_NULL), MPI_ERR_ARG, "tag");
    change_sessions();
    ET_ERROR(MPIX_Session_rc_decline(session, change.tag), MPI_ERR_ARG, "tag");
}

/* The communicator that states what comes is of a session that stays. */
static MPI_Comm rendezvous(MPI_Session * lasting)
{
    MPI_Group group;
    MPI_Comm made;

    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, lasting));
    ET_MPI(MPI_Group_from_session_pset(*lasting, "mpi://WORLD", &group));
    ET_MPI(MPI_Comm_create_from_group(group, "rendezvous", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                      &made));
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Comm_rank(made, &rank));
    return made;
}

int main(int argc, char **argv)
{
    pset_name delta = "", whole = "", rest;
    MPI_Session lasting;

    et_options(&argc, &argv);
    session = open_another();
    other = open_another();
    if (is_joining_process(delta))
        join(delta);
    comm = rendezvous(&lasting);
    check_session(0, rank);
    if (rank == 0)
        take("mpi://WORLD", whole, 2);
    ET_MPI(MPI_Bcast(whole, sizeof(whole), MPI_BYTE, 0, comm));
    use(whole, "with all");
    end_sessions();
    check_session(0, rank);
    use(whole, "with all again");
    if (rank == 0)
        strcpy(delta, take(whole, rest, 3).delta);
    ET_MPI(MPI_Bcast(delta, sizeof(delta), MPI_BYTE, 0, comm));
    check_ended_now(delta, whole);
    if (rank == 0)
        decline_last();
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Session_finalize(&other));
    ET_MPI(MPI_Session_finalize(&session));
    ET_MPI(MPI_Session_finalize(&lasting));
    if (rank == 0)
        et_log("PASS session_orders");
    return 0;
}
