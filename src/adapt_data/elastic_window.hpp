/*
 * Errors, initialisation, element types and the window of elastic.hpp, which includes this file.
 */

#ifndef ELASTIC_WINDOW_HPP_INCLUDED
#define ELASTIC_WINDOW_HPP_INCLUDED

#include "adapt_data.h"
#include "adapt_items.h"

#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace elastic {

/* ---- errors ---------------------------------------------------------------------------------- */

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

/* While it lives errors are returned, whatever the program's error handlers are, and name the
 * function that the program has called. */
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

/* ---- initialisation -------------------------------------------------------------------------- */

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

/* ---- element types --------------------------------------------------------------------------- */

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

/* ---- the window ------------------------------------------------------------------------------ */

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

    /* MPI_Comm_adapt_commit: leaving processes end here.  If it throws the window is open as
     * before. */
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

    /* The values of leaving processes are added to those of new rank 0, so that sums over all ranks
     * are unchanged. */
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

/* while (condition()) body(), with a probe after each body: all processes must make the same
 * number of probes.  In a window it calls moves(window) on all processes; joining processes begin
 * with that.  Then it calls after(rank, size) on all processes of the new world, which is
 * MPI_COMM_WORLD by then: for communicators, neighbours and all that depends on rank and size.  In
 * `moves` MPI_COMM_WORLD is the old world.  Returns false on a process that has left, if it returns
 * from the commit (MPIR_CVAR_ADAPT_LEAVERS_RETURN). */
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

/* For a loop of the program's own: a probe and, where it is TRUE, a window with moves(window), then
 * after(rank, size).  True: the world has changed.  A joining process calls it before the loop. */
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

}  // namespace elastic

#endif /* ELASTIC_WINDOW_HPP_INCLUDED */
