/* Tests of output_readers.h: a reader is a socket here, and the loop is called by hand. */

#include "cli/output_readers.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>

namespace elastic {

namespace {

constexpr auto LIMIT = std::chrono::seconds(30);        /* for every wait */

class OutputReadersTest : public testing::Test {
  protected:
    OutputReadersTest()
    {
        EXPECT_NE(mkdtemp(folder_), nullptr);
        path_ = std::string(folder_) + "/attach";
        auto made = OutputReaders::listen(path_);
        EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error());
        readers_ = std::move(made.value());
    }
    ~OutputReadersTest() override
    {
        unlink(path_.c_str());
        rmdir(folder_);
    }

    Descriptor connect()
    {
        sockaddr_un address = {};
        address.sun_family = AF_UNIX;
        strncpy(address.sun_path, path_.c_str(), sizeof address.sun_path - 1);
        Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
        EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr *>(&address), sizeof address),
                  0);
        turn();
        return socket;
    }
    Descriptor query(const std::string &line)
    {
        Descriptor socket = connect();
        send_line(socket, line + "\n");
        return socket;
    }
    void send_line(const Descriptor &socket, const std::string &text)
    {
        ASSERT_EQ(send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL), ssize_t(text.size()));
        turn();
    }
    /* Does all work that is ready now. */
    void turn()
    {
        for (int i = 0; i < 4; i++) {
            std::vector<pollfd> waits;
            readers_->wait_for(waits);
            poll(waits.data(), waits.size(), 0);
            readers_->pump(waits);
        }
    }
    /* The text that the reader has received when all is served; `closed`: the connection was
     * closed. */
    std::string read_all(const Descriptor &socket, bool *closed = nullptr)
    {
        std::string text, block(65536, '\0');
        bool end = false;
        auto deadline = std::chrono::steady_clock::now() + LIMIT;
        while (std::chrono::steady_clock::now() < deadline) {
            turn();
            ssize_t bytes = recv(socket.get(), block.data(), block.size(), MSG_DONTWAIT);
            if (bytes > 0)
                text.append(block, 0, static_cast<size_t>(bytes));
            end = bytes == 0;
            if (bytes <= 0 && (end || readers_->are_served()))
                break;
        }
        if (closed)
            *closed = end;
        return text;
    }
    static Json answer_in(std::string &text)
    {
        size_t end = text.find('\n');
        Json answer = Json::parse(text.substr(0, end), nullptr, false);
        text.erase(0, end == std::string::npos ? text.size() : end + 1);
        return answer;
    }
    static std::vector<AttachFrame> frames_in(std::string text)
    {
        std::vector<AttachFrame> frames;
        bool good = true;
        while (auto frame = AttachFrame::take(text, good))
            frames.push_back(*frame);
        EXPECT_TRUE(good && text.empty());
        return frames;
    }

    char folder_[32] = "/tmp/elastic-readers-XXXXXX";
    std::string path_;
    std::unique_ptr<OutputReaders> readers_;
};

TEST(TailTest, keeps_the_last_bytes_and_their_offsets)
{
    Tail tail;
    std::string all;
    for (int i = 0; all.size() < 5 * Tail::KEPT_BYTES; i++) {
        std::string line = std::to_string(i) + "\n";
        tail.add(line);
        all += line;
    }
    EXPECT_EQ(tail.end(), all.size());
    EXPECT_GE(tail.end() - tail.begin(), Tail::KEPT_BYTES);
    EXPECT_LT(tail.end() - tail.begin(), 2 * Tail::KEPT_BYTES);
    EXPECT_EQ(tail.from(tail.begin(), SIZE_MAX), all.substr(tail.begin()));
    EXPECT_EQ(tail.from(tail.begin() - 1, 10), "");
    EXPECT_EQ(tail.from(tail.end() + 1, 10), "");
}

TEST(TailTest, last_lines)
{
    Tail tail;
    EXPECT_EQ(tail.start_of_last(3), 0u);
    tail.add("a\nb\nc\n");
    EXPECT_EQ(tail.start_of_last(0), 6u);
    EXPECT_EQ(tail.start_of_last(1), 4u);
    EXPECT_EQ(tail.start_of_last(2), 2u);
    EXPECT_EQ(tail.start_of_last(9), 0u);
    tail.add("no end");
    EXPECT_EQ(tail.start_of_last(1), 6u);
}

TEST(AttachFrameTest, in_parts_and_damaged)
{
    AttachFrame frame{AttachFrame::ERROR, std::string(300, 'x')};
    std::string bytes = frame.bytes(), part;
    bool good = false;
    for (size_t i = 0; i + 1 < bytes.size(); i++) {
        part += bytes[i];
        ASSERT_FALSE(AttachFrame::take(part, good).has_value());
        ASSERT_TRUE(good);
    }
    part += bytes.back();
    auto back = AttachFrame::take(part, good);
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->kind, AttachFrame::ERROR);
    EXPECT_EQ(back->data, frame.data);
    for (std::string wrong : {std::string("\0\0\0\0\0", 5), std::string("\6\0\0\0\0", 5),
                              std::string("\1\0\1\0\1", 5)}) {
        EXPECT_FALSE(AttachFrame::take(wrong, good).has_value());
        EXPECT_FALSE(good);
    }
}

TEST_F(OutputReadersTest, two_readers_get_the_last_lines_and_what_follows)
{
    readers_->add(Stream::OUTPUT, "1\n2\n3\n");
    Descriptor one = query(R"({"version":1,"lines":2})"), two = query(R"({"version":1,"lines":0})");
    readers_->add(Stream::ERROR, "wrong\n");
    readers_->add(Stream::OUTPUT, "4\n");
    std::string first = read_all(one), second = read_all(two);
    EXPECT_EQ(answer_in(first)["from"], Json({{"output", 2}, {"error", 0}}));
    EXPECT_EQ(answer_in(second)["from"], Json({{"output", 6}, {"error", 0}}));
    std::string output[2], error[2];
    for (int i : {0, 1})
        for (const AttachFrame &frame : frames_in(i ? second : first))
            (frame.kind == AttachFrame::OUTPUT ? output[i] : error[i]) += frame.data;
    EXPECT_EQ(output[0], "2\n3\n4\n");
    EXPECT_EQ(output[1], "4\n");
    EXPECT_EQ(error[0] + error[1], "wrong\nwrong\n");
}

/* It blocks no other reader, costs nothing, and is notified of the number of missed bytes. */
TEST_F(OutputReadersTest, a_reader_that_has_stopped_misses_something)
{
    Descriptor slow = query(R"({"version":1})");
    uint64_t total = 0;
    std::string block(8192, 'x');
    for (; total < (uint64_t{32} << 20); total += block.size()) {
        readers_->add(Stream::OUTPUT, block);
        turn();
    }
    std::string got = read_all(slow);
    answer_in(got);
    uint64_t shown = 0, missed = 0;
    for (const AttachFrame &frame : frames_in(got)) {
        shown += frame.kind == AttachFrame::OUTPUT ? frame.data.size() : 0;
        missed += frame.kind == AttachFrame::OUTPUT_MISSED ? std::stoull(frame.data) : 0;
    }
    EXPECT_EQ(shown + missed, total);
    EXPECT_GT(missed, total / 2);
    EXPECT_GE(shown, Tail::KEPT_BYTES);
}

TEST_F(OutputReadersTest, the_first_request_provides_the_input)
{
    Descriptor one = query(R"({"version":1,"input":true})"),
               two = query(R"({"version":1,"input":true})");
    std::string first = read_all(one), second = read_all(two);
    EXPECT_EQ(answer_in(first)["input"], true);
    Json refused = answer_in(second);
    EXPECT_EQ(refused["input"], false);
    EXPECT_NE(refused["why_not"].get<std::string>().find("another client"), std::string::npos);
    send_line(one, AttachFrame{AttachFrame::INPUT, "hello"}.bytes());
    EXPECT_TRUE(readers_->have_input());
    OutputReaders::Input input = readers_->take_input();
    EXPECT_EQ(input.bytes, "hello");
    EXPECT_FALSE(input.ended);
    send_line(one, AttachFrame{AttachFrame::INPUT, ""}.bytes());
    EXPECT_TRUE(readers_->take_input().ended);
    one = Descriptor();
    turn();
    EXPECT_FALSE(readers_->have_input());
    Descriptor three = query(R"({"version":1,"input":true})");
    std::string third = read_all(three);
    EXPECT_EQ(answer_in(third)["input"], true);
}

/* Input that the job does not read stays with its sender. */
TEST_F(OutputReadersTest, input_that_nobody_takes_is_bounded)
{
    Descriptor one = query(R"({"version":1,"input":true})");
    std::string frame = AttachFrame{AttachFrame::INPUT, std::string(4000, 'i')}.bytes();
    size_t sent = 0;
    while (sent < (size_t{64} << 20)) {
        if (send(one.get(), frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            break;
        sent += frame.size();
        turn();
    }
    EXPECT_LT(sent, size_t{64} << 20);
    EXPECT_LE(readers_->take_input().bytes.size(), 2 * ATTACH_LINE_MAX);
}

TEST_F(OutputReadersTest, input_is_refused_where_there_is_none)
{
    readers_->set_input("it has ended");
    Descriptor one = query(R"({"version":1,"input":true})");
    std::string text = read_all(one);
    EXPECT_EQ(answer_in(text)["why_not"], "it has ended");
    EXPECT_FALSE(readers_->have_input());
    /* A client that sends input without the right to it is disconnected. */
    send_line(one, AttachFrame{AttachFrame::INPUT, "all the same"}.bytes());
    bool closed = false;
    read_all(one, &closed);
    EXPECT_TRUE(closed);
    EXPECT_EQ(readers_->take_input().bytes, "");
}

TEST_F(OutputReadersTest, strange_requests_are_cut_off)
{
    readers_->add(Stream::OUTPUT, "secret\n");
    std::string deep = "{\"version\":" + std::string(2000, '[') + std::string(2000, ']') + "}";
    for (const std::string &line :
         {std::string("no JSON"), std::string("[]"), std::string("{}"),
          std::string(R"({"version":"1"})"), std::string(R"({"version":2})"),
          std::string(R"({"version":null,"lines":-7})"), deep}) {
        Descriptor socket = query(line);
        bool closed = false;
        std::string text = read_all(socket, &closed);
        EXPECT_TRUE(closed) << line.substr(0, 40);
        EXPECT_EQ(text.find("secret"), std::string::npos);
    }
    Descriptor endless = connect();
    send_line(endless, std::string(ATTACH_LINE_MAX, ' '));
    bool closed = false;
    read_all(endless, &closed);
    EXPECT_TRUE(closed);
    /* Numbers out of range are limited to it. */
    Descriptor many = query(R"({"version":1,"lines":9000000000000000000})");
    std::string text = read_all(many);
    EXPECT_EQ(answer_in(text)["from"]["output"], 0);
    EXPECT_EQ(frames_in(text).at(0).data, "secret\n");
}

TEST_F(OutputReadersTest, there_is_a_limit)
{
    std::vector<Descriptor> all;
    for (size_t i = 0; i < OutputReaders::READERS_MAX; i++)
        all.push_back(query(R"({"version":1})"));
    Descriptor more = connect();
    bool closed = false;
    std::string text = read_all(more, &closed);
    EXPECT_TRUE(closed);
    EXPECT_NE(string_or(answer_in(text), "error", "").find("too many"), std::string::npos);
    all.pop_back();
    turn();
    Descriptor another = query(R"({"version":1})");
    text = read_all(another);
    EXPECT_EQ(answer_in(text)["version"], 1);
}

}  // namespace

}  // namespace elastic
