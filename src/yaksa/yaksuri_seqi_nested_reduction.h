/*
 * Reductions on nested datatypes.
 *
 * yaksa generates a pack and an unpack function for each combination of up to three nested
 * constructors.  Here the functions of two or three constructors copy only (YAKSA_OP__REPLACE):
 * this is what messages need, and the other ten operators take seven eighths of the time that yaksa
 * takes to compile.  The functions of one constructor have all operators.  A reduction
 * (MPI_Accumulate and its like with a derived target datatype) therefore descends here to the
 * innermost constructor, and calls that one's function for each block.
 *
 * Included by yaksuri_seq_pup.c alone.  maint/patches/50-yaksa-kernels.patch changes the generator
 * (genpup.py).
 */
#ifndef YAKSURI_SEQI_NESTED_REDUCTION_H_INCLUDED
#define YAKSURI_SEQI_NESTED_REDUCTION_H_INCLUDED

/* The five constructors for which functions are generated; a type with such a function has no
 * other. */
static inline yaksi_type_s *yaksuri_seqi_nested_child(const yaksi_type_s * type)
{
    switch (type->kind) {
        case YAKSI_TYPE_KIND__HVECTOR:
            return type->u.hvector.child;
        case YAKSI_TYPE_KIND__BLKHINDX:
            return type->u.blkhindx.child;
        case YAKSI_TYPE_KIND__HINDEXED:
            return type->u.hindexed.child;
        case YAKSI_TYPE_KIND__CONTIG:
            return type->u.contig.child;
        case YAKSI_TYPE_KIND__RESIZED:
            return type->u.resized.child;
        default:
            return NULL;
    }
}

static inline intptr_t yaksuri_seqi_nested_num_blocks(const yaksi_type_s * type)
{
    switch (type->kind) {
        case YAKSI_TYPE_KIND__HVECTOR:
            return type->u.hvector.count;
        case YAKSI_TYPE_KIND__BLKHINDX:
            return type->u.blkhindx.count;
        case YAKSI_TYPE_KIND__HINDEXED:
            return type->u.hindexed.count;
        default:
            return 1;
    }
}

/* Block `j` of one element: where it begins, in bytes, and how many children it holds. */
static inline void yaksuri_seqi_nested_block(const yaksi_type_s * type, intptr_t j,
                                             intptr_t * offset, intptr_t * length)
{
    switch (type->kind) {
        case YAKSI_TYPE_KIND__HVECTOR:
            *offset = j * type->u.hvector.stride;
            *length = type->u.hvector.blocklength;
            break;
        case YAKSI_TYPE_KIND__BLKHINDX:
            *offset = type->u.blkhindx.array_of_displs[j];
            *length = type->u.blkhindx.blocklength;
            break;
        case YAKSI_TYPE_KIND__HINDEXED:
            *offset = type->u.hindexed.array_of_displs[j];
            *length = type->u.hindexed.array_of_blocklengths[j];
            break;
        case YAKSI_TYPE_KIND__CONTIG:
            *offset = 0;
            *length = type->u.contig.count;
            break;
        default:
            *offset = 0;
            *length = 1;
            break;
    }
}

/* As the generated functions: `count` elements of `type` are combined with as many packed ones.
 * `inbuf` is the typed side of a pack and the packed side of an unpack. */
static inline int yaksuri_seqi_reduce(bool is_pack, const void *inbuf, void *outbuf,
                                      uintptr_t count, yaksi_type_s * type, yaksa_op_t op)
{
    const yaksuri_seqi_type_s *seq_type = (const yaksuri_seqi_type_s *) type->backend.seq.priv;
    yaksi_type_s *child = yaksuri_seqi_nested_child(type);

    if (child == NULL || child->kind == YAKSI_TYPE_KIND__BUILTIN)
        return (is_pack ? seq_type->pack : seq_type->unpack) (inbuf, outbuf, count, type, op);

    const char *sbuf = (const char *) inbuf;
    char *dbuf = (char *) outbuf;
    uintptr_t packed = 0;
    intptr_t num_blocks = yaksuri_seqi_nested_num_blocks(type);
    for (uintptr_t i = 0; i < count; i++) {
        for (intptr_t j = 0; j < num_blocks; j++) {
            intptr_t offset, length;
            yaksuri_seqi_nested_block(type, j, &offset, &length);
            offset += (intptr_t) i * type->extent;
            int rc = yaksuri_seqi_reduce(is_pack, sbuf + (is_pack ? offset : (intptr_t) packed),
                                         dbuf + (is_pack ? (intptr_t) packed : offset),
                                         (uintptr_t) length, child, op);
            if (rc != YAKSA_SUCCESS)
                return rc;
            packed += (uintptr_t) length * child->size;
        }
    }
    return YAKSA_SUCCESS;
}

#endif /* YAKSURI_SEQI_NESTED_REDUCTION_H_INCLUDED */
