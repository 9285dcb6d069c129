/* See store.h: snapshots and their parts. */

#include <sqlite3.h>

#include "store/checksum.h"
#include "store/statement.h"
#include "store/store.h"

namespace elastic::rm {

namespace {

constexpr int SNAPSHOTS_KEPT = 2;

std::string_view characters_of(const std::vector<uint8_t> &bytes)
{
    return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

}  // namespace

std::string Store::write_snapshot_part(uint64_t seq, uint64_t number, const Json &part)
{
    if (std::string error = synchronise(false); !error.empty())
        return error;
    std::vector<uint8_t> bytes = Json::to_cbor(part);
    Statement row(prepare("INSERT OR REPLACE INTO snapshot_part VALUES (?, ?, ?, ?)"));
    row.bind(static_cast<int64_t>(seq)).bind(static_cast<int64_t>(number)).bind(bytes);
    return row.bind(sum_of(seq, number, characters_of(bytes))).done() ? "" : problem("write");
}

Result<bool> Store::tidy_snapshots(int64_t parts_max)
{
    if (std::string error = synchronise(false); !error.empty())
        return Error{error};
    Statement row(prepare(
        "DELETE FROM snapshot_part WHERE rowid IN (SELECT rowid FROM snapshot_part "
        "WHERE seq NOT IN (SELECT seq FROM snapshot) LIMIT ?)"));
    if (!row.bind(parts_max).done())
        return Error{problem("write")};
    return sqlite3_changes(database_) >= parts_max;
}

std::string Store::write_snapshot(uint64_t seq, int64_t time_ms, const Json &head, uint64_t parts)
{
    if (std::string error = synchronise(true); !error.empty())
        return error;
    std::vector<uint8_t> bytes = Json::to_cbor(head);
    Statement row(prepare("INSERT OR REPLACE INTO snapshot VALUES (?, ?, ?, ?, ?)"));
    row.bind(static_cast<int64_t>(seq)).bind(time_ms).bind(bytes);
    if (!row.bind(sum_of(seq, characters_of(bytes))).bind(static_cast<int64_t>(parts)).done())
        return problem("write");
    Statement old(prepare("DELETE FROM snapshot WHERE seq NOT IN (SELECT seq FROM snapshot ORDER "
                          "BY seq DESC LIMIT ?)"));
    return old.bind(int64_t{SNAPSHOTS_KEPT}).done() ? "" : problem("write");
}

Result<std::optional<Store::Snapshot>> Store::last_snapshot(uint64_t below)
{
    Statement row(
        prepare("SELECT seq, body, sum, parts FROM snapshot WHERE seq < ? ORDER BY seq DESC"));
    row.bind(static_cast<int64_t>(below));
    bool damaged = false;
    while (row.row()) {
        auto seq = static_cast<uint64_t>(row.number(0));
        std::string text = row.text(1);
        Snapshot snapshot{seq, Json::from_cbor(text, true, false), {}};
        bool is_good = !snapshot.head.is_discarded() &&
            (row.is_null(2) || row.number(2) == sum_of(seq, text));
        auto parts = is_good ? read_parts(static_cast<uint64_t>(row.number(3)), snapshot)
                             : Result<bool>(false);
        if (!parts)
            return Error{parts.error()};
        if (parts.value())
            return std::optional<Snapshot>(std::move(snapshot));
        damaged = true;
    }
    if (row.failed())
        return Error{problem("read")};
    if (damaged)
        return Error{
            "the store " + folder_ + "/store.sqlite is damaged: none of its snapshots can be read"};
    return std::optional<Snapshot>();
}

/* False: they are incomplete or damaged. */
Result<bool> Store::read_parts(uint64_t count, Snapshot &snapshot)
{
    Statement row(prepare("SELECT number, body, sum FROM snapshot_part WHERE seq = ? AND number < "
                          "? ORDER BY number"));
    row.bind(static_cast<int64_t>(snapshot.seq)).bind(static_cast<int64_t>(count));
    while (row.row()) {
        uint64_t number = snapshot.parts.size();
        std::string text = row.text(1);
        snapshot.parts.push_back(Json::from_cbor(text, true, false));
        if (static_cast<uint64_t>(row.number(0)) != number ||
            snapshot.parts.back().is_discarded() ||
            row.number(2) != sum_of(snapshot.seq, number, text))
            return false;
    }
    if (row.failed())
        return Error{problem("read")};
    return snapshot.parts.size() == count;
}

}  // namespace elastic::rm
