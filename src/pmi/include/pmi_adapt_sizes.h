/*
 * Size rules: which numbers of processes a program can use, as text.  One definition for the
 * library (MPIX_Adapt_sizes), mpiexec, elasticd and `elastic` (--sizes).
 *
 *   rule   = term *("," term)          a size is possible if one of the terms holds,
 *   term   = factor *("&" factor)      and a term holds if all of its factors do
 *   factor = N | N-M | N- | any | multiple:N | divisor:N | power_of_two | square | cube
 *
 * pow2 is short for power_of_two.
 * "1,2-16&multiple:2", "divisor:360", "power_of_two".  Numbers are 1 to PMI_ADAPT_SIZE_LARGEST.
 * Users may write blanks at the ends and around , and & (pmi_adapt_sizes_squeeze); messages have
 * none.  At most PMI_ADAPT_SIZES_MAX bytes.
 *
 * Plain C11/C++20 without state or allocation.
 */

#ifndef PMI_ADAPT_SIZES_H_INCLUDED
#define PMI_ADAPT_SIZES_H_INCLUDED

#include <stddef.h>
#include <string.h>

#define PMI_ADAPT_SIZES_MAX 2048
#define PMI_ADAPT_SIZE_LARGEST (1 << 20)

enum pmi_adapt_sizes_kind {
    PMI_ADAPT_SIZES_RANGE,      /* from a to b */
    PMI_ADAPT_SIZES_MULTIPLE,   /* of a */
    PMI_ADAPT_SIZES_DIVISOR,    /* of a */
    PMI_ADAPT_SIZES_POWER_OF_TWO,
    PMI_ADAPT_SIZES_SQUARE,
    PMI_ADAPT_SIZES_CUBE
};

struct pmi_adapt_sizes_factor {
    enum pmi_adapt_sizes_kind kind;
    int a, b;
    int ends_term;
};

/* A rule that has been read. */
struct pmi_adapt_sizes {
    int count;
    struct pmi_adapt_sizes_factor factors[PMI_ADAPT_SIZES_MAX / 2 + 1];
};

static inline int pmi_adapt_sizes_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static inline int pmi_adapt_sizes_is_joint(char c)
{
    return c == ',' || c == '&' || c == '\0';
}

/* Copies the text without the blanks at the ends and around , and &, which are only for
 * readability.  0: it is too long. */
static inline int pmi_adapt_sizes_squeeze(const char *text, char squeezed[PMI_ADAPT_SIZES_MAX + 1])
{
    size_t n = 0;

    for (const char *c = text; *c; c++) {
        const char *next = c;
        while (pmi_adapt_sizes_is_blank(*next))
            next++;
        if (pmi_adapt_sizes_is_blank(*c) &&
            (n == 0 || pmi_adapt_sizes_is_joint(squeezed[n - 1]) ||
             pmi_adapt_sizes_is_joint(*next)))
            continue;
        if (n == PMI_ADAPT_SIZES_MAX)
            return 0;
        squeezed[n++] = *c;
    }
    squeezed[n] = '\0';
    return 1;
}

/* Takes a number from the front. 0: there is no number in the bounds, and nothing was taken. */
static inline int pmi_adapt_sizes_number(const char **text)
{
    const char *p = *text;
    long number = 0;

    while (*p >= '0' && *p <= '9' && number <= PMI_ADAPT_SIZE_LARGEST)
        number = number * 10 + (*p++ - '0');
    if (number < 1 || number > PMI_ADAPT_SIZE_LARGEST)
        return 0;
    *text = p;
    return (int) number;
}

static inline int pmi_adapt_sizes_word(const char **text, const char *word)
{
    size_t length = strlen(word);

    if (strncmp(*text, word, length) != 0)
        return 0;
    *text += length;
    return 1;
}

/* N, N-M, N- */
static inline int pmi_adapt_sizes_range(const char **text, struct pmi_adapt_sizes_factor *factor)
{
    factor->kind = PMI_ADAPT_SIZES_RANGE;
    factor->a = factor->b = pmi_adapt_sizes_number(text);
    if (factor->a && **text == '-') {
        ++*text;
        factor->b = **text >= '0' && **text <= '9' ? pmi_adapt_sizes_number(text) :
            PMI_ADAPT_SIZE_LARGEST;
    }
    return factor->a && factor->a <= factor->b;
}

/* Takes a factor from the front; 0: there is none. */
static inline int pmi_adapt_sizes_take(const char **text, struct pmi_adapt_sizes_factor *factor)
{
    factor->a = 1;
    factor->b = PMI_ADAPT_SIZE_LARGEST;
    factor->kind = PMI_ADAPT_SIZES_RANGE;
    if (**text >= '0' && **text <= '9')
        return pmi_adapt_sizes_range(text, factor);
    if (pmi_adapt_sizes_word(text, "multiple:")) {
        factor->kind = PMI_ADAPT_SIZES_MULTIPLE;
        factor->a = pmi_adapt_sizes_number(text);
    } else if (pmi_adapt_sizes_word(text, "divisor:")) {
        factor->kind = PMI_ADAPT_SIZES_DIVISOR;
        factor->a = pmi_adapt_sizes_number(text);
    } else if (pmi_adapt_sizes_word(text, "power_of_two") || pmi_adapt_sizes_word(text, "pow2")) {
        factor->kind = PMI_ADAPT_SIZES_POWER_OF_TWO;
    } else if (pmi_adapt_sizes_word(text, "square")) {
        factor->kind = PMI_ADAPT_SIZES_SQUARE;
    } else if (pmi_adapt_sizes_word(text, "cube")) {
        factor->kind = PMI_ADAPT_SIZES_CUBE;
    } else if (!pmi_adapt_sizes_word(text, "any")) {
        return 0;
    }
    return factor->a != 0;
}

/* Whether base^exponent is `size` for some base; the exponent is 2 or 3. */
static inline int pmi_adapt_sizes_is_power(int size, int exponent)
{
    long long low = 1, high = exponent == 2 ? 1024 : 101;       /* of PMI_ADAPT_SIZE_LARGEST */

    while (low < high) {
        long long middle = (low + high) / 2;
        long long power = middle * middle * (exponent == 2 ? 1 : middle);
        if (power < size)
            low = middle + 1;
        else
            high = middle;
    }
    return low * low * (exponent == 2 ? 1 : low) == size;
}

static inline int pmi_adapt_sizes_factor_holds(const struct pmi_adapt_sizes_factor *factor,
                                               int size)
{
    switch (factor->kind) {
        case PMI_ADAPT_SIZES_RANGE:
            return factor->a <= size && size <= factor->b;
        case PMI_ADAPT_SIZES_MULTIPLE:
            return size % factor->a == 0;
        case PMI_ADAPT_SIZES_DIVISOR:
            return factor->a % size == 0;
        case PMI_ADAPT_SIZES_POWER_OF_TWO:
            return (size & (size - 1)) == 0;
        case PMI_ADAPT_SIZES_SQUARE:
            return pmi_adapt_sizes_is_power(size, 2);
        case PMI_ADAPT_SIZES_CUBE:
            return pmi_adapt_sizes_is_power(size, 3);
    }
    return 0;
}

/* Whether a rule that has been read allows a size, from 1 to PMI_ADAPT_SIZE_LARGEST. */
static inline int pmi_adapt_sizes_hold(const struct pmi_adapt_sizes *rule, int size)
{
    int term = 1;

    for (int i = 0; i < rule->count; i++) {
        term = term && pmi_adapt_sizes_factor_holds(&rule->factors[i], size);
        if (!rule->factors[i].ends_term)
            continue;
        if (term)
            return 1;
        term = 1;
    }
    return 0;
}

/* The sizes that a term allows, by the factors that limit them most. */
struct pmi_adapt_sizes_term {
    int low, high;
    long long step;             /* they are multiples of it */
    int divisor;                /* 0, or they are divisors of it */
    int exponent;               /* 0, or they are powers with it; 1: powers of two */
};

static inline long long pmi_adapt_sizes_common(long long a, long long b)
{
    while (b != 0) {
        long long rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The term whose first factor has this number. */
static inline struct pmi_adapt_sizes_term pmi_adapt_sizes_term_at(const struct pmi_adapt_sizes
                                                                  *rule, int first)
{
    struct pmi_adapt_sizes_term term = { 1, PMI_ADAPT_SIZE_LARGEST, 1, 0, 0 };

    for (int i = first; i < rule->count; i++) {
        const struct pmi_adapt_sizes_factor *factor = &rule->factors[i];
        if (factor->kind == PMI_ADAPT_SIZES_RANGE) {
            term.low = factor->a > term.low ? factor->a : term.low;
            term.high = factor->b < term.high ? factor->b : term.high;
        } else if (factor->kind == PMI_ADAPT_SIZES_MULTIPLE) {
            if (term.step <= PMI_ADAPT_SIZE_LARGEST)
                term.step *= factor->a / pmi_adapt_sizes_common(term.step, factor->a);
        } else if (factor->kind == PMI_ADAPT_SIZES_DIVISOR) {
            term.divisor = factor->a;
        } else {
            term.exponent = factor->kind == PMI_ADAPT_SIZES_POWER_OF_TWO ? 1 :
                factor->kind == PMI_ADAPT_SIZES_SQUARE ? 2 : 3;
        }
        if (factor->ends_term)
            break;
    }
    return term;
}

/* Whether all factors of the term hold for the size, and it is at least `from`. */
static inline int pmi_adapt_sizes_term_holds(const struct pmi_adapt_sizes *rule, int first,
                                             long long size, int from)
{
    if (size < from || size > PMI_ADAPT_SIZE_LARGEST)
        return 0;
    for (int i = first; i < rule->count; i++) {
        if (!pmi_adapt_sizes_factor_holds(&rule->factors[i], (int) size))
            return 0;
        if (rule->factors[i].ends_term)
            break;
    }
    return 1;
}

/* The least size from `from` on, which is positive, that the term allows; 0: there is none.  It
 * takes at most about 2,000 steps, whatever the rule is. */
static inline int pmi_adapt_sizes_next_of_term(const struct pmi_adapt_sizes *rule, int first,
                                               int from)
{
    struct pmi_adapt_sizes_term term = pmi_adapt_sizes_term_at(rule, first);
    long long size, base;

    from = from > term.low ? from : term.low;
    if (from > term.high)
        return 0;
    if (term.exponent == 1) {
        for (size = 1; size <= term.high; size *= 2)
            if (pmi_adapt_sizes_term_holds(rule, first, size, from))
                return (int) size;
    } else if (term.exponent > 1) {
        for (base = 1; base * base <= PMI_ADAPT_SIZE_LARGEST; base++) {
            size = base * base * (term.exponent == 2 ? 1 : base);
            if (pmi_adapt_sizes_term_holds(rule, first, size, from))
                return (int) size;
        }
    } else if (term.divisor) {
        for (base = 1; base * base <= term.divisor; base++)
            if (pmi_adapt_sizes_term_holds(rule, first, base, from))
                return (int) base;
        for (base--; base > 0; base--)
            if (term.divisor % base == 0 &&
                pmi_adapt_sizes_term_holds(rule, first, term.divisor / base, from))
                return (int) (term.divisor / base);
    } else {
        size = (from + term.step - 1) / term.step * term.step;
        return size <= term.high ? (int) size : 0;
    }
    return 0;
}

/* The number of the first factor of the next term; the number of factors: there is none. */
static inline int pmi_adapt_sizes_next_term(const struct pmi_adapt_sizes *rule, int first)
{
    while (!rule->factors[first].ends_term)
        first++;
    return first + 1;
}

/* 0, or -1 with the error in the text and its position in bytes. */
static inline int pmi_adapt_sizes_read(struct pmi_adapt_sizes *rule, const char *from,
                                       const char **wrong, size_t *at)
{
    const char *text = from;

    *at = 0;
    rule->count = 0;
    *wrong = "it is too long";
    if (strlen(text) > PMI_ADAPT_SIZES_MAX)
        return -1;
    for (;;) {
        struct pmi_adapt_sizes_factor *factor = &rule->factors[rule->count++];
        *at = (size_t) (text - from);
        *wrong =
            "give numbers, ranges such as 2-8, or any, multiple:N, divisor:N, power_of_two, "
            "square, cube";
        if (!pmi_adapt_sizes_take(&text, factor))
            return -1;
        factor->ends_term = *text != '&';
        if (*text == '\0')
            break;
        *at = (size_t) (text - from);
        *wrong = "separate two parts of a rule by , (or) or & (and)";
        if (*text != ',' && *text != '&')
            return -1;
        text++;
    }
    for (int first = 0; first < rule->count; first = pmi_adapt_sizes_next_term(rule, first))
        if (pmi_adapt_sizes_next_of_term(rule, first, 1))
            return 0;
    *at = 0;
    *wrong = "it allows no size at all";
    return -1;
}

#endif /* PMI_ADAPT_SIZES_H_INCLUDED */
