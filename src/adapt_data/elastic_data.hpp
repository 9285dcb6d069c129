/*
 * Layouts and distributed arrays of elastic.hpp, which includes this file.
 */

#ifndef ELASTIC_DATA_HPP_INCLUDED
#define ELASTIC_DATA_HPP_INCLUDED

#include "elastic_window.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

/* ---- layouts --------------------------------------------------------------------------------- */

struct interval {
    std::int64_t first, end;    /* [first, end) */
    std::int64_t count() const { return end - first; }
};

/* The owners of elements.  Positions are ranks, but for block_free and grid (data::position). */
class layout {
  public:
    /* The lengths of the new parts from those of the old ones. */
    using split =
        std::function<std::vector<std::int64_t>(const std::vector<std::int64_t> &old_lengths,
                                                int new_size)>;
    /* The elements of a rank, in increasing order. */
    using pieces = std::function<std::vector<interval>(int rank, int size)>;

    explicit layout(const MPIX_Adapt_layout &it) : it_(it) {}
    explicit layout(split function) : split_(std::make_shared<split>(std::move(function)))
    {
        it_ = MPIX_Layout_irregular(0, call_split, split_.get());
    }
    explicit layout(pieces function) : pieces_(std::make_shared<pieces>(std::move(function)))
    {
        it_ = MPIX_Layout_user(call_pieces, pieces_.get());
    }

    std::int64_t elements() const { return it_.n; }
    /* Of block, block_cyclic and grid; error otherwise, or if out of range. */
    int owner(std::int64_t i, int size) const
    {
        return int(known(MPIX_Layout_owner(&it_, size, i)));
    }
    std::int64_t local(std::int64_t i, int size) const
    {
        return known(MPIX_Layout_local(&it_, size, i));
    }
    /* How many elements a position has, and the first of them (elements(): none). */
    std::int64_t count(int position, int size) const
    {
        std::int64_t first = 0;
        return known(MPIX_Layout_range(&it_, position, size, &first));
    }
    /* Where parts are consecutive. */
    interval range(int position, int size) const
    {
        std::int64_t first = 0, count = known(MPIX_Layout_range(&it_, position, size, &first));
        return {first, first + count};
    }
    const MPIX_Adapt_layout &get() const { return it_; }
    bool is_irregular() const { return split_ != nullptr; }

  private:
    MPIX_Adapt_layout it_ = {};
    std::shared_ptr<split> split_;      /* shared by copies: their address is the layout's state */
    std::shared_ptr<pieces> pieces_;

    static std::int64_t known(std::int64_t answer)
    {
        if (answer < 0)
            throw error(MPI_ERR_ARG, "elastic::layout: out of range, or not known of this layout");
        return answer;
    }
    static int call_split(int old_size, const std::int64_t *old_lengths, int new_size,
                          std::int64_t *new_lengths, void *state) noexcept
    {
        try {
            std::vector<std::int64_t> lengths =
                (*static_cast<split *>(state))({old_lengths, old_lengths + old_size}, new_size);
            if (lengths.size() != static_cast<std::size_t>(new_size))
                return 1;
            std::copy(lengths.begin(), lengths.end(), new_lengths);
        } catch (...) {         /* an error */
            return 1;
        }
        return 0;
    }
    static std::int64_t call_pieces(int rank, int size, std::int64_t max, std::int64_t *low,
                                    std::int64_t *high, void *state) noexcept
    {
        try {
            std::vector<interval> found = (*static_cast<pieces *>(state))(rank, size);
            for (std::size_t k = 0; k < found.size() && k < static_cast<std::size_t>(max); k++) {
                low[k] = found[k].first;
                high[k] = found[k].end;
            }
            return static_cast<std::int64_t>(found.size());
        } catch (...) {
            return -1;
        }
    }
};

inline layout block(std::int64_t n) { return layout(MPIX_Layout_block(n)); }
inline layout block_free(std::int64_t n) { return layout(MPIX_Layout_block_free(n)); }
inline layout block_cyclic(std::int64_t n, std::int64_t block)
{
    return layout(MPIX_Layout_block_cyclic(n, block));
}
inline layout grid(std::int64_t rows, std::int64_t columns)
{
    return layout(MPIX_Layout_grid(rows, columns));
}
inline layout same(std::int64_t n) { return layout(MPIX_Layout_same(n)); }
/* This process' part is as long as its vector. */
inline layout irregular(layout::split function) { return layout(std::move(function)); }
inline layout user(layout::pieces function) { return layout(std::move(function)); }

/* ---- data ------------------------------------------------------------------------------------ */

/* The width of an element, and the ghosts around a part. */
struct shape {
    /* an element of the layout is so many of the vector's (a row of a matrix) */
    int width = 1;
    int ghost = 0;      /* elements before and after the part; new ones are value-initialised */
};

struct neighbours {
    int previous, next; /* ranks; MPI_PROC_NULL: none */
};

/* The program's distributed state: vectors, and values that all processes have. */
class data {
  public:
    data() { detail::check_data(MPIX_Adapt_data_create(&it_)); }
    ~data()
    {
        if (it_)
            MPIX_Adapt_data_free(&it_);
    }
    data(const data &) = delete;
    data &operator=(const data &) = delete;

    /* The vector is resized when it moves; on a joining process it is empty before.  Returns the
     * number by which the other functions know it.  The vector stays where it is as long as this
     * lives. */
    template <class T>
    int add(const std::string &name, std::vector<T> &values, const elastic::layout &layout,
            const elastic::shape &shape = {})
    {
        auto made = std::make_unique<vector_entry<T>>(values, layout, shape);
        detail::owned_type<T> type(shape.width);
        return append(std::move(made), name, type.get());
    }

    /* The same value on all old processes; joining ones get it. */
    template <class T> int add(const std::string &name, T &value)
    {
        detail::owned_type<T> type;
        return append(std::make_unique<value_entry<T>>(value), name, type.get());
    }

    void move(const epop_window_t &window)
    {
        detail::returned_errors guard("elastic::data::move");
        start(window);
        wait();
    }
    void start(const epop_window_t &window, int array = MPIX_ALL_ARRAYS)
    {
        detail::returned_errors guard("elastic::data::start");
        for (int k = 0; k < count(); k++)
            if (is_meant(array, k) && !entries_[std::size_t(k)]->is_started)
                prepare(window, k);
        detail::check_data(MPIX_Adapt_data_start(it_, &window, array));
        for (int k = 0; k < count(); k++)
            if (is_meant(array, k))
                entries_[std::size_t(k)]->is_started = true;
    }
    /* Makes progress; true: it can be waited for without waiting. */
    bool test(int array)
    {
        detail::returned_errors guard("elastic::data::test");
        int done = 0;
        detail::check_data(MPIX_Adapt_data_test(it_, array, &done));
        return done != 0;
    }
    void wait(int array = MPIX_ALL_ARRAYS)
    {
        detail::returned_errors guard("elastic::data::wait");
        detail::check_data(MPIX_Adapt_data_wait(it_, array));
        for (int k = 0; k < count(); k++) {
            entry &completed = *entries_[std::size_t(k)];
            if (!is_meant(array, k) || !completed.is_started)
                continue;
            completed.complete();
            completed.is_started = false;
        }
    }

    struct volumes {
        std::int64_t stay, sent, received;      /* elements */
    };
    /* The volume of a move in this window; collective. */
    volumes volume(const epop_window_t &window, int array)
    {
        detail::returned_errors guard("elastic::data::volume");
        volumes found = {};
        if (array >= 0 && array < count())
            prepare(window, array);
        detail::check_data(MPIX_Adapt_data_volume(it_, array, &window, &found.stay, &found.sent,
                                                  &found.received));
        return found;
    }

    /* In the present world. */
    int position(int array, int rank) const { return query(MPIX_Adapt_data_position, array, rank); }
    int rank(int array, int position) const { return query(MPIX_Adapt_data_rank, array, position); }
    /* The owners of the elements before and after this process' part (block, block_free). */
    elastic::neighbours neighbours(int array, MPI_Comm world = MPI_COMM_WORLD) const
    {
        const int size = elastic::size(world), mine = position(array, elastic::rank(world));
        const elastic::layout &layout = entries_.at(std::size_t(array))->layout;
        auto find = [&](int from, int step) {
            if (layout.count(mine, size) == 0)
                return MPI_PROC_NULL;
            for (int k = from; k >= 0 && k < size; k += step)
                if (layout.count(k, size) > 0)
                    return rank(array, k);
            return MPI_PROC_NULL;
        };
        return {find(mine - 1, -1), find(mine + 1, 1)};
    }

  private:
    struct entry {
        elastic::layout layout;
        void *base = nullptr, *former = nullptr;
        bool is_started = false;

        explicit entry(const elastic::layout &its) : layout(its) {}
        virtual ~entry() = default;
        /* base is set; count: elements of the layout, -1: what there is. */
        virtual void before(bool joins, std::int64_t count) = 0;
        virtual std::int64_t length() const = 0;
        /* Why base is NULL though the layout has `count` elements for this process. */
        virtual std::string misfit(std::int64_t) const { return ""; }
        virtual void *grow(std::int64_t count) = 0;
        virtual void release(void *part) = 0;
        virtual void complete() = 0;
    };

    template <class T> struct vector_entry final : entry {
        std::vector<T> &values;
        std::vector<T> fresh;
        elastic::shape shape;

        vector_entry(std::vector<T> &its, const elastic::layout &layout, const elastic::shape &form)
            : entry(layout), values(its), shape(form)
        {
            if (form.width < 1 || form.ghost < 0)
                throw error(MPI_ERR_ARG,
                            "elastic::data::add: width is less than 1, or ghost is negative");
        }
        std::size_t border() const { return std::size_t(shape.ghost) * std::size_t(shape.width); }
        std::int64_t length() const override
        {
            const std::size_t all = values.size(), around = 2 * border();
            return all <= around ? 0 : std::int64_t((all - around) / std::size_t(shape.width));
        }
        void before(bool, std::int64_t count) override
        {
            const bool fits = length() > 0 && (count < 0 || count == length()) &&
                              values.size() % std::size_t(shape.width) == 0;
            base = former = fits ? values.data() + border() : nullptr;
        }
        std::string misfit(std::int64_t count) const override
        {
            return "the vector has " + std::to_string(values.size()) + " elements, needed are " +
                   std::to_string(std::size_t(count) * std::size_t(shape.width) + 2 * border()) +
                   " (" + std::to_string(count) + " of the layout, with width and ghosts)";
        }
        void *grow(std::int64_t count) override
        {
            fresh = std::vector<T>(std::size_t(count) * std::size_t(shape.width) + 2 * border());
            return fresh.data() + border();
        }
        void release(void *part) override
        {
            if (!fresh.empty() && part == fresh.data() + border())
                std::vector<T>().swap(fresh);
        }
        void complete() override
        {
            if (base && base == former)
                return;
            values.swap(fresh);
            std::vector<T>().swap(fresh);
        }
    };

    template <class T> struct value_entry final : entry {
        T &value;

        explicit value_entry(T &its) : entry(same(1)), value(its) {}
        std::int64_t length() const override { return 1; }
        void before(bool joins, std::int64_t) override
        {
            base = joins ? nullptr : const_cast<void *>(static_cast<const void *>(&value));
        }
        void *grow(std::int64_t) override { return &value; }
        void release(void *) override {}
        void complete() override {}
    };

    MPIX_Adapt_data it_ = nullptr;
    std::vector<std::unique_ptr<entry>> entries_;
    std::string misfit_;

    int count() const { return int(entries_.size()); }
    static bool is_meant(int array, int k) { return array == MPIX_ALL_ARRAYS || array == k; }

    static void *call_grow(std::int64_t count, void *state) noexcept
    {
        try {
            return static_cast<entry *>(state)->grow(count);
        } catch (...) {         /* std::bad_alloc: refused on all processes */
            return nullptr;
        }
    }
    static void call_release(void *part, void *state) noexcept
    {
        static_cast<entry *>(state)->release(part);
    }

    int append(std::unique_ptr<entry> made, const std::string &name, MPI_Datatype type)
    {
        const MPIX_Adapt_memory memory = {call_grow, call_release, made.get()};
        detail::returned_errors guard("elastic::data::add");
        int number = -1;
        /* until `prepare`: a window without move(window) is reported */
        made->base = made.get();
        entries_.reserve(entries_.size() + 1);
        detail::check_data(MPIX_Adapt_data_add(it_, name.c_str(), &made->base, type,
                                               &made->layout.get(), &memory, &number));
        entries_.push_back(std::move(made));
        return number;
    }

    /* A part of another length than the layout has is refused by all, like one that is missing. */
    void prepare(const epop_window_t &window, int k)
    {
        entry &prepared = *entries_[std::size_t(k)];
        const bool joins = window.status == MPI_ADAPT_STATUS_JOINING;
        std::int64_t count = -1;
        if (prepared.layout.is_irregular())
            detail::check_data(MPIX_Adapt_data_set_count(it_, k, prepared.length()));
        else if (!joins && MPIX_Adapt_data_count(it_, k, &count) != MPI_SUCCESS)
            count = -1;
        prepared.before(joins, count);
        if (!prepared.base && count > 0 && !joins) {
            misfit_ = prepared.misfit(count);
            MPIX_Adapt_data_misfit(misfit_.c_str());
        }
    }

    template <class Query> int query(Query *query_of, int array, int index) const
    {
        detail::returned_errors guard("elastic::data");
        int answer = -1;
        detail::check_data(query_of(it_, array, index, &answer));
        return answer;
    }
};

}  // namespace elastic

#endif /* ELASTIC_DATA_HPP_INCLUDED */
