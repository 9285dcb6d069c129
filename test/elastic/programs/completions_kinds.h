/*
 * The kinds of requests of completions.c: a function makes a request of its kind; the table `kinds`
 * lists them.
 */

#ifndef COMPLETIONS_KINDS_H_INCLUDED
#define COMPLETIONS_KINDS_H_INCLUDED

#include "elastic_test.h"

#define COUNT 3                 /* elements of a message */
#define MARK 4711               /* MPI_ERROR of a status that a call must not write */

enum status_kind { EMPTY, RECEIVED, PROC_NULL, CANCELLED, SENT, BYTES, ANY };

struct made {
    MPI_Request request;
    MPI_Request other;          /* completes the message; waited for later */
    int data[COUNT], sent[COUNT];
};

struct kind {
    const char *name;
    void (*make) (struct made * m);
    enum status_kind status;
    int active;
    int stays;                  /* the handle is left after completion */
};

static int partner;
static MPI_File file;
static MPI_Win win;
static void *bsend_buffer;

/* ---- kinds ---------------------------------------------------------------- */

static void make_null(struct made *m)
{
    m->request = MPI_REQUEST_NULL;
}

static void make_recv(struct made *m)
{
    ET_MPI(MPI_Irecv(m->data, COUNT + 2, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->request));
    ET_MPI(MPI_Isend(m->sent, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->other));
}

static void make_send(struct made *m)
{
    ET_MPI(MPI_Isend(m->sent, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->request));
    ET_MPI(MPI_Irecv(m->data, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->other));
}

static void make_ssend(struct made *m)
{
    ET_MPI(MPI_Issend(m->sent, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->request));
    ET_MPI(MPI_Irecv(m->data, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->other));
}

static void make_ibsend(struct made *m)
{
    ET_MPI(MPI_Ibsend(m->sent, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->request));
    ET_MPI(MPI_Irecv(m->data, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->other));
}

static void make_imrecv(struct made *m)
{
    MPI_Message message;

    ET_MPI(MPI_Isend(m->sent, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->other));
    ET_MPI(MPI_Mprobe(partner, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Imrecv(m->data, COUNT, MPI_INT, &message, &m->request));
    ET_CHECK(message == MPI_MESSAGE_NULL, "the message is left");
}

static void make_sendrecv(struct made *m)
{
    ET_MPI(MPI_Isendrecv(m->sent, COUNT, MPI_INT, partner, 5, m->data, COUNT + 2, MPI_INT, partner,
                         5, MPI_COMM_WORLD, &m->request));
}

static void make_sendrecv_replace(struct made *m)
{
    ET_MPI(MPI_Isendrecv_replace(m->data, COUNT, MPI_INT, partner, 5, partner, 5, MPI_COMM_WORLD,
                                 &m->request));
}

static void make_started_recv(struct made *m)
{
    ET_MPI(MPI_Recv_init(m->data, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->request));
    ET_MPI(MPI_Start(&m->request));
    ET_MPI(MPI_Isend(m->sent, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->other));
}

static void make_started_send(struct made *m)
{
    ET_MPI(MPI_Send_init(m->sent, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->request));
    ET_MPI(MPI_Start(&m->request));
    ET_MPI(MPI_Irecv(m->data, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->other));
}

static void make_started_bsend(struct made *m)
{
    ET_MPI(MPI_Bsend_init(m->sent, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->request));
    ET_MPI(MPI_Start(&m->request));
    ET_MPI(MPI_Irecv(m->data, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->other));
}

/* Inactive: never started, or completed already, with a status that is not empty. */
static void make_idle_recv(struct made *m)
{
    ET_MPI(MPI_Recv_init(m->data, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->request));
}

static void make_used_recv(struct made *m)
{
    make_started_recv(m);
    ET_MPI(MPI_Wait(&m->request, MPI_STATUS_IGNORE));
}

static void make_idle_send(struct made *m)
{
    ET_MPI(MPI_Send_init(m->sent, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->request));
}

static void make_idle_ssend(struct made *m)
{
    ET_MPI(MPI_Ssend_init(m->sent, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->request));
}

static void make_idle_bsend(struct made *m)
{
    ET_MPI(MPI_Bsend_init(m->sent, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->request));
}

static void make_null_recv(struct made *m)
{
    ET_MPI(MPI_Irecv(m->data, COUNT, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &m->request));
}

static void make_null_send(struct made *m)
{
    ET_MPI(MPI_Isend(m->data, COUNT, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &m->request));
}

static void make_null_imrecv(struct made *m)
{
    MPI_Message message;

    ET_MPI(MPI_Mprobe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE));
    ET_CHECK(message == MPI_MESSAGE_NO_PROC, "another message");
    ET_MPI(MPI_Imrecv(m->data, COUNT, MPI_INT, &message, &m->request));
}

static void make_null_started_recv(struct made *m)
{
    ET_MPI(MPI_Recv_init(m->data, COUNT, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &m->request));
    ET_MPI(MPI_Start(&m->request));
}

static void make_null_started_send(struct made *m)
{
    ET_MPI(MPI_Send_init(m->data, COUNT, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &m->request));
    ET_MPI(MPI_Startall(1, &m->request));
}

static void make_null_started_bsend(struct made *m)
{
    ET_MPI(MPI_Bsend_init(m->data, COUNT, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &m->request));
    ET_MPI(MPI_Start(&m->request));
}

static void make_null_both(struct made *m)
{
    ET_MPI(MPI_Isendrecv(m->sent, COUNT, MPI_INT, MPI_PROC_NULL, 5, m->data, COUNT, MPI_INT,
                         MPI_PROC_NULL, 5, MPI_COMM_WORLD, &m->request));
}

static void make_null_source(struct made *m)
{
    ET_MPI(MPI_Isendrecv(m->sent, COUNT, MPI_INT, partner, 5, m->data, COUNT, MPI_INT,
                         MPI_PROC_NULL, 5, MPI_COMM_WORLD, &m->request));
    ET_MPI(MPI_Irecv(m->data, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->other));
}

static void make_null_dest(struct made *m)
{
    ET_MPI(MPI_Isendrecv(m->sent, COUNT, MPI_INT, MPI_PROC_NULL, 5, m->data, COUNT, MPI_INT,
                         partner, 5, MPI_COMM_WORLD, &m->request));
    ET_MPI(MPI_Isend(m->sent, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->other));
}

static void make_null_both_replace(struct made *m)
{
    ET_MPI(MPI_Isendrecv_replace(m->data, COUNT, MPI_INT, MPI_PROC_NULL, 5, MPI_PROC_NULL, 5,
                                 MPI_COMM_WORLD, &m->request));
}

static void make_null_source_replace(struct made *m)
{
    ET_MPI(MPI_Isendrecv_replace(m->sent, COUNT, MPI_INT, partner, 5, MPI_PROC_NULL, 5,
                                 MPI_COMM_WORLD, &m->request));
    ET_MPI(MPI_Irecv(m->data, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->other));
}

static void make_null_dest_replace(struct made *m)
{
    ET_MPI(MPI_Isendrecv_replace(m->data, COUNT, MPI_INT, MPI_PROC_NULL, 5, partner, 5,
                                 MPI_COMM_WORLD, &m->request));
    ET_MPI(MPI_Isend(m->sent, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, &m->other));
}

static void make_cancelled(struct made *m)
{
    ET_MPI(MPI_Irecv(m->data, COUNT, MPI_INT, partner, 77, MPI_COMM_WORLD, &m->request));
    ET_MPI(MPI_Cancel(&m->request));
}

static void make_cancelled_any(struct made *m)
{
    ET_MPI(MPI_Irecv(m->data, COUNT, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &m->request));
    ET_MPI(MPI_Cancel(&m->request));
}

static void make_started_cancelled(struct made *m)
{
    ET_MPI(MPI_Recv_init(m->data, COUNT, MPI_INT, partner, 77, MPI_COMM_WORLD, &m->request));
    ET_MPI(MPI_Start(&m->request));
    ET_MPI(MPI_Cancel(&m->request));
}

static void make_barrier(struct made *m)
{
    ET_MPI(MPI_Ibarrier(MPI_COMM_WORLD, &m->request));
}

static void make_put(struct made *m)
{
    ET_MPI(MPI_Rput(m->sent, COUNT, MPI_INT, partner, 0, COUNT, MPI_INT, win, &m->request));
}

static void make_null_put(struct made *m)
{
    ET_MPI(MPI_Rput(m->sent, COUNT, MPI_INT, MPI_PROC_NULL, 0, COUNT, MPI_INT, win, &m->request));
}

/* of a file of COUNT integers: more are read */
static void make_iread(struct made *m)
{
    ET_MPI(MPI_File_iread_at(file, 0, m->data, COUNT, MPI_INT, &m->request));
}

static int greq_query(void *state, MPI_Status * status)
{
    (void) state;
    status->MPI_SOURCE = partner;
    status->MPI_TAG = 5;
    MPI_Status_set_elements(status, MPI_INT, COUNT);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int greq_free(void *state)
{
    (void) state;
    return MPI_SUCCESS;
}

static int greq_cancel(void *state, int complete)
{
    (void) state;
    (void) complete;
    return MPI_SUCCESS;
}

static void make_generalized(struct made *m)
{
    ET_MPI(MPI_Grequest_start(greq_query, greq_free, greq_cancel, NULL, &m->request));
    ET_MPI(MPI_Grequest_complete(m->request));
}

static void make_idle_precv(struct made *m)
{
    ET_MPI(MPI_Precv_init(m->data, 1, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &m->request));
    ET_MPI(MPI_Psend_init(m->sent, 1, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &m->other));
}

static void make_idle_psend(struct made *m)
{
    ET_MPI(MPI_Precv_init(m->data, 1, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &m->other));
    ET_MPI(MPI_Psend_init(m->sent, 1, COUNT, MPI_INT, partner, 5, MPI_COMM_WORLD, MPI_INFO_NULL,
                          &m->request));
}

static void make_started_precv(struct made *m)
{
    make_idle_precv(m);
    ET_MPI(MPI_Start(&m->request));
    ET_MPI(MPI_Start(&m->other));
    ET_MPI(MPI_Pready(0, m->other));
}

static void make_started_psend(struct made *m)
{
    make_idle_psend(m);
    ET_MPI(MPI_Start(&m->other));
    ET_MPI(MPI_Start(&m->request));
    ET_MPI(MPI_Pready(0, m->request));
}

static void make_used_precv(struct made *m)
{
    make_started_precv(m);
    ET_MPI(MPI_Wait(&m->request, MPI_STATUS_IGNORE));
}

static void make_used_psend(struct made *m)
{
    make_started_psend(m);
    ET_MPI(MPI_Wait(&m->request, MPI_STATUS_IGNORE));
}

static const struct kind kinds[] = {
    {"null", make_null, EMPTY, 0, 0},
    {"idle recv_init", make_idle_recv, EMPTY, 0, 1},
    {"used recv_init", make_used_recv, EMPTY, 0, 1},
    {"idle send_init", make_idle_send, EMPTY, 0, 1},
    {"idle ssend_init", make_idle_ssend, EMPTY, 0, 1},
    {"idle bsend_init", make_idle_bsend, EMPTY, 0, 1},
    {"idle precv_init", make_idle_precv, EMPTY, 0, 1},
    {"idle psend_init", make_idle_psend, EMPTY, 0, 1},
    {"used precv_init", make_used_precv, EMPTY, 0, 1},
    {"used psend_init", make_used_psend, EMPTY, 0, 1},
    {"recv", make_recv, RECEIVED, 1, 0},
    {"send", make_send, SENT, 1, 0},
    {"ssend", make_ssend, SENT, 1, 0},
    {"bsend", make_ibsend, SENT, 1, 0},
    {"imrecv", make_imrecv, RECEIVED, 1, 0},
    {"sendrecv", make_sendrecv, RECEIVED, 1, 0},
    {"sendrecv_replace", make_sendrecv_replace, RECEIVED, 1, 0},
    {"started recv_init", make_started_recv, RECEIVED, 1, 1},
    {"started send_init", make_started_send, SENT, 1, 1},
    {"started bsend_init", make_started_bsend, SENT, 1, 1},
    {"started precv_init", make_started_precv, RECEIVED, 1, 1},
    {"started psend_init", make_started_psend, SENT, 1, 1},
    {"recv of proc_null", make_null_recv, PROC_NULL, 1, 0},
    {"send to proc_null", make_null_send, SENT, 1, 0},
    {"imrecv of proc_null", make_null_imrecv, PROC_NULL, 1, 0},
    {"started recv_init of proc_null", make_null_started_recv, PROC_NULL, 1, 1},
    {"started send_init to proc_null", make_null_started_send, SENT, 1, 1},
    {"started bsend_init to proc_null", make_null_started_bsend, SENT, 1, 1},
    {"sendrecv, both proc_null", make_null_both, PROC_NULL, 1, 0},
    {"sendrecv, source proc_null", make_null_source, PROC_NULL, 1, 0},
    {"sendrecv, dest proc_null", make_null_dest, RECEIVED, 1, 0},
    {"sendrecv_replace, both proc_null", make_null_both_replace, PROC_NULL, 1, 0},
    {"sendrecv_replace, source proc_null", make_null_source_replace, PROC_NULL, 1, 0},
    {"sendrecv_replace, dest proc_null", make_null_dest_replace, RECEIVED, 1, 0},
    {"cancelled recv", make_cancelled, CANCELLED, 1, 0},
    {"cancelled recv of any source", make_cancelled_any, CANCELLED, 1, 0},
    {"cancelled recv_init", make_started_cancelled, CANCELLED, 1, 1},
    {"ibarrier", make_barrier, ANY, 1, 0},
    {"rput", make_put, ANY, 1, 0},
    {"rput to proc_null", make_null_put, ANY, 1, 0},
    {"file_iread", make_iread, BYTES, 1, 0},
    {"grequest", make_generalized, RECEIVED, 1, 0},
};

#define KINDS ((int) (sizeof(kinds) / sizeof(kinds[0])))

#endif /* COMPLETIONS_KINDS_H_INCLUDED */
