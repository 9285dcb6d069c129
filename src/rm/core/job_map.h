/*
 * Values by the numbers of jobs.  Addresses of values do not change.
 *
 * Numbers of neighbouring jobs share a page.  The number of jobs makes no operation slow, not even
 * once: std::unordered_map moves all its entries at some sizes, for milliseconds if there are very
 * many.
 */

#ifndef ELASTIC_RM_CORE_JOB_MAP_H_INCLUDED
#define ELASTIC_RM_CORE_JOB_MAP_H_INCLUDED

#include <array>
#include <memory>
#include <unordered_map>
#include <utility>

#include "core/job.h"

namespace elastic::rm {

template <class Value> class JobMap {
  public:
    /* Null: there is none. */
    Value *find(JobId id)
    {
        auto page = pages_.find(id / PAGE);
        return page == pages_.end() ? nullptr : page->second.values[id % PAGE].get();
    }
    const Value *find(JobId id) const { return const_cast<JobMap *>(this)->find(id); }

    /* The value, and whether it is new. */
    std::pair<Value &, bool> add(JobId id)
    {
        Page &page = pages_[id / PAGE];
        auto &value = page.values[id % PAGE];
        bool is_new = !value;
        if (is_new) {
            value = std::make_unique<Value>();
            page.used++;
        }
        return {*value, is_new};
    }

    void erase(JobId id)
    {
        auto page = pages_.find(id / PAGE);
        if (page == pages_.end() || !page->second.values[id % PAGE])
            return;
        page->second.values[id % PAGE].reset();
        if (--page->second.used == 0)
            pages_.erase(page);
    }

    void clear() { pages_.clear(); }

  private:
    static constexpr JobId PAGE = 64;
    struct Page {
        std::array<std::unique_ptr<Value>, PAGE> values;
        size_t used = 0;
    };
    std::unordered_map<JobId, Page> pages_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_JOB_MAP_H_INCLUDED */
