/*
 * Rows of a sparse matrix or mesh, and ghosts, for C++20: adapt_mesh.h with vectors.
 *
 *     std::vector<long> global, first{0}, column;         row i: entries first[i] <= k <
 *                                                         first[i + 1]
 *     std::vector<double> value, x;
 *
 *     // in the window
 *     elastic::move_rows(window, destination, global, first, std::tie(column, value), x);
 *     // after it: column has local numbers now
 *     elastic::ghosts halo(MPI_COMM_WORLD, global, column);
 *     x.resize(global.size() + halo.count());
 *     halo.update(x);
 */

#ifndef ELASTIC_MESH_HPP_INCLUDED
#define ELASTIC_MESH_HPP_INCLUDED

#include <adapt_mesh.h>
#include <algorithm>
#include <cstdint>
#include <elastic.hpp>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

namespace elastic {

namespace detail {

/* Elements of rows in another order: length[row] of them from begin[row]. */
template <class T>
void reorder(std::vector<T> &values, const std::vector<std::size_t> &order,
             const std::vector<std::size_t> &begin, const std::vector<std::int64_t> &length)
{
    std::vector<T> fresh;
    fresh.reserve(values.size());
    for (std::size_t row : order)
        fresh.insert(fresh.end(), values.begin() + std::ptrdiff_t(begin[row]),
                     values.begin() + std::ptrdiff_t(begin[row]) + std::ptrdiff_t(length[row]));
    values = std::move(fresh);
}

}  // namespace detail

/* Row i, with its entries, is moved to the process of new rank destination[i]; rows are in the
 * order of their global numbers afterwards.  `first` has one number more than there are rows, or
 * none.  entries: std::tie of vectors with one element for each entry; values: vectors with one for
 * each row.  Collective. */
template <class Index, class... E, class... T>
void move_rows(const epop_window_t &window, const std::vector<int> &destination,
               std::vector<Index> &global, std::vector<Index> &first,
               std::tuple<std::vector<E> &...> entries, std::vector<T> &...values)
{
    std::vector<std::int64_t> length(global.size());
    std::vector<int> to;
    for (std::size_t i = 0; i < length.size() && i + 1 < first.size() && i < destination.size();
         i++) {
        length[i] = std::int64_t(first[i + 1]) - std::int64_t(first[i]);
        to.insert(to.end(), std::size_t(length[i]), destination[i]);
    }
    move_items(window, destination, global, length, values...);
    std::apply([&](auto &...list) { move_items(window, to, list...); }, entries);
    std::vector<std::size_t> order(global.size()), begin(global.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    const std::vector<std::size_t> each = order;
    const std::vector<std::int64_t> one(global.size(), 1);
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return global[a] < global[b]; });
    std::exclusive_scan(length.begin(), length.end(), begin.begin(), std::size_t(0));
    std::apply([&](auto &...list) { (detail::reorder(list, order, begin, length), ...); }, entries);
    (detail::reorder(values, order, each, one), ...);
    detail::reorder(global, order, each, one);
    detail::reorder(length, order, each, one);
    first.assign(1, 0);
    for (std::int64_t many : length)
        first.push_back(Index(std::int64_t(first.back()) + many));
}

/* Of one world: destroyed, or restored, before the window. */
class ghosts {
public:
    /* Replaces global numbers in `column` by local ones. */
    template <class Index>
    ghosts(MPI_Comm comm, const std::vector<Index> &global, std::vector<Index> &column)
    {
        static_assert(sizeof(Index) == 4 || sizeof(Index) == 8, "indices are of 4 or 8 bytes");
        detail::returned_errors guard("elastic::ghosts");
        detail::check_data(MPIX_Ghosts_create(comm, index<Index>(), std::int64_t(global.size()),
                                              global.data(), std::int64_t(column.size()),
                                              column.data(), &made_));
    }
    ghosts(ghosts &&other) noexcept : made_(std::exchange(other.made_, nullptr)) {}
    ghosts &operator=(ghosts &&other) noexcept
    {
        std::swap(made_, other.made_);
        return *this;
    }
    ~ghosts() { MPIX_Ghosts_free(&made_); }

    /* How many; their global numbers by local number, from the number of rows on; their owners. */
    std::size_t count() const { return std::size_t(made_->count); }
    const std::int64_t *global() const { return made_->global; }
    const int *owner() const { return made_->owner; }

    /* values: of all rows, and after them of all ghosts. */
    template <class T> void update(std::vector<T> &values) const
    {
        detail::returned_errors guard("elastic::ghosts::update");
        detail::owned_type<T> type;
        if (std::int64_t(values.size()) < made_->rows + made_->count)
            throw error(MPI_ERR_ARG,
                        "elastic::ghosts::update: there are fewer values than rows and ghosts");
        detail::check_data(MPIX_Ghosts_update(made_, values.data(), type.get()));
    }

    /* Back to global numbers. */
    template <class Index> void restore(std::vector<Index> &column) const
    {
        detail::returned_errors guard("elastic::ghosts::restore");
        detail::check_data(
            MPIX_Ghosts_restore(made_, index<Index>(), std::int64_t(column.size()), column.data()));
    }

private:
    template <class Index> static MPI_Datatype index() { return sizeof(Index) == 4 ? MPI_INT
                                                         : MPI_INT64_T; }

    MPIX_Ghosts made_ = nullptr;
};

}  // namespace elastic

#endif /* ELASTIC_MESH_HPP_INCLUDED */
