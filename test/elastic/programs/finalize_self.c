/*
 * MPI_Finalize deletes the attributes of MPI_COMM_SELF before anything else, with MPI fully usable:
 * a delete callback sends to a process that receives and only then finalises.  C9; --when states
 *   last     after the last adaptation
 *   pending  while another adaptation is under way (its joining process is there)
 *   agreed   after a probe has returned TRUE
 *   leave    on leaving processes, which finalise in commit (C3); their file over MPI_COMM_SELF
 *            works
 */

#include "elastic_test.h"

#define COUNT 300000            /* more than any eager limit */
#define TAG 71

static int receiver, deleted;
static MPI_File own;

static void send_farewell(void)
{
    int *data = malloc(COUNT * sizeof(int));

    for (int i = 0; i < COUNT; i++)
        data[i] = i;
    ET_MPI(MPI_Send(data, COUNT, MPI_INT, receiver, TAG, MPI_COMM_WORLD));
    free(data);
}

static void receive_farewell(int sender)
{
    int *data = calloc(COUNT, sizeof(int));

    ET_MPI(MPI_Recv(data, COUNT, MPI_INT, sender, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < COUNT; i++)
        ET_CHECK(data[i] == i, "element %d is %d", i, data[i]);
    free(data);
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    int finalized = -1, word = 4711;

    (void) key, (void) value, (void) extra;
    ET_CHECK(comm == MPI_COMM_SELF, "an attribute of another communicator");
    ET_MPI(MPI_Finalized(&finalized));
    ET_CHECK(!finalized, "MPI is finalised already");
    deleted++;
    send_farewell();
    if (own != MPI_FILE_NULL) {
        ET_MPI(MPI_File_write(own, &word, 1, MPI_INT, MPI_STATUS_IGNORE));
        ET_MPI(MPI_File_close(&own));
    }
    return MPI_SUCCESS;
}

static void send_farewell_at_the_end(void)
{
    int key;

    ET_MPI(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL));
    ET_MPI(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL));
    ET_MPI(MPI_Comm_free_keyval(&key));
}

static void check_deleted(void)
{
    if (et.status == MPI_ADAPT_STATUS_LEAVING && deleted != 1) {
        fprintf(stderr, "FAIL %d callbacks on a leaving process\n", deleted);
        _Exit(ET_FAILED);
    }
}

/* The first that stays receives from each that leaves, in the window: before it commits. */
static void window(void)
{
    int pre = et.staying + et.leaving;

    receiver = 0;
    while (receiver < pre && et.old_leaves[receiver])
        receiver++;
    if (et.status == MPI_ADAPT_STATUS_LEAVING) {
        ET_MPI(MPI_File_open(MPI_COMM_SELF, "own", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                             &own));
        send_farewell_at_the_end();
    } else if (et.status != MPI_ADAPT_STATUS_JOINING && et.rank == receiver) {
        for (int i = 0; i < pre; i++)
            if (et.old_leaves[i])
                receive_farewell(i);
    }
}

static int epoch_to_join(void)
{
    int pending, status, flag, length = 16;
    char text[16];
    MPI_Info info;

    ET_MPI(MPI_Probe_adapt(&pending, &status, &info));
    ET_MPI(MPI_Info_get_string(info, "epoch", &length, text, &flag));
    ET_MPI(MPI_Info_free(&info));
    return atoi(text);
}

/* A joining process of one adaptation more than the test is about: it is never let in. */
static void wait_in_vain(void)
{
    et_make_file("joining");
    et_begin();
    ET_CHECK(0, "an adaptation without a probe");
}

/* The last world: rank 0 sends to rank 1, which receives before it finalises. */
static void end_with_farewell(void)
{
    receiver = 1;
    if (et.rank == 0)
        send_farewell_at_the_end();
    else if (et.rank == receiver)
        receive_farewell(0);
    ET_MPI(MPI_Finalize());
    ET_CHECK(deleted == (et.rank == 0), "%d callbacks", deleted);
}

int main(int argc, char **argv)
{
    const char *when = et_argument(argc, argv, "when", "last");

    own = MPI_FILE_NULL;
    et_init(&argc, &argv);
    if (strcmp(when, "leave") == 0) {
        atexit(check_deleted);
        et.window = window;
        return et_run();
    }
    if (et.status == MPI_ADAPT_STATUS_JOINING && epoch_to_join() > et.epochs)
        wait_in_vain();
    et_loop();
    if (strcmp(when, "pending") == 0)
        et_await_file("joining");
    if (strcmp(when, "agreed") == 0)
        while (!et_probe())
            et_idle();
    if (et.rank == 0)
        et_log("PASS epoch=%d size=%d", et.epoch, et.size);
    end_with_farewell();
    return 0;
}
