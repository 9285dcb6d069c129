/*
 * Readers that attach to a job of `elastic run` (`elastic attach`): a Unix socket beside the job's
 * pipes, where `elastic run` forwards what it has read from them.
 *
 * A reader sends one line of JSON, {"version": 1, "lines": N, "input": BOOL}, and gets one:
 * {"version": 1, "from": {"output": OFFSET, "error": OFFSET}, "input": BOOL, "why_not": TEXT}, or
 * {"error": TEXT} and the end.  Offsets count all bytes of that stream of the job; the reader
 * begins there, N lines before the present end.  Then frames (AttachFrame) follow until the job's
 * end.  A reader with the input sends frames with it; an empty one ends it.
 *
 * A reader never delays the job: the last bytes of each stream are stored once for all readers
 * (Tail), nothing is sent that the socket does not accept at once, and a slow reader is notified
 * of the bytes that it missed.
 *
 * Owns the sockets and the tails.  Nothing blocks; on the loop of the caller of wait_for() and
 * pump().  Only this user and root may read (SO_PEERCRED).
 */

#ifndef ELASTIC_CLI_OUTPUT_READERS_H_INCLUDED
#define ELASTIC_CLI_OUTPUT_READERS_H_INCLUDED

#include <poll.h>

#include <array>
#include <chrono>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/step_connection.h"

namespace elastic {

constexpr const char *ATTACH_SOCKET_FILE = "attach";
constexpr int ATTACH_VERSION = 1;
constexpr size_t ATTACH_LINE_MAX = 4096;
constexpr int64_t ATTACH_LINES_MAX = 1000000;

enum class Stream : uint8_t { OUTPUT, ERROR };
constexpr size_t STREAMS = 2;
constexpr const char *STREAM_NAMES[STREAMS] = {"output", "error"};

/* One byte for the kind, four for the length of the data, the highest first. */
struct AttachFrame {
    enum Kind : uint8_t { OUTPUT = 1, ERROR = 2, OUTPUT_MISSED = 3, ERROR_MISSED = 4, INPUT = 5 };
    static constexpr size_t HEAD = 5, DATA_MAX = 65536;

    Kind kind = OUTPUT;
    std::string data;           /* for *_MISSED: number of bytes, in decimal */

    std::string bytes() const;
    /* Takes the first frame from `received`; nullopt: it is not complete.  `good` false: not a
     * frame. */
    static std::optional<AttachFrame> take(std::string &received, bool &good);
};

/* The last bytes of a stream. */
class Tail {
  public:
    static constexpr size_t KEPT_BYTES = 256 * 1024;

    void add(std::string_view bytes);
    uint64_t begin() const { return begin_; }
    uint64_t end() const { return begin_ + bytes_.size(); }
    /* Data from that offset, not before begin(); at most this number of bytes. */
    std::string_view from(uint64_t offset, size_t bytes_max) const;
    /* The start of the last `lines` lines, as far as they are stored. */
    uint64_t start_of_last(int64_t lines) const;

  private:
    std::string bytes_;
    uint64_t begin_ = 0;
};

class OutputReaders {
  public:
    static constexpr size_t READERS_MAX = 16;
    static constexpr std::chrono::seconds REQUEST_PATIENCE{10};

    static Result<std::unique_ptr<OutputReaders>> listen(const std::string &path);

    void add(Stream stream, std::string_view bytes)
    {
        tails_[static_cast<size_t>(stream)].add(bytes);
    }
    /* Whether the job can get input, and if not, the reason; queried when a reader requests the
     * input. */
    void set_input(std::string why_not) { no_input_ = std::move(why_not); }

    void wait_for(std::vector<pollfd> &waits) const;
    void pump(const std::vector<pollfd> &found);
    /* All readers have received all data. */
    bool are_served() const;

    /* A reader has been granted the job's input. */
    bool have_input() const { return input_ != nullptr; }
    /* Input from the reader; the next one follows after the next pump(). */
    struct Input {
        std::string bytes;
        bool ended = false;
    };
    Input take_input();

  private:
    struct Reader {
        Descriptor socket;
        std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
        bool has_requested = false;
        bool is_closed = false;
        std::string received, pending;
        std::array<uint64_t, STREAMS> next = {};        /* offsets */
    };

    explicit OutputReaders(Descriptor socket) : socket_(std::move(socket)) {}
    void accept_one();
    void receive(Reader &reader);
    void take_request(Reader &reader);
    void begin(Reader &reader, const Json &request);
    void fill(Reader &reader) const;
    void write(Reader &reader);
    bool lags(const Reader &reader) const;
    bool may_receive(const Reader &reader) const;

    Descriptor socket_;
    std::array<Tail, STREAMS> tails_;
    std::list<Reader> readers_;
    const Reader *input_ = nullptr;     /* the reader that sends the input */
    Input taken_;
    std::string no_input_;
};

}  // namespace elastic

#endif /* ELASTIC_CLI_OUTPUT_READERS_H_INCLUDED */
