/*
 * The client's side of the step protocol: finds the sockets of the user's steps, connects, sends
 * requests, reads answers and events.  No output.  Used by the `elastic` command.
 */

#ifndef ELASTIC_CLI_STEP_CONNECTION_H_INCLUDED
#define ELASTIC_CLI_STEP_CONNECTION_H_INCLUDED

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/output.h"

namespace elastic {

/* A descriptor with one owner. */
class Descriptor {
  public:
    explicit Descriptor(int fd = -1) : fd_(fd) {}
    ~Descriptor();
    Descriptor(Descriptor &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Descriptor &operator=(Descriptor &&other) noexcept
    {
        std::swap(fd_, other.fd_);
        return *this;
    }
    int get() const { return fd_; }

  private:
    int fd_;
};

enum class ReadStatus { LINE, CLOSED, TIMEOUT, BROKEN };

class StepConnection {
  public:
    static constexpr std::chrono::milliseconds ANSWER_TIMEOUT{10000};
    static constexpr size_t ANSWER_MAX_BYTES = size_t{64} << 20;

    static Result<StepConnection> connect(const std::string &socket_path);

    /* Sends one request and returns the answer to it; events in between are dropped. */
    Result<Json> query(const Json &request);

    /* The next object; without a timeout it waits for ever. */
    ReadStatus read(Json &object, std::optional<std::chrono::milliseconds> timeout);

  private:
    explicit StepConnection(Descriptor socket) : socket_(std::move(socket)) {}
    bool send_line(const std::string &line);
    ReadStatus read_line(std::string &line, std::optional<std::chrono::milliseconds> timeout);

    Descriptor socket_;
    std::string received_;
    size_t searched_ = 0;       /* this part of received_ contains no newline */
};

struct StepSocket {
    std::string id, path;
};

/* Sockets in the user's directory, by id; those of a killed mpiexec are removed.  An error if
 * the directory exists and belongs to another user. */
Result<std::vector<StepSocket>> list_step_sockets();

/* The step with this id, connected. */
struct FoundStep {
    StepConnection connection;
    Json status;
};
enum class FindError { NONE, NOT_FOUND, UNREACHABLE };
std::optional<FoundStep> find_step(const std::string &id, FindError &kind, std::string &error);

}  // namespace elastic

#endif /* ELASTIC_CLI_STEP_CONNECTION_H_INCLUDED */
