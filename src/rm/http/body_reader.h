/*
 * Reads the fields of a request, strictly: an unknown or missing field, a wrong type or a value
 * out of bounds is an ApiError that names the field and the valid values.  Pure.
 */

#ifndef ELASTIC_RM_BODY_READER_H_INCLUDED
#define ELASTIC_RM_BODY_READER_H_INCLUDED

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/fields.h"

namespace elastic::rm {

/* An answer that is an error, thrown by readers of a request and caught in Api::handle. */
struct ApiError {
    int status = 400;
    std::string code, message, field = {};
    std::map<std::string, std::string> headers = {};
};

class BodyReader {
  public:
    /* Throws if `text` is not one object.  An empty text counts as an empty object. */
    explicit BodyReader(const std::string &text);
    explicit BodyReader(Json object, std::string where);

    bool has(const char *name);
    /* `bytes_max` 0: no bound. */
    std::string text(const char *name, size_t bytes_max, const std::string &otherwise = "");
    std::string required_text(const char *name, size_t bytes_max);
    int64_t number(const char *name, int64_t lowest, int64_t highest, int64_t otherwise);
    bool flag(const char *name, bool otherwise);
    /* From 0 to 1; required. */
    double ratio(const char *name);
    std::vector<std::string> texts(const char *name, size_t count_max, size_t bytes_max);
    /* In the form of names: "3", or "3_7" for a task of an array. */
    std::vector<std::string> job_names(const char *name, size_t count_max);
    std::map<std::string, std::string> map_of_texts(const char *name, size_t bytes_max);
    BodyReader object(const char *name);
    /* Called at the end: all fields that were not read are unknown. */
    void finish() const;

    [[noreturn]] void fail(const std::string &name, const std::string &message) const;

  private:
    const Json *find(const char *name);

    Json object_;
    std::string where_;
    std::set<std::string> known_;
};

/* Reads query parameters in the same way. */
class QueryReader {
  public:
    explicit QueryReader(const std::map<std::string, std::string> &query) : query_(query) {}
    std::string text(const char *name);
    int64_t number(const char *name, int64_t lowest, int64_t highest, int64_t otherwise);
    bool flag(const char *name);
    /* "3,12_[1,5]": split at commas that are not between brackets. */
    std::vector<std::string> list(const char *name);
    void finish() const;

  private:
    const std::map<std::string, std::string> &query_;
    std::set<std::string> known_;
};

/* Digits alone, from 1; 0: not an id. */
uint64_t parse_id(const std::string &text);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_BODY_READER_H_INCLUDED */
