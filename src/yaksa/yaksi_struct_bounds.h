/*
 * Bounds of types without data, and of structs that have such members: of an empty type, or of one
 * that has bounds only, as a resized empty type.  yaksa took the displacement of such a member for
 * data, and a type that is made of nothing else for one without bounds.
 */

#ifndef YAKSI_STRUCT_BOUNDS_H_INCLUDED
#define YAKSI_STRUCT_BOUNDS_H_INCLUDED

static inline bool yaksi_has_no_bounds(const yaksi_type_s * type)
{
    return type->size == 0 && type->lb == 0 && type->ub == 0;
}

/* Whether so many copies are bounds without data. */
static inline bool yaksi_is_bounds(const yaksi_type_s * type, intptr_t copies)
{
    return copies > 0 && type->size == 0 && !yaksi_has_no_bounds(type);
}

/* A new type without data becomes a resized empty one: it has no true bounds, and nothing is ever
 * packed by it. */
static inline int yaksi_type_keep_bounds(yaksi_type_s ** type)
{
    yaksi_type_s *nothing, *bounds;
    int rc = YAKSA_SUCCESS;

    if (!yaksi_is_bounds(*type, 1) || (*type)->kind == YAKSI_TYPE_KIND__RESIZED)
        goto fn_exit;
    rc = yaksi_type_get(YAKSA_TYPE__NULL, &nothing);
    YAKSU_ERR_CHECK(rc, fn_fail);
    rc = yaksi_type_create_resized(nothing, (*type)->lb, (*type)->extent, &bounds);
    YAKSU_ERR_CHECK(rc, fn_fail);
    rc = yaksi_type_free(*type);
    *type = bounds;

  fn_exit:
    return rc;
  fn_fail:
    goto fn_exit;
}

/* The handle of a new type that is made of others.  A builtin one gets its handle before its fields
 * are set. */
static inline int yaksi_derived_handle_alloc(yaksi_type_s * type, yaksa_type_t * handle)
{
    const int rc = yaksi_type_keep_bounds(&type);

    return rc == YAKSA_SUCCESS ? yaksi_type_handle_alloc(type, handle) : rc;
}

/* From the first byte of data to the end of the last. */
static inline void yaksi_struct_true_bounds(yaksi_type_s * type, intptr_t count,
                                            const intptr_t * blocklengths, const intptr_t * displs,
                                            yaksi_type_s ** intypes)
{
    bool is_set = false;

    for (intptr_t i = 0; i < count; i++) {
        if (intypes[i]->size == 0 || blocklengths[i] == 0)
            continue;
        const intptr_t last = intypes[i]->extent * (blocklengths[i] - 1);
        const intptr_t true_lb = displs[i] + intypes[i]->true_lb + YAKSU_MIN(last, 0);
        const intptr_t true_ub = displs[i] + intypes[i]->true_ub + YAKSU_MAX(last, 0);
        type->true_lb = is_set ? YAKSU_MIN(type->true_lb, true_lb) : true_lb;
        type->true_ub = is_set ? YAKSU_MAX(type->true_ub, true_ub) : true_ub;
        is_set = true;
    }
}

#endif /* YAKSI_STRUCT_BOUNDS_H_INCLUDED */
