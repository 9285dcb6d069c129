/*
 * The arrays that make up a program's distributed state, and moving them to their new owners while
 * the adaptation window is open.
 *
 * A process registers its arrays once, each with a layout that defines the owner of each element.
 * In the window MPIX_Adapt_data_move brings every element to the process that owns it in the new
 * world: once, straight from its owner, and only if the owner changes.
 *
 *     MPIX_Adapt_data data;
 *     MPIX_Adapt_layout rows = MPIX_Layout_block(n);
 *     MPIX_Adapt_data_create(&data);
 *     MPIX_Adapt_data_add(data, "field", (void **) &field, row_type, &rows, NULL, NULL);
 *     ...                                         in the window, on all processes:
 *     MPIX_Adapt_window_fill(MPI_COMM_WORLD, intercomm, new_comm_world, status, &window);
 *     MPIX_Adapt_data_move(data, &window);
 *     MPIX_Adapt_window_clear(&window);
 *
 * All processes register the same arrays in the same order.  A joining process registers with *base
 * NULL.  After the move *base is the new part, NULL if it is empty or the process leaves.
 *
 * Errors: a function that fails calls the error handler of MPI_COMM_WORLD and returns an error
 * class; MPIX_Adapt_data_message describes the error and names the array.  MPI_ERR_ARG: wrong use,
 * no effect.  Errors of MPI calls within are returned unchanged.  Not for several threads at
 * once.
 */

#ifndef ADAPT_DATA_H_INCLUDED
#define ADAPT_DATA_H_INCLUDED

#include "adapt_layout.h"
#include "adapt_window.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- registered arrays ---------------------------------------------------------------------- */

typedef struct MPIX_Adapt_data_s *MPIX_Adapt_data;

/* The memory of parts.  grow returns memory for `count` elements, or NULL; release frees it. */
typedef struct MPIX_Adapt_memory {
    void *(*grow) (int64_t count, void *state);
    void (*release) (void *part, void *state);
    void *state;
} MPIX_Adapt_memory;

/* In place of the number of an array: all that are registered.  For MPIX_Adapt_data_start, _wait
 * and _volume. */
#define MPIX_ALL_ARRAYS (-1)

int MPIX_Adapt_data_create(MPIX_Adapt_data *data);
/* The parts belong to the program: the set is freed, not the arrays. */
int MPIX_Adapt_data_free(MPIX_Adapt_data *data);
/* The default set of this process, created by its first use: MPIX_ADAPT_DEFAULT.  NULL: there is no
 * memory. */
MPIX_Adapt_data MPIX_Adapt_data_default(void);
/* For a program with one set: MPIX_ADAPT_SHARE(MPIX_ADAPT_DEFAULT, step).  MPI_Finalize frees
 * it. */
#define MPIX_ADAPT_DEFAULT MPIX_Adapt_data_default()

/* *base: this process' part, its elements by increasing number without gaps, as `memory` (NULL:
 * malloc) has returned it; each `base` once.  `array` (may be NULL) is the number of the array: 0,
 * 1, ...  `base`, the layout's functions and their states stay valid as long as `data` is. */
int MPIX_Adapt_data_add(MPIX_Adapt_data data, const char *name, void **base, MPI_Datatype element,
                        const MPIX_Adapt_layout *layout, const MPIX_Adapt_memory *memory,
                        int *array);

/* A variable of fixed size, global or static: `count` elements that every process has at an address
 * of its own.  Joining processes get the values of old rank 0. */
int MPIX_Adapt_data_share(MPIX_Adapt_data data, const char *name, void *address, int64_t count,
                          MPI_Datatype element, int *array);

/* A datatype of so many bytes, for columns of structs and of arrays: the library's, released in
 * MPI_Finalize.  MPI_DATATYPE_NULL: an error. */
MPI_Datatype MPIX_Adapt_bytes(int64_t bytes);

/* MPIX_ADAPT_SHARE(data, step, time, sums): shares up to 16 variables and arrays of fixed size in
 * one line, under their names, as bytes.  Not for pointers: those to common types do not compile; a
 * struct with pointers does, but joining processes get addresses of another process then. */
#define MPIX_ADAPT_SHARE(data, ...) \
    MPIX_ADAPT_NTH(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0) (data, \
        __VA_ARGS__)

/* Begins to move an array, or all that are not started.  Collective over all processes of the
 * window, in the same order of arrays.  MPI_ERR_ARG: registrations or layouts do not fit together;
 * MPI_ERR_NO_MEM: a process has no memory.  Both on all processes; nothing has moved then, and the
 * window is open as before. */
int MPIX_Adapt_data_start(MPIX_Adapt_data data, const epop_window_t *window, int array);
/* Makes progress.  *done: MPIX_Adapt_data_wait of the array would return at once. */
int MPIX_Adapt_data_test(MPIX_Adapt_data data, int array, int *done);
int MPIX_Adapt_data_wait(MPIX_Adapt_data data, int array);
/* MPIX_Adapt_data_start and MPIX_Adapt_data_wait of all arrays.  Boxes, items, rows and functions
 * that are registered with them follow, as in MPIX_Adapt_window.  MPI_ERR_ARG: some are put in
 * place in the new world, which only MPIX_Adapt_window can. */
int MPIX_Adapt_data_move(MPIX_Adapt_data data, const epop_window_t *window);

/* ---- a window in one call -------------------------------------------------------------------- */

/* After the window, when MPI_COMM_WORLD is the new world, on all of its processes: for what follows
 * from rank and size.  Also on a process that has left and returns from the commit
 * (MPIR_CVAR_ADAPT_LEAVERS_RETURN), with new_rank -1.  Returns 0; any other value is the result
 * of the call. */
typedef int MPIX_Adapt_after(int new_rank, int new_size, void *state);

/* Opens the window, moves everything that is registered with `data`, closes it and calls `after`
 * (may be NULL).  The order is: shared variables, arrays, boxes (MPIX_Adapt_data_boxes), items
 * (MPIX_Adapt_data_items), then functions (MPIX_Adapt_data_call), each in the order of
 * registration.  status: that of the probe, or of MPI_Init_adapt on a joining process.  Leaving
 * processes end here.  After an error that is found before anything has moved, the window is open,
 * and nothing else has changed; at a later error, the objects before it in that order have
 * moved. */
int MPIX_Adapt_window(MPIX_Adapt_data data, int status, MPIX_Adapt_after *after, void *state);
/* The line for the start, after the registrations: a joining process gets all of it by its first
 * window.  Calls `after` (may be NULL) in any case, so that rank and size are set up in one place.
 * 1: joining; 0: a new program, which reads its input and sets first values; negative: an error. */
int MPIX_Adapt_enter(MPIX_Adapt_data data, int status, MPIX_Adapt_after *after, void *state);
/* The line for the main loop: a probe and, where it is TRUE, that window.  1: the world has
 * changed; 0: it has not; negative: an error (MPIX_Adapt_data_message has its text). */
int MPIX_Adapt(MPIX_Adapt_data data, MPIX_Adapt_after *after, void *state);

/* MPIX_Adapt_enter and MPIX_Adapt of the default set (MPIX_ADAPT_DEFAULT), with a function that
 * cannot fail: the line for the start, and the line for the main loop.  set_up (may be NULL) is
 * called by both, in the new world. */
typedef void MPIX_Adapt_set_up(int rank, int size);
int MPIX_Adapt_start(int status, MPIX_Adapt_set_up *set_up);
int MPIX_Adapt_step(void);

/* A function of the program that is called in each window of MPIX_Adapt_window on all processes,
 * for what is moved otherwise (MPIX_Adapt_sums, MPIX_Adapt_file, messages).  0, or an error. */
typedef int MPIX_Adapt_call(const epop_window_t *window, void *state);
int MPIX_Adapt_data_call(MPIX_Adapt_data data, const char *name, MPIX_Adapt_call *call,
                         void *state);
/* The same before anything moves: for what a program must undo first (local numbers, copies of
 * neighbours' items, communicators of a library).  On joining processes shared variables do not
 * have their values yet. */
int MPIX_Adapt_data_before(MPIX_Adapt_data data, const char *name, MPIX_Adapt_call *call,
                           void *state);

/* Counts the elements of this process that would stay, be sent, and be received, if the array were
 * moved in this window.  Collective, and with errors, as MPIX_Adapt_data_start; nothing moves. */
int MPIX_Adapt_data_volume(MPIX_Adapt_data data, int array, const epop_window_t *window,
                           int64_t *stay, int64_t *sent, int64_t *received);

/* Returns the number of elements that this process has now. */
int MPIX_Adapt_data_count(MPIX_Adapt_data data, int array, int64_t *count);
/* The program itself has changed the length of this process' part (irregular). */
int MPIX_Adapt_data_set_count(MPIX_Adapt_data data, int array, int64_t count);
/* In the present world: the position of a rank, and the rank of a position.  The same number, but
 * for block_free and grid. */
int MPIX_Adapt_data_position(MPIX_Adapt_data data, int array, int rank, int *position);
int MPIX_Adapt_data_rank(MPIX_Adapt_data data, int array, int position, int *rank);

/* ---- how MPIX_ADAPT_SHARE does it ------------------------------------------------------------ */

#ifdef __cplusplus
}
template < typename variable > struct MPIX_Adapt_shared {
    static const int bytes = sizeof(variable);
};
/* no definition: a pointer is not shared */
template < typename variable > struct MPIX_Adapt_shared < variable * >;
#define MPIX_ADAPT_BYTES(variable) (MPIX_Adapt_shared<decltype(variable)>::bytes)
#else
#define MPIX_ADAPT_BYTES(variable) ((int64_t) (sizeof(variable) * \
                                               sizeof(char[_Generic(&(variable), \
    void **: -1, char **: -1, unsigned char **: -1, int **: -1, unsigned **: -1, long **: -1, \
        unsigned long **: -1, \
    long long **: -1, float **: -1, double **: -1, default: 1)])))
#endif
#define MPIX_ADAPT_NTH(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, \
                       number, ...) \
    MPIX_ADAPT_SHARE_##number
#define MPIX_ADAPT_SHARE_1(data, variable) \
    MPIX_Adapt_data_share(data, #variable, (void *) &(variable), MPIX_ADAPT_BYTES(variable), \
                          MPI_BYTE, NULL)
#define MPIX_ADAPT_SHARE_2(data, variable, ...) \
    (MPIX_ADAPT_SHARE_1(data, variable) ? MPI_ERR_OTHER : MPIX_ADAPT_SHARE_1(data, __VA_ARGS__))
#define MPIX_ADAPT_SHARE_3(data, variable, ...) \
    (MPIX_ADAPT_SHARE_1(data, variable) ? MPI_ERR_OTHER : MPIX_ADAPT_SHARE_2(data, __VA_ARGS__))
#define MPIX_ADAPT_SHARE_4(data, variable, ...) \
    (MPIX_ADAPT_SHARE_1(data, variable) ? MPI_ERR_OTHER : MPIX_ADAPT_SHARE_3(data, __VA_ARGS__))
#define MPIX_ADAPT_SHARE_5(data, variable, ...) \
    (MPIX_ADAPT_SHARE_1(data, variable) ? MPI_ERR_OTHER : MPIX_ADAPT_SHARE_4(data, __VA_ARGS__))
#define MPIX_ADAPT_SHARE_6(data, variable, ...) \
    (MPIX_ADAPT_SHARE_1(data, variable) ? MPI_ERR_OTHER : MPIX_ADAPT_SHARE_5(data, __VA_ARGS__))
#define MPIX_ADAPT_SHARE_7(data, variable, ...) \
    (MPIX_ADAPT_SHARE_1(data, variable) ? MPI_ERR_OTHER : MPIX_ADAPT_SHARE_6(data, __VA_ARGS__))
#define MPIX_ADAPT_SHARE_8(data, variable, ...) \
    (MPIX_ADAPT_SHARE_1(data, variable) ? MPI_ERR_OTHER : MPIX_ADAPT_SHARE_7(data, __VA_ARGS__))
#define MPIX_ADAPT_SHARE_9(data, variable, ...) \
    (MPIX_ADAPT_SHARE_1(data, variable) ? MPI_ERR_OTHER : MPIX_ADAPT_SHARE_8(data, __VA_ARGS__))
#define MPIX_ADAPT_SHARE_10(data, variable, ...) \
    (MPIX_ADAPT_SHARE_1(data, variable) ? MPI_ERR_OTHER : MPIX_ADAPT_SHARE_9(data, __VA_ARGS__))
#define MPIX_ADAPT_SHARE_11(data, variable, ...) \
    (MPIX_ADAPT_SHARE_1(data, variable) ? MPI_ERR_OTHER : MPIX_ADAPT_SHARE_10(data, __VA_ARGS__))
#define MPIX_ADAPT_SHARE_12(data, variable, ...) \
    (MPIX_ADAPT_SHARE_1(data, variable) ? MPI_ERR_OTHER : MPIX_ADAPT_SHARE_11(data, __VA_ARGS__))
#define MPIX_ADAPT_SHARE_13(data, variable, ...) \
    (MPIX_ADAPT_SHARE_1(data, variable) ? MPI_ERR_OTHER : MPIX_ADAPT_SHARE_12(data, __VA_ARGS__))
#define MPIX_ADAPT_SHARE_14(data, variable, ...) \
    (MPIX_ADAPT_SHARE_1(data, variable) ? MPI_ERR_OTHER : MPIX_ADAPT_SHARE_13(data, __VA_ARGS__))
#define MPIX_ADAPT_SHARE_15(data, variable, ...) \
    (MPIX_ADAPT_SHARE_1(data, variable) ? MPI_ERR_OTHER : MPIX_ADAPT_SHARE_14(data, __VA_ARGS__))
#define MPIX_ADAPT_SHARE_16(data, variable, ...) \
    (MPIX_ADAPT_SHARE_1(data, variable) ? MPI_ERR_OTHER : MPIX_ADAPT_SHARE_15(data, __VA_ARGS__))

#endif /* ADAPT_DATA_H_INCLUDED */
