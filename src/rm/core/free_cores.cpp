/* See free_cores.h. */

#include "core/free_cores.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace elastic::rm {

PositionSet::Bits &PositionSet::own()
{
    if (!bits_)
        bits_ = std::make_shared<Bits>();
    else if (bits_.use_count() > 1)
        bits_ = std::make_shared<Bits>(*bits_);
    return *bits_;
}

void PositionSet::insert(uint32_t position, uint32_t end)
{
    Bits &bits = own();
    if (bits.size() * 64 < end)
        bits.resize((end + 63) / 64);
    bits[position / 64] |= uint64_t{1} << position % 64;
    first_word_ = size_ == 0 ? position / 64 : std::min(first_word_, position / 64);
    size_++;
}

void PositionSet::erase(uint32_t position)
{
    Bits &bits = own();
    bits[position / 64] &= ~(uint64_t{1} << position % 64);
    size_--;
    while (size_ > 0 && bits[first_word_] == 0)
        first_word_++;
}

uint32_t PositionSet::next(uint32_t from) const
{
    from = std::max(from, first_word_ * 64);
    if (size_ == 0 || from / 64 >= bits_->size())
        return NONE;
    uint32_t word = from / 64;
    uint64_t bits = (*bits_)[word] & ~uint64_t{0} << from % 64;
    while (bits == 0) {
        if (++word == bits_->size())
            return NONE;
        bits = (*bits_)[word];
    }
    return word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
}

uint32_t PositionSet::next(uint32_t from, const PositionSet &within) const
{
    uint32_t position = next(from);
    for (uint32_t other = NONE; position != NONE; position = next(other)) {
        other = within.next(position);
        if (other == position || other == NONE)
            return other;
    }
    return NONE;
}

int PositionSet::size(const PositionSet &within) const
{
    if (size_ == 0 || within.size_ == 0)
        return 0;
    int count = 0;
    for (size_t word = 0; word < std::min(bits_->size(), within.bits_->size()); word++)
        count += std::popcount((*bits_)[word] & (*within.bits_)[word]);
    return count;
}

void SharedNumbers::push_back(int number)
{
    if (size_ % PART_SIZE == 0)
        parts_.push_back(std::make_shared<Part>());
    set(size_++, number);
}

void SharedNumbers::set(uint32_t position, int number)
{
    std::shared_ptr<Part> &part = parts_[position / PART_SIZE];
    if (part.use_count() > 1)
        part = std::make_shared<Part>(*part);
    (*part)[position % PART_SIZE] = number;
}

std::vector<int> SharedNumbers::all() const
{
    std::vector<int> numbers;
    numbers.reserve(size_);
    for (const std::shared_ptr<Part> &part : parts_) {
        size_t more = std::min<size_t>(PART_SIZE, size_ - numbers.size());
        numbers.insert(numbers.end(), part->begin(), part->begin() + more);
    }
    return numbers;
}

void FreeCores::begin()
{
    layout_ = std::make_shared<Layout>();
    present_ = std::make_shared<Present>();
}

void FreeCores::add(const Node &node)
{
    node.position = static_cast<uint32_t>(layout_->nodes.size());
    layout_->nodes.push_back(&node);
    layout_->cores.push_back(node.cores);
    size_t number = node.name.number();
    layout_->by_name.resize(std::max(layout_->by_name.size(), number + 1), PositionSet::NONE);
    layout_->by_name[number] = node.position;
    bool up = node.state() == NodeState::UP;
    layout_->all_usable = layout_->all_usable && up;
    layout_->base.push_back(up ? 0 : -1);
    present_->free.push_back(up ? node.free() : 0);
    if (up && node.gpus > 0)
        layout_->gpu_nodes.push_back(node.position);
}

void FreeCores::finish()
{
    Present &present = *present_;
    std::map<int, int> bases;
    for (uint32_t i = 0; i < present.free.size(); i++) {
        if (layout_->base[i] >= 0)
            bases[layout_->nodes[i]->cores] = 0;
    }
    for (auto &[cores, base] : bases) {
        base = static_cast<int>(present.groups.size());
        for (int free = 0; free <= cores; free++)
            present.groups.push_back({cores, free, {}});
        layout_->idle.push_back(static_cast<uint32_t>(present.groups.size() - 1));
    }
    uint32_t end = present.free.size();
    for (uint32_t i = 0; i < end && has_gpus(); i++)
        present.gpus.push_back(std::popcount(layout_->nodes[i]->free_gpus()));
    for (uint32_t i = 0; i < end; i++) {
        if (layout_->base[i] < 0)
            continue;
        layout_->base[i] = bases[layout_->nodes[i]->cores];
        present.groups[static_cast<size_t>(layout_->base[i] + present.free[i])].nodes.insert(
            i, end);
        present.total += present.free[i];
    }
}

void FreeCores::set(const Node &node, int free)
{
    uint32_t position = node.position;
    int before = present_->free[position], base = layout_->base[position];
    assert(base >= 0 && free >= 0 && free <= node.cores);
    if (before == free)
        return;
    if (present_.use_count() > 1)
        present_ = std::make_shared<Present>(*present_);
    Present &present = *present_;
    present.groups[static_cast<size_t>(base + before)].nodes.erase(position);
    present.groups[static_cast<size_t>(base + free)].nodes.insert(
        position, present.free.size());
    present.total += free - before;
    present.free.set(position, free);
}

void FreeCores::set_gpus(const Node &node, int free)
{
    if (gpus(node) == free)
        return;
    assert(free >= 0 && free <= node.gpus);
    if (present_.use_count() > 1)
        present_ = std::make_shared<Present>(*present_);
    present_->gpus.set(node.position, free);
}

PositionMarks FreeCores::differences(const FreeCores &other) const
{
    PositionMarks marks(positions());
    auto mark = [&](uint32_t position) { marks.add(position); };
    present_->free.each_difference(other.present_->free, mark);
    present_->gpus.each_difference(other.present_->gpus, mark);
    return marks;
}

bool FreeCores::operator==(const FreeCores &other) const
{
    auto same = [](const Group &a, const Group &b) {
        if (a.cores != b.cores || a.free != b.free || a.nodes.size() != b.nodes.size())
            return false;
        uint32_t at = a.nodes.next(0);
        while (at != PositionSet::NONE && at == b.nodes.next(at))
            at = a.nodes.next(at + 1);
        return at == PositionSet::NONE;
    };
    return total() == other.total() && by_position() == other.by_position() &&
        layout_->base == other.layout_->base &&
        gpus_by_position() == other.gpus_by_position() &&
        std::equal(groups().begin(), groups().end(), other.groups().begin(), other.groups().end(),
                   same);
}

}  // namespace elastic::rm
