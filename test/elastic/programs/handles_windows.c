/*
 * C4: windows of every flavour, left alone at commit: their memory and registrations are given
 * back, their attributes are deleted through the callback once, a later use is MPI_ERR_WIN with a
 * message that names the adaptation, MPI_Win_free is allowed and harmless.  A window over
 * MPI_COMM_SELF remains.
 */

#include "elastic_test.h"

#define N_WINS 4
#define CELLS 1024

static MPI_Win wins[N_WINS], self_win;
static const char *const names[N_WINS] = { "create", "allocate", "shared", "dynamic" };

static int given[CELLS], attached[CELLS], self_cell;
static MPI_Comm node;
static int keyval = MPI_KEYVAL_INVALID, deleted;
static unsigned long inodes[2];        /* of the segments of wins[1] and wins[2] */

static int on_delete(MPI_Win win, int key, void *value, void *extra)
{
    (void) win;
    (void) extra;
    ET_CHECK(key == keyval && value == &given, "wrong key or value in the callback");
    deleted++;
    return MPI_SUCCESS;
}

/* Inode of the mapping that holds an address (NULL: any address of this inode), 0: there is none,
 * or it is no file's. */
static unsigned long mapped_inode(const void *address, unsigned long inode)
{
    char line[4096];
    unsigned long found = 0;
    FILE *file = fopen("/proc/self/maps", "r");

    ET_CHECK(file, "cannot read /proc/self/maps");
    while (!found && fgets(line, sizeof(line), file)) {
        unsigned long begin, end, its_inode;
        if (sscanf(line, "%lx-%lx %*s %*s %*s %lu", &begin, &end, &its_inode) != 3)
            continue;
        if (address ? begin <= (unsigned long) address &&
            (unsigned long) address < end : its_inode == inode)
            found = its_inode;
    }
    fclose(file);
    return found;
}

static void make(void)
{
    void *memory;

    ET_MPI(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    ET_MPI(MPI_Win_create(given, sizeof(given), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                          &wins[0]));
    ET_MPI(MPI_Win_allocate(CELLS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                            &memory, &wins[1]));
    inodes[0] = mapped_inode(memory, 0);
    ET_MPI(MPI_Win_allocate_shared(CELLS * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &memory,
                                   &wins[2]));
    inodes[1] = mapped_inode(memory, 0);
    int neighbours;
    ET_MPI(MPI_Comm_size(node, &neighbours));
    ET_CHECK(neighbours == 1 ||
             (inodes[0] && inodes[1]), "the windows' memory is no shared segment");
    ET_MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &wins[3]));
    ET_MPI(MPI_Win_attach(wins[3], attached, sizeof(attached)));
    for (int i = 0; i < N_WINS; i++) {
        ET_MPI(MPI_Win_set_attr(wins[i], keyval, &given));
        ET_MPI(MPI_Win_set_name(wins[i], names[i]));
    }
}

static void use(void)
{
    int value = et.rank, right = (et.rank + 1) % et.size;

    for (int i = 0; i < 2; i++) {
        ET_MPI(MPI_Win_fence(0, wins[i]));
        ET_MPI(MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, wins[i]));
        ET_MPI(MPI_Win_fence(MPI_MODE_NOSUCCEED, wins[i]));
        ET_MPI(MPI_Win_lock_all(0, wins[i]));
        ET_MPI(MPI_Accumulate(&value, 1, MPI_INT, right, 1, 1, MPI_INT, MPI_SUM, wins[i]));
        ET_MPI(MPI_Win_unlock_all(wins[i]));
    }
    /* a fence that is not the last one is no reason to refuse the commit */
    ET_MPI(MPI_Win_fence(0, wins[0]));
}

#define GONE(call) ET_ERROR(call, MPI_ERR_WIN, "adaptation")

static void is_stale(MPI_Win win)
{
    int value = 0, got, flag, unit;
    void *attribute, *base;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Aint bytes;
    MPI_Group group;
    MPI_Info info;
    MPI_Errhandler handler;
    MPI_Request request;

    GONE(MPI_Win_fence(0, win));
    GONE(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    GONE(MPI_Win_lock_all(0, win));
    GONE(MPI_Win_unlock(0, win));
    GONE(MPI_Win_flush(0, win));
    GONE(MPI_Win_flush_all(win));
    GONE(MPI_Win_sync(win));
    GONE(MPI_Win_complete(win));
    GONE(MPI_Win_wait(win));
    GONE(MPI_Win_test(win, &flag));
    GONE(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    GONE(MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    GONE(MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    GONE(MPI_Get_accumulate(&value, 1, MPI_INT, &got, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    GONE(MPI_Fetch_and_op(&value, &got, MPI_INT, 0, 0, MPI_SUM, win));
    GONE(MPI_Compare_and_swap(&value, &value, &got, MPI_INT, 0, 0, win));
    GONE(MPI_Rput(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request));
    GONE(MPI_Win_attach(win, &value, sizeof(value)));
    GONE(MPI_Win_detach(win, &value));
    GONE(MPI_Win_shared_query(win, 0, &bytes, &unit, &base));
    GONE(MPI_Win_get_attr(win, MPI_WIN_BASE, &attribute, &flag));
    GONE(MPI_Win_set_attr(win, keyval, &value));
    GONE(MPI_Win_get_group(win, &group));
    GONE(MPI_Win_get_info(win, &info));
    GONE(MPI_Win_set_info(win, MPI_INFO_ENV));
    GONE(MPI_Win_get_name(win, name, &flag));
    GONE(MPI_Win_set_name(win, "name"));
    GONE(MPI_Win_get_errhandler(win, &handler));
    GONE(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    GONE(MPI_Win_call_errhandler(win, MPI_ERR_OTHER));
}

static void after(void)
{
    int got = 0;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (wins[0] != MPI_WIN_NULL) {
        ET_CHECK(deleted == N_WINS, "%d of %d callbacks were called", deleted, N_WINS);
        for (int i = 0; i < 2; i++)
            ET_CHECK(!mapped_inode(NULL, inodes[i]), "the segment of a window is still mapped");
        for (int i = 0; i < N_WINS; i++) {
            is_stale(wins[i]);
            ET_MPI(MPI_Win_free(&wins[i]));
            ET_CHECK(wins[i] == MPI_WIN_NULL, "freeing left a handle");
        }
        ET_MPI(MPI_Comm_free(&node));
        ET_CHECK(deleted == N_WINS, "freeing called a callback again");
    }
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    self_cell = 6;
    ET_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, self_win));
    ET_MPI(MPI_Get(&got, 1, MPI_INT, 0, 0, 1, MPI_INT, self_win));
    ET_MPI(MPI_Win_unlock(0, self_win));
    ET_CHECK(got == 6, "the window over MPI_COMM_SELF gives %d", got);
    deleted = 0;
    make();
    use();
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    ET_MPI(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &keyval, NULL));
    ET_MPI(MPI_Win_create(&self_cell, sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_SELF,
                          &self_win));
    for (int i = 0; i < N_WINS; i++)
        wins[i] = MPI_WIN_NULL;
    if (et.status == MPI_ADAPT_STATUS_NEW) {
        make();
        use();
    }
    et.after = after;
    et_loop();
    for (int i = 0; i < N_WINS; i++)
        ET_MPI(MPI_Win_free(&wins[i]));
    ET_MPI(MPI_Win_free(&self_win));
    return et_finish();
}
