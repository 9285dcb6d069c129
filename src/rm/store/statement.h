/*
 * Statements of SQLite.  Statement is a prepared one in use: bound in order, reset at the end; it
 * belongs to the object that prepared it.  One thread.
 */

#ifndef ELASTIC_RM_STORE_STATEMENT_H_INCLUDED
#define ELASTIC_RM_STORE_STATEMENT_H_INCLUDED

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <vector>

namespace elastic::rm {

class Statement {
  public:
    explicit Statement(sqlite3_stmt *statement) : statement_(statement) {}
    ~Statement()
    {
        if (!statement_)        /* it could not be prepared: a damaged disk, a missing table */
            return;
        sqlite3_reset(statement_);
        sqlite3_clear_bindings(statement_);
    }
    Statement(const Statement &) = delete;
    Statement &operator=(const Statement &) = delete;

    Statement &bind(int64_t value)
    {
        sqlite3_bind_int64(statement_, next_++, value);
        return *this;
    }
    Statement &bind(const std::string &text)
    {
        sqlite3_bind_text64(statement_, next_++, text.data(), text.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8);
        return *this;
    }
    Statement &bind(const std::vector<uint8_t> &bytes)
    {
        sqlite3_bind_blob64(statement_, next_++, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
        return *this;
    }
    Statement &bind_null()
    {
        sqlite3_bind_null(statement_, next_++);
        return *this;
    }
    bool done() { return step() == SQLITE_DONE; }
    bool row() { return step() == SQLITE_ROW; }
    /* After row() returned false: the reason was an error, not the end. */
    bool failed() const { return code_ != SQLITE_DONE && code_ != SQLITE_ROW; }
    int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
    bool is_null(int column) const
    {
        return sqlite3_column_type(statement_, column) == SQLITE_NULL;
    }
    size_t size(int column) const
    {
        return static_cast<size_t>(sqlite3_column_bytes(statement_, column));
    }
    std::string text(int column) const
    {
        const void *data = sqlite3_column_blob(statement_, column);
        return data ? std::string(static_cast<const char *>(data), size(column)) : std::string();
    }

  private:
    int step() { return code_ = statement_ ? sqlite3_step(statement_) : SQLITE_ERROR; }

    sqlite3_stmt *statement_;
    int next_ = 1, code_ = SQLITE_OK;
};

/* For statements without rows.  Returns the error, or empty. */
std::string execute(sqlite3 *database, const std::string &sql);
/* -1: it cannot be read. */
int64_t read_pragma(sqlite3 *database, const char *name);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STORE_STATEMENT_H_INCLUDED */
