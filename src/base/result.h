/*
 * A value, or the message why there is none and what to do.  The step manager returns operating
 * errors in this form; programmer errors are asserted.
 */

#ifndef ELASTIC_RESULT_H_INCLUDED
#define ELASTIC_RESULT_H_INCLUDED

#include <string>
#include <utility>
#include <variant>

namespace elastic {

struct Error {
    std::string message;
};

template <class Value> class Result {
  public:
    Result(Value value) : content_(std::move(value)) {}
    Result(Error error) : content_(std::move(error)) {}

    bool ok() const { return content_.index() == 0; }
    explicit operator bool() const { return ok(); }
    const Value &value() const { return std::get<0>(content_); }
    Value &value() { return std::get<0>(content_); }
    const std::string &error() const { return std::get<1>(content_).message; }

  private:
    std::variant<Value, Error> content_;
};

}  // namespace elastic

#endif /* ELASTIC_RESULT_H_INCLUDED */
