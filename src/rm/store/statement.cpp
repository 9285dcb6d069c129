/* See statement.h. */

#include "store/statement.h"

namespace elastic::rm {

int64_t read_pragma(sqlite3 *database, const char *name)
{
    sqlite3_stmt *statement = nullptr;
    std::string sql = std::string("PRAGMA ") + name;
    int64_t value = -1;
    if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        value = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return value;
}

std::string execute(sqlite3 *database, const std::string &sql)
{
    char *message = nullptr;
    if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &message) == SQLITE_OK)
        return "";
    std::string text = message ? message : sqlite3_errmsg(database);
    sqlite3_free(message);
    return text;
}

}  // namespace elastic::rm
