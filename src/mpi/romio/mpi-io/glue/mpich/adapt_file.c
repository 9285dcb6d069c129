/*
 * Files over an adaptation (SPEC C4, C6), and those that a session leaves (SX7).
 *
 * This file owns the table of open files and the queue of stale ones.  A file that was opened over
 * a communicator of the old world is closed by the commit, on each process for itself: it gets a
 * communicator of its own instead of the old one, so that the barriers of a collective close are
 * local.  The structure of the handle remains, with a cookie that the usual check of handles
 * refuses, until MPI_File_close, or until it is the oldest of too many.
 *
 * ROMIO's own descriptors for shared file pointers are not in the table: they are opened over
 * MPI_COMM_SELF, and are closed with the file that they belong to.
 *
 * Called inside ROMIO's critical section, or by a commit, during which no other thread may operate
 * on ending files.
 */

#include "mpioimpl.h"
#include "adio_extern.h"

#define STALE_FILES_MAX 1024
#define STALE_COOKIE 6001959
/* MPIR_ADAPT_BY_SESSION of mpir_adapt.h */
#define MPIR_ROMIO_ADAPT_BY_SESSION (1 << 30)

static MPI_File *open_files;
static int num_open, max_open;

/* the oldest first */
static MPI_File stale_files[STALE_FILES_MAX];
static int num_stale;

void MPIR_ROMIO_Adapt_opened(MPI_File file)
{
    if (num_open == max_open) {
        max_open = max_open ? 2 * max_open : 16;
        open_files = ADIOI_Realloc(open_files, max_open * sizeof(open_files[0]));
    }
    open_files[num_open++] = file;
}

void MPIR_ROMIO_Adapt_closed(MPI_File file)
{
    for (int i = num_open - 1; i >= 0; i--) {
        if (open_files[i] == file) {
            open_files[i] = open_files[--num_open];
            break;
        }
    }
    if (num_open == 0) {
        ADIOI_Free(open_files);
        open_files = NULL;
        max_open = 0;
    }
}

/* An ending file, NULL if there is none (any more). */
static ADIO_File find_ending(void)
{
    for (int i = 0; i < num_open; i++) {
        ADIO_File fd = MPIO_File_resolve(open_files[i]);
        if (!MPIR_Adapt_comm_survives(fd->comm))
            return fd;
    }
    return NULL;
}

int MPIR_ROMIO_Adapt_pending(char *why, int size)
{
    for (int i = 0; i < num_open; i++) {
        ADIO_File fd = MPIO_File_resolve(open_files[i]);
        if (!MPIR_Adapt_comm_survives(fd->comm) &&
            (fd->split_coll_count || fd->async_count)) {
            snprintf(why, size, "%s on file %s",
                     fd->split_coll_count ? "split collective operation" : "nonblocking operation",
                     fd->filename ? fd->filename : "");
            return 1;
        }
    }
    return 0;
}

/* Replaces the communicator by one of this process alone.  The rank decides which process deletes
 * the file on close; this must remain one process. */
static int localise(ADIO_File fd)
{
    int rank, error_code;
    MPI_Comm alone;

    MPI_Comm_rank(fd->comm, &rank);
    if (fd->hints && fd->hints->ranklist)
        fd->hints->ranklist[0] = (fd->hints->ranklist[0] == rank) ? 0 : -1;
    /* not a duplicate, which would have the application's attributes */
    error_code = PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &alone);
    if (error_code != MPI_SUCCESS)
        return error_code;
    PMPI_Comm_free(&fd->comm);
    fd->comm = alone;
    /* windows of one-sided aggregation end with all others */
    fd->io_buf_window = MPI_WIN_NULL;
    fd->io_buf_put_amounts_window = MPI_WIN_NULL;
    return MPI_SUCCESS;
}

static void free_stale(int index)
{
    MPI_File file = stale_files[index];

    num_stale--;
    memmove(stale_files + index, stale_files + index + 1,
            (num_stale - index) * sizeof(stale_files[0]));
    if (file->fortran_handle != -1)
        ADIOI_Ftable[file->fortran_handle] = MPI_FILE_NULL;
    file->cookie = 0;
    ADIOI_Free(file);
}

/* From here on the structure serves only to recognise the handle.  async_count has the epoch,
 * split_coll_count whether closing failed. */
static void make_stale(MPI_File file, unsigned epoch, int failed)
{
    MPIR_ROMIO_Adapt_closed(file);
    if (num_stale == STALE_FILES_MAX)
        free_stale(0);
    file->cookie = STALE_COOKIE;
    file->async_count = (int) epoch;
    file->split_coll_count = failed;
    file->comm = MPI_COMM_NULL;
    if (file->fortran_handle != -1)
        ADIOI_Ftable[file->fortran_handle] = file;
    stale_files[num_stale++] = file;
}

static void close_one(ADIO_File fd, unsigned epoch)
{
    int error_code, shared_error = MPI_SUCCESS;

    if (ADIO_Feature(fd, ADIO_SHARED_FP)) {
        ADIOI_Free(fd->shared_fp_fname);
        if (fd->shared_fp_fd != ADIO_FILE_NULL) {
            ADIO_Close(fd->shared_fp_fd, &shared_error);
            MPIO_File_free(&fd->shared_fp_fd);
        }
    }
    /* releases the reference to the error handler */
    PMPI_File_set_errhandler(fd, MPI_ERRORS_RETURN);
    MPIO_External32_free_view(fd);
    ADIO_Close(fd, &error_code);
    make_stale(fd, epoch, error_code != MPI_SUCCESS || shared_error != MPI_SUCCESS);
}

void MPIR_ROMIO_Adapt_close_all(unsigned epoch)
{
    ADIO_File fd;

    /* without memory for a communicator nothing can be closed */
    while ((fd = find_ending()) && localise(fd) == MPI_SUCCESS)
        close_one(fd, epoch);
}

int MPIR_ROMIO_Adapt_is_stale(MPI_File file)
{
    for (int i = num_stale - 1; i >= 0; i--) {
        if (stale_files[i] == file)
            return 1;
    }
    return 0;
}

/* MPI_File_close: frees what is left of a stale file; 0 if it is not one.  An error of the close by
 * the adaptation is reported here. */
int MPIR_ROMIO_Adapt_invalidate(MPI_File * file, const char *function, int *error_code)
{
    for (int i = num_stale - 1; i >= 0; i--) {
        if (stale_files[i] == *file) {
            *error_code = MPI_SUCCESS;
            if ((*file)->split_coll_count) {
                *error_code = MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function,
                                                   __LINE__, MPI_ERR_IO, "**adaptfileclose",
                                                   "**adaptfileclose %d", (*file)->async_count);
                *error_code = MPIO_Err_return_file(MPI_FILE_NULL, *error_code);
            }
            free_stale(i);
            *file = MPI_FILE_NULL;
            return 1;
        }
    }
    return 0;
}

/* The error code for a handle that is not that of an open file. */
int MPIR_ROMIO_Adapt_file_error(MPI_File file, const char *function, int line)
{
    if (MPIR_ROMIO_Adapt_is_stale(file) && file->async_count == MPIR_ROMIO_ADAPT_BY_SESSION)
        return MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, line,
                                    MPI_ERR_FILE, "**sessionfile", 0);
    if (MPIR_ROMIO_Adapt_is_stale(file))
        return MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, line,
                                    MPI_ERR_FILE, "**adaptfile", "**adaptfile %d",
                                    file->async_count);
    return MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, line, MPI_ERR_FILE,
                                "**iobadfh", 0);
}
