/*
 * Fields on boxes, and items, of elastic.hpp, which includes this file.
 */

#ifndef ELASTIC_FIELDS_HPP_INCLUDED
#define ELASTIC_FIELDS_HPP_INCLUDED

#include "adapt_boxes.h"
#include "elastic_data.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace elastic {

/* ---- boxes ----------------------------------------------------------------------------------- */

/* Cells low[a] <= i < high[a] of each axis. */
using box = MPIX_Box;

inline box box_of(const std::vector<std::int64_t> &low, const std::vector<std::int64_t> &high)
{
    if (low.empty() || low.size() != high.size() || low.size() > MPIX_BOX_AXES)
        throw error(MPI_ERR_ARG,
                    "elastic::box_of: one to three bounds, as many high ones as low ones");
    return MPIX_Box_of(int(low.size()), low.data(), high.data());
}

/* How a field's boxes are stored, along each axis. */
struct field_shape {
    /* layers around; 1: values at high, too */
    std::array<int, MPIX_BOX_AXES> ghost = {}, nodes = {};
};

/* Fields on blocks of one to three dimensions that move to the processes that have them in the new
 * world: adapt_boxes.h.  Values of a box are stored in C order in a vector of its own. */
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

    /* A field with one box for each rank; resized in the window, with new ghost layers
     * value-initialised.  The vector stays where it is as long as this lives. */
    template <class T>
    void add(const std::string &name, std::vector<T> &values, const field_shape &shape = {})
    {
        fields_.push_back(std::make_unique<typed_field<T, std::vector<T>>>(name, values, shape));
    }
    /* A field with any number of them. */
    template <class T>
    void add(const std::string &name, std::vector<std::vector<T>> &tiles,
             const field_shape &shape = {})
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
        int code = MPIX_Adapt_boxes_move(&window, axes_, call_cut, this, int(described.size()),
                                         described.data());
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
            static_assert(!std::is_same_v<T, bool>,
                          "std::vector<bool> has no array of elements: use another type");
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
            misfit = "has " + std::to_string(size) +
                     " elements, needed with nodes and ghost layers are " +
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
        /* Fields that are not among the new parts are unchanged. */
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

/* ---- items ----------------------------------------------------------------------------------- */

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

/* Item i of this process, with an entry in each of the vectors, is moved to the new rank
 * destination[i].  Staying items are first, then received ones, in an order that is the same each
 * time: adapt_items.h.  Collective; if it throws because of its arguments, nothing has moved. */
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
            return std::array<MPIX_Column, sizeof...(T)>{
                MPIX_Column{columns.data(), type.get()}...};
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

#endif /* ELASTIC_FIELDS_HPP_INCLUDED */
