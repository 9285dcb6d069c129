/*
 * Elastic programs in C++20, header only, over adapt_data.h (link with -ladapt_data).  doc/user/data.md.
 *
 *     int main(int argc, char **argv)
 *     {
 *         elastic::environment mpi(argc, argv);
 *         std::vector<double> field;
 *         long step = 0;
 *         elastic::data data;
 *         data.add("field", field, elastic::block(n));
 *         data.add("step", step);
 *         if (!mpi.joining())
 *             ...                                     first values of this process' part
 *         elastic::loop(mpi, [&] { return step < steps; }, [&] { ...; step++; },
 *                       [&](elastic::window &window) { data.move(window); });
 *     }
 *
 * Errors are exceptions of type elastic::error.  An exception that leaves an open window ends the job:
 * a window cannot be undone.  The program's own MPI calls keep the error handlers that they have.  Not
 * for several threads at once.
 */

#ifndef ELASTIC_HPP_INCLUDED
#define ELASTIC_HPP_INCLUDED

#include "adapt_boxes.h"
#include "adapt_items.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace elastic {

/* ---- errors ----------------------------------------------------------------------------------- */

class error : public std::runtime_error {
  public:
    error(int code, const std::string &what) : std::runtime_error(what), code_(code) {}
    /* Of MPI: MPI_ERR_ARG, MPI_ERR_NO_MEM, MPI_ERR_PENDING, ... */
    int error_class() const
    {
        int found = code_;
        MPI_Error_class(code_, &found);
        return found;
    }

  private:
    int code_;
};

namespace detail {

/* While it lives errors are returned, whatever the program's error handlers are, and name the function that the
 * program has called. */
class returned_errors {
  public:
    explicit returned_errors(const char *function) : former_(MPIX_Adapt_data_call_as(function))
    {
        if (former_)
            MPIX_Adapt_data_call_as(former_);
        MPI_Comm_get_errhandler(MPI_COMM_WORLD, &world_);
        MPI_Comm_get_errhandler(MPI_COMM_SELF, &self_);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    }
    ~returned_errors()
    {
        restore(MPI_COMM_WORLD, world_);
        restore(MPI_COMM_SELF, self_);
        MPIX_Adapt_data_call_as(former_);
        MPIX_Adapt_data_misfit(nullptr);
    }
    returned_errors(const returned_errors &) = delete;
    returned_errors &operator=(const returned_errors &) = delete;

  private:
    MPI_Errhandler world_ = MPI_ERRHANDLER_NULL, self_ = MPI_ERRHANDLER_NULL;
    const char *former_;

    static void restore(MPI_Comm comm, MPI_Errhandler &handler)
    {
        MPI_Comm_set_errhandler(comm, handler);
        MPI_Errhandler_free(&handler);
    }
};

inline void check(int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &length);
    throw error(code, text);
}

/* Of libadapt_data: a class of its own has a message; others are MPI's codes as they came. */
inline void check_data(int code)
{
    if (code == MPI_ERR_ARG || code == MPI_ERR_NO_MEM || code == MPI_ERR_OTHER)
        throw error(code, MPIX_Adapt_data_message());
    check(code);
}

}  // namespace detail

/* ---- initialisation --------------------------------------------------------------------------- */

enum class status {
    starting = MPI_ADAPT_STATUS_NEW, /* launched with the program */
    staying = MPI_ADAPT_STATUS_STAYING,
    leaving = MPI_ADAPT_STATUS_LEAVING,
    joining = MPI_ADAPT_STATUS_JOINING
};

/* MPI from here to the end of the scope. */
class environment {
  public:
    environment(int &argc, char **&argv) { detail::check(MPI_Init_adapt(&argc, &argv, &status_)); }
    environment(int &argc, char **&argv, int required)
    {
        detail::check(MPI_Init_thread_adapt(&argc, &argv, required, &provided_, &status_));
    }
    ~environment()
    {
        int is_finalized = 0;
        MPI_Finalized(&is_finalized);
        if (is_finalized)
            return;
        if (std::uncaught_exceptions() > 0)     /* the others do not come to MPI_Finalize */
            MPI_Abort(MPI_COMM_WORLD, 1);
        MPI_Finalize();
    }
    environment(const environment &) = delete;
    environment &operator=(const environment &) = delete;

    elastic::status status() const { return elastic::status(status_); }
    bool joining() const { return status() == elastic::status::joining; }
    int thread_level() const { return provided_; }

  private:
    int status_ = MPI_ADAPT_STATUS_NEW, provided_ = MPI_THREAD_SINGLE;
};

inline int rank(MPI_Comm comm = MPI_COMM_WORLD)
{
    int found = 0;
    detail::check(MPI_Comm_rank(comm, &found));
    return found;
}

inline int size(MPI_Comm comm = MPI_COMM_WORLD)
{
    int found = 0;
    detail::check(MPI_Comm_size(comm, &found));
    return found;
}

/* ---- element types ---------------------------------------------------------------------------- */

/* How T is sent: specialise it for a type that is not trivially copyable but may be sent in parts,
 * with a function `static MPI_Datatype make()` whose result is freed. */
template <class T> struct datatype {
    static_assert(std::is_trivially_copyable_v<T>,
                  "specialise elastic::datatype for a type that is not trivially copyable");
    static MPI_Datatype make()
    {
        MPI_Datatype made;
        detail::check(MPI_Type_contiguous(int(sizeof(T)), MPI_BYTE, &made));
        return made;
    }
};

namespace detail {

/* A committed MPI datatype of `count` T. */
template <class T> class owned_type {
  public:
    explicit owned_type(int count = 1)
    {
        MPI_Datatype one = datatype<T>::make();
        int code = MPI_Type_contiguous(count, one, &type_);
        MPI_Type_free(&one);
        check(code);
        check(MPI_Type_commit(&type_));
    }
    ~owned_type()
    {
        int is_finalized = 0;
        MPI_Finalized(&is_finalized);
        if (!is_finalized)
            MPI_Type_free(&type_);
    }
    owned_type(const owned_type &) = delete;
    owned_type &operator=(const owned_type &) = delete;
    MPI_Datatype get() const { return type_; }

  private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace detail

/* ---- the window ------------------------------------------------------------------------------- */

/* The adaptation window, open from construction to close() or the end of the scope. */
class window {
  public:
    /* Of the probe that returned TRUE, or joining. */
    explicit window(elastic::status status)
    {
        detail::returned_errors guard("elastic::window");
        detail::check_data(MPIX_Adapt_window_open(int(status), &it_, &all_));
    }
    ~window()
    {
        if (!it_.new_rank_of)
            return;
        if (std::uncaught_exceptions() > exceptions_) {
            std::fprintf(stderr, "elastic::window: an exception leaves an open window\n");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        try {
            close();
        } catch (const std::exception &failure) {
            std::fprintf(stderr, "elastic::window: %s\n", failure.what());
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    window(const window &) = delete;
    window &operator=(const window &) = delete;

    /* MPI_Comm_adapt_commit: leaving processes end here.  If it throws the window is open as before. */
    void close()
    {
        detail::returned_errors guard("elastic::window::close");
        detail::check_data(MPIX_Adapt_window_close(&it_, &all_));
    }

    elastic::status status() const { return elastic::status(it_.status); }
    bool joining() const { return status() == elastic::status::joining; }
    bool leaving() const { return status() == elastic::status::leaving; }
    int old_size() const { return it_.old_size; }
    int new_size() const { return it_.new_size; }
    int old_rank() const { return it_.old_rank; }       /* -1: joining */
    int new_rank() const { return it_.new_rank; }       /* -1: leaving */
    int staying_count() const { return it_.staying; }
    int leaving_count() const { return it_.leaving; }
    int joining_count() const { return it_.joining; }
    MPI_Comm old_world() const { return it_.old_world; }
    MPI_Comm new_world() const { return it_.new_world; }
    MPI_Comm intercomm() const { return it_.intercomm; }
    /* All processes: the old ones by old rank, then the joining ones.  Ends with the window. */
    MPI_Comm all() const { return all_; }
    operator const epop_window_t &() const { return it_; }

    /* Joining processes get old rank 0's value (others too).  Collective over all processes. */
    template <class T> void share(T &value) const
    {
        detail::owned_type<T> type;
        agree(std::int64_t(sizeof(T)));
        detail::check(MPI_Bcast(&value, 1, type.get(), 0, all_));
    }
    template <class T> void share(std::vector<T> &values) const
    {
        auto count = static_cast<std::int64_t>(values.size());
        detail::owned_type<T> type;
        share(count);
        values.resize(static_cast<std::size_t>(count));
        detail::check(MPI_Bcast_c(values.data(), count, type.get(), 0, all_));
    }
    void share(std::string &text) const
    {
        std::vector<char> letters(text.begin(), text.end());
        share(letters);
        text.assign(letters.begin(), letters.end());
    }

    /* What leaving processes have is added to new rank 0's: sums over all ranks stay what they are. */
    void sums(std::vector<double> &values) const
    {
        detail::returned_errors guard("elastic::window::sums");
        detail::check_data(MPIX_Adapt_sums(&it_, int(values.size()), values.data()));
    }

  private:
    epop_window_t it_ = {};
    MPI_Comm all_ = MPI_COMM_NULL;
    int exceptions_ = std::uncaught_exceptions();

    void agree(std::int64_t bytes) const
    {
        detail::returned_errors guard("elastic::window::share");
        detail::check_data(MPIX_Adapt_data_agree(&it_, bytes));
    }
};

/* Probes whether the world changes now; then *status is the role of this process. */
inline bool probe(status *found)
{
    int pending = 0, local = 0;
    detail::check(MPI_Probe_adapt(&pending, &local, nullptr));
    *found = status(local);
    return pending == MPI_ADAPT_TRUE;
}

/* while (condition()) body(), with a probe after each body: all processes must come to the same
 * number of them.  In a window it calls moves(window) on all processes; those that join begin with
 * that.  Then it calls after(rank, size) on all processes of the new world, which is MPI_COMM_WORLD by
 * then: for communicators, neighbours and what else follows from rank and size.  In `moves` MPI_COMM_WORLD
 * is the old world.  Returns false on a process that has left, if MPI lets it come back. */
template <class Condition, class Body, class Moves, class After>
bool loop(const environment &mpi, Condition &&condition, Body &&body, Moves &&moves, After &&after)
{
    auto adapt = [&](status how) {
        window open(how);
        moves(open);
        open.close();
        if (how == status::leaving)
            return false;
        after(open.new_rank(), open.new_size());
        return true;
    };
    status how = status::joining;

    if (mpi.joining() && !adapt(how))
        return false;
    while (condition()) {
        body();
        if (probe(&how) && !adapt(how))
            return false;
    }
    return true;
}
template <class Condition, class Body, class Moves>
bool loop(const environment &mpi, Condition &&condition, Body &&body, Moves &&moves)
{
    return loop(mpi, condition, body, moves, [](int, int) {});
}

/* For a loop of the program's own: a probe and, where it is TRUE, a window with moves(window), then after(rank, size).
 * True: the world has changed.  A joining process calls it before the loop. */
template <class Moves, class After> bool adapt(Moves &&moves, After &&after)
{
    status how = status::staying;

    if (!probe(&how))
        return false;
    window open(how);
    moves(open);
    open.close();
    if (how != status::leaving)
        after(open.new_rank(), open.new_size());
    return true;
}

/* ---- layouts ---------------------------------------------------------------------------------- */

struct interval {
    std::int64_t first, end;    /* [first, end) */
    std::int64_t count() const { return end - first; }
};

/* The owners of elements.  Positions are ranks, but for block_free and grid (data::position). */
class layout {
  public:
    /* The lengths of the new parts from those of the old ones. */
    using split = std::function<std::vector<std::int64_t>(const std::vector<std::int64_t> &old_lengths,
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

/* ---- data ------------------------------------------------------------------------------------- */

/* The width of an element, and the ghosts around a part. */
struct shape {
    int width = 1;      /* an element of the layout is so many of the vector's (a row of a matrix) */
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

    /* The vector is resized when it moves; on a joining process it is empty before.  Returns the number
     * by which the other functions know it.  The vector stays where it is as long as this lives. */
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
    /* What a move in this window would be; collective. */
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
                throw error(MPI_ERR_ARG, "elastic::data::add: width or ghost has no sense");
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
                   std::to_string(std::size_t(count) * std::size_t(shape.width) + 2 * border()) + " (" +
                   std::to_string(count) + " of the layout, with width and ghosts)";
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

/* ---- boxes ------------------------------------------------------------------------------------ */

/* Cells low[a] <= i < high[a] of each axis. */
using box = MPIX_Box;

inline box box_of(const std::vector<std::int64_t> &low, const std::vector<std::int64_t> &high)
{
    if (low.empty() || low.size() != high.size() || low.size() > MPIX_BOX_AXES)
        throw error(MPI_ERR_ARG, "elastic::box_of: one to three bounds, as many high ones as low ones");
    return MPIX_Box_of(int(low.size()), low.data(), high.data());
}

/* How a field's boxes are stored, along each axis. */
struct field_shape {
    std::array<int, MPIX_BOX_AXES> ghost = {}, nodes = {};      /* layers around; 1: values at high, too */
};

/* Fields on blocks of one to three dimensions that move to the processes that have them in the new world:
 * adapt_boxes.h.  Values of a box are stored in C order in a vector of its own. */
class boxes {
  public:
    /* The boxes of a rank, equal on all processes. */
    using cut = std::function<std::vector<box>(int rank, int size)>;

    boxes(int axes, cut function) : axes_(axes), cut_(std::move(function)) {}
    /* One box for each rank: the domain, cut evenly. */
    boxes(int axes, const box &domain)
        : boxes(axes, [whole = box(domain)](int rank, int size) mutable {
              std::vector<box> found(1);
              MPIX_Boxes_even(rank, size, 1, found.data(), &whole);
              return found;
          })
    {
    }
    boxes(const boxes &) = delete;
    boxes &operator=(const boxes &) = delete;

    std::vector<box> of(int rank, int size) const { return cut_(rank, size); }

    /* A field with one box for each rank; resized in the window, with new ghost layers value-initialised.
     * The vector stays where it is as long as this lives. */
    template <class T>
    void add(const std::string &name, std::vector<T> &values, const field_shape &shape = {})
    {
        fields_.push_back(std::make_unique<typed_field<T, std::vector<T>>>(name, values, shape));
    }
    /* A field with any number of them. */
    template <class T>
    void add(const std::string &name, std::vector<std::vector<T>> &tiles, const field_shape &shape = {})
    {
        fields_.push_back(
            std::make_unique<typed_field<T, std::vector<std::vector<T>>>>(name, tiles, shape));
    }

    /* All fields, or (error) none.  Collective over all processes of the window. */
    void move(const epop_window_t &window)
    {
        detail::returned_errors guard("elastic::boxes::move");
        const std::vector<box> old = mine(window.old_rank, window.old_size);
        const std::vector<box> coming = mine(window.new_rank, window.new_size);
        std::vector<MPIX_Field> described;
        described.reserve(fields_.size());
        for (auto &field : fields_)
            described.push_back(field->before(old, coming.size()));
        int code = MPIX_Adapt_boxes_move(&window, axes_, call_cut, this, int(described.size()), described.data());
        for (auto &field : fields_)
            field->after(code == MPI_SUCCESS, coming.size());
        detail::check_data(code);
    }

  private:
    struct field {
        MPIX_Field described = {};
        MPIX_Adapt_memory memory = {};
        std::string name;
        std::vector<void *> parts;

        virtual ~field() = default;
        virtual MPIX_Field before(const std::vector<box> &old, std::size_t coming) = 0;
        virtual void after(bool moved, std::size_t coming) = 0;
    };

    template <class T, class Values> struct typed_field final : field {
        static constexpr bool has_tiles = !std::is_same_v<Values, std::vector<T>>;
        Values &values;
        detail::owned_type<T> type;
        std::vector<std::vector<T>> fresh;
        std::string misfit;

        typed_field(const std::string &its, Values &in, const field_shape &shape) : values(in)
        {
            static_assert(!std::is_same_v<T, bool>, "a vector of bool has no elements");
            name = its;
            described.element = type.get();
            std::copy(shape.ghost.begin(), shape.ghost.end(), described.ghost);
            std::copy(shape.nodes.begin(), shape.nodes.end(), described.nodes);
            memory = {call_grow, call_release, this};
        }
        std::vector<T> *tile(std::size_t k)
        {
            if constexpr (has_tiles)
                return k < values.size() ? &values[k] : nullptr;
            else
                return k == 0 ? &values : nullptr;
        }
        void set_misfit(std::size_t size, const std::int64_t *extents)
        {
            misfit = "has " + std::to_string(size) + " elements, needed with nodes and ghost layers are " +
                     std::to_string(extents[0]) + " * " + std::to_string(extents[1]) + " * " +
                     std::to_string(extents[2]);
            MPIX_Adapt_data_misfit(misfit.c_str());
        }
        /* A part of another length than its box is refused by all, like one that is missing. */
        MPIX_Field before(const std::vector<box> &old, std::size_t coming) override
        {
            std::int64_t extents[MPIX_BOX_AXES];
            described.name = name.c_str();
            described.memory = &memory;
            parts.assign(std::max(old.size(), coming) + 1, nullptr);
            described.parts = parts.data();
            for (std::size_t k = 0; k < old.size(); k++) {
                std::vector<T> *part = tile(k);
                const std::int64_t needed = MPIX_Field_extents(&described, &old[k], extents);
                if (part && std::int64_t(part->size()) == needed)
                    parts[k] = part->data();
                else if (needed > 0)
                    set_misfit(part ? part->size() : 0, extents);
            }
            return described;
        }
        /* What is not among the new parts has stayed as it was. */
        std::vector<T> taken(std::size_t k)
        {
            for (std::vector<T> &made : fresh)
                if (!made.empty() && made.data() == parts[k])
                    return std::move(made);
            return parts[k] && tile(k) ? std::move(*tile(k)) : std::vector<T>();
        }
        void after(bool moved, std::size_t coming) override
        {
            std::vector<std::vector<T>> all(coming);
            for (std::size_t k = 0; moved && k < coming; k++)
                all[k] = taken(k);
            if (moved) {
                if constexpr (has_tiles)
                    values = std::move(all);
                else
                    values = coming > 0 ? std::move(all[0]) : std::vector<T>();
            }
            fresh.clear();
        }
        static void *call_grow(std::int64_t count, void *state) noexcept
        {
            try {
                return static_cast<typed_field *>(state)
                    ->fresh.emplace_back(static_cast<std::size_t>(count))
                    .data();
            } catch (...) {     /* std::bad_alloc: refused on all processes */
                return nullptr;
            }
        }
        static void call_release(void *, void *) noexcept {}    /* vectors see to it */
    };

    int axes_;
    cut cut_;
    std::vector<std::unique_ptr<field>> fields_;

    std::vector<box> mine(int rank, int size) const
    {
        return rank < 0 ? std::vector<box>() : cut_(rank, size);
    }
    static int call_cut(int rank, int size, int max, MPIX_Box *found, void *state) noexcept
    {
        try {
            std::vector<box> all = static_cast<boxes *>(state)->cut_(rank, size);
            std::copy_n(all.begin(), std::min(all.size(), std::size_t(max)), found);
            return int(all.size());
        } catch (...) {         /* an error */
            return -1;
        }
    }
};

/* ---- items ------------------------------------------------------------------------------------ */

namespace detail {

/* Items that are stored in several vectors: the first `count` of each stay, `come` have come. */
template <class... T> struct item_columns {
    std::tuple<std::vector<T> &...> columns;
    std::int64_t count, come = 0;

    void take(std::int64_t more, const MPIX_Column *from)
    {
        std::apply([&](auto &...each) { (take_one(each, more, (from++)->base), ...); }, columns);
        come += more;
    }
    template <class V> void take_one(std::vector<V> &values, std::int64_t more, const void *from)
    {
        const auto at = static_cast<std::size_t>(count + come), capacity = at + std::size_t(more);
        if (values.size() < capacity)
            values.resize(capacity);
        std::memcpy(values.data() + at, from, std::size_t(more) * sizeof(V));
    }
    static int append(std::int64_t more, const MPIX_Column *from, void *state) noexcept
    {
        try {
            static_cast<item_columns *>(state)->take(more, from);
            return 0;
        } catch (...) {
            return 1;
        }
    }
};

}  // namespace detail

/* Item i of this process, with an entry in each of the vectors, goes to the new rank destination[i].
 * Staying items come first, then received ones, in an order that is the same each time: adapt_items.h.
 * Collective; if it throws because of its arguments nothing has moved. */
template <class... T>
void move_items(const epop_window_t &window, const std::vector<int> &destination,
                std::vector<T> &...columns)
{
    static_assert(sizeof...(T) > 0 && (std::is_trivially_copyable_v<T> && ...),
                  "items are of types that are trivially copyable");
    detail::returned_errors guard("elastic::move_items");
    const bool fits = ((columns.size() == destination.size()) && ...);
    detail::item_columns<T...> items = {{columns...},
                                        fits ? std::int64_t(destination.size()) : std::int64_t(1)};
    std::tuple<detail::owned_type<T>...> types;
    const auto described = std::apply(
        [&](const auto &...type) {
            return std::array<MPIX_Column, sizeof...(T)>{MPIX_Column{columns.data(), type.get()}...};
        },
        types);
    if (!fits)
        MPIX_Adapt_data_misfit("there are not as many destinations as items");
    int code = MPIX_Adapt_items_move(&window, &items.count, fits ? destination.data() : nullptr,
                                     int(sizeof...(T)), described.data(), items.append, &items);
    detail::check_data(code);
    (columns.resize(std::size_t(items.count + items.come)), ...);
}

}  // namespace elastic

#endif /* ELASTIC_HPP_INCLUDED */
