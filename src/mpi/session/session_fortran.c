/* See mpir_pset_fortran.h.  The arguments are checked in C; here are only the checks for the
 * copy. */

#include "session.h"
#include "mpir_pset_fortran.h"

static int length_of(const char *padded, int length)
{
    while (length > 0 && padded[length - 1] == ' ')
        length--;
    return length;
}

char **MPIR_Fortran_copy_texts(const char *padded, int n, int length)
{
    size_t count = MPL_MAX(n, 0), bytes = count * (sizeof(char *) + length + 1) + sizeof(char *);
    char **copy = MPL_malloc(bytes, MPL_MEM_OTHER);

    if (!copy)
        return NULL;
    char *text = (char *) (copy + count + 1);
    for (size_t i = 0; i < count; i++, text += length + 1) {
        int used = length_of(padded + i * length, length);
        memcpy(text, padded + i * length, used);
        text[used] = '\0';
        copy[i] = text;
    }
    copy[count] = NULL;
    return copy;
}

int MPIR_Fortran_count_texts(const char *padded, int length)
{
    int n = 0;

    while (length_of(padded + (size_t) n * length, length) > 0)
        n++;
    return n;
}

static void pad(char *padded, int length, const char *text)
{
    size_t used = MPL_MIN(strlen(text), (size_t) length);

    memcpy(padded, text, used);
    memset(padded + used, ' ', length - used);
}

/* The first n of the names, for which Fortran has space. */
static void give_names(char *output, int output_len, char (*names)[MPI_MAX_PSET_NAME_LEN], int n)
{
    for (int i = 0; i < n; i++)
        pad(output + (size_t) i * output_len, output_len, names[i]);
}

int MPIR_Session_pset_op_fortran(MPI_Session session, int op, const char *input, int ninput,
                                 MPI_Info info, char *output, int *noutput, int input_len,
                                 int output_len)
{
    int capacity = MPL_MAX(MPL_MIN(*noutput, PMI_SET_OPERANDS_MAX), 0);
    char **names = MPIR_Fortran_copy_texts(input, ninput, input_len);
    char (*made)[MPI_MAX_PSET_NAME_LEN] = MPL_calloc(capacity + 1, sizeof(*made), MPL_MEM_OTHER);
    int error = MPI_ERR_NO_MEM, n = capacity;

    if (names && made) {
        error =
            PMPIX_Session_pset_op(session, op, (const char *const *) names, ninput, info, made, &n);
        give_names(output, output_len, made, MPL_MIN(capacity, error ? 1 : n));
        if (!error)
            *noutput = n;
    }
    MPL_free(names);
    MPL_free(made);
    return error;
}

int MPIR_Session_get_pset_op_fortran(MPI_Session session, const char *coll_pset,
                                     const char *pset_name, int *op, char *output, int *noutput,
                                     int output_len)
{
    int n = MPL_MAX(MPL_MIN(*noutput, PMI_SET_OPERANDS_MAX), 0), capacity = n;
    char (*open)[MPI_MAX_PSET_NAME_LEN] = MPL_calloc(capacity + 1, sizeof(*open), MPL_MEM_OTHER);
    int error = MPI_ERR_NO_MEM;

    if (open)
        error = PMPIX_Session_get_pset_op(session, coll_pset, pset_name, op, open, &n);
    if (!error) {
        give_names(output, output_len, open, MPL_MIN(capacity, n));
        *noutput = n;
    }
    MPL_free(open);
    return error;
}

int MPIR_Session_get_pset_data_fortran(MPI_Session session, const char *coll_pset,
                                       const char *pset_name, const char *keys, int nkeys, int wait,
                                       MPI_Info * data, int keys_len)
{
    char **names = MPIR_Fortran_copy_texts(keys, nkeys, keys_len);
    int error = MPI_ERR_NO_MEM;

    if (names)
        error =
            PMPIX_Session_get_pset_data(session, coll_pset, pset_name, (const char *const *) names,
                                        nkeys, wait, data);
    MPL_free(names);
    return error;
}

int MPIR_Session_iget_pset_data_fortran(MPI_Session session, const char *coll_pset,
                                        const char *pset_name, const char *keys, int nkeys,
                                        int wait, MPI_Info * data, MPI_Request * request,
                                        int keys_len)
{
    char **names = MPIR_Fortran_copy_texts(keys, nkeys, keys_len);
    int error = MPI_ERR_NO_MEM;

    if (names)
        error =
            PMPIX_Session_iget_pset_data(session, coll_pset, pset_name, (const char *const *) names,
                                         nkeys, wait, data, request);
    MPL_free(names);
    return error;
}

int MPIR_Session_bcast_pset_info_fortran(MPI_Session session, const char *pset_name, char *text,
                                         int length, int primary, int text_len)
{
    int capacity = MPL_MIN(length, text_len), used =
        primary ? length_of(text, MPL_MAX(capacity, 0)) : 0;
    char few[256], *copy =
        capacity < (int) sizeof(few) ? few : MPL_malloc((size_t) capacity + 1, MPL_MEM_OTHER);
    int error = MPI_ERR_NO_MEM;

    if (copy) {
        memcpy(copy, text, used);
        copy[used] = '\0';
        error = PMPIX_Session_bcast_pset_info(session, pset_name, copy, capacity + 1, primary);
        pad(text, text_len, copy);
    }
    if (copy != few)
        MPL_free(copy);
    return error;
}

int MPIR_Session_rc_test_fortran(MPI_Session session, const char *pset_name, int *flag,
                                 int pset_name_len)
{
    char **name = MPIR_Fortran_copy_texts(pset_name, 1, pset_name_len);
    int error = MPI_ERR_NO_MEM;

    if (name)
        error = PMPIX_Session_rc_test(session, name[0][0] ? name[0] : NULL, flag);
    MPL_free(name);
    return error;
}

int MPIR_Session_rc_get_fortran(MPI_Session session, const char *pset_name, int *rc_type,
                                char *delta_pset, int *tag, MPI_Info * info, int pset_name_len)
{
    char **name = MPIR_Fortran_copy_texts(pset_name, 1, pset_name_len);
    int error = MPI_ERR_NO_MEM;

    if (name)
        error =
            PMPIX_Session_rc_get(session, name[0][0] ? name[0] : NULL, rc_type, delta_pset, tag,
                                 info);
    MPL_free(name);
    return error;
}
