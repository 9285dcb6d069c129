/* Fuzzes what a step may say to elasticd: bytes on the socket that it listens on, after a resize
 * that it was sent. */

#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/log.h"
#include "step/step_link.h"

namespace {

using namespace elastic::rm;

const std::string &socket_path()
{
    static const std::string path = "/tmp/step-link-fuzz-" + std::to_string(getpid());
    return path;
}

const Descriptor &listening()
{
    static const Descriptor socket = [] {
        atexit([] { unlink(socket_path().c_str()); });
        set_log_level(LogLevel::ERROR);
        return Descriptor(listen_unix_anywhere(socket_path()));
    }();
    return socket;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    listening();
    Loop loop;
    uint64_t told = 0;
    StepLink::Place place;
    place.job = place.step = 1;
    place.socket = socket_path();
    place.uid = getuid();
    place.last_request = [] { return 2; };
    place.tell = [&told](EventContent content) {
        told++;
        /* What is told can be stored and read again. */
        if (!event_from_json(Json::parse(to_json(Event{1, 1, std::move(content)}).dump())))
            abort();
        return false;
    };
    place.sampled = [](const PerformanceAnswer &answer) { return !to_json(answer).dump().empty(); };
    StepLink link(loop, std::move(place));
    Descriptor step(accept4(listening().get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    link.resize({1, 1, 2, 0, 4, {}, {}, "fuzz"});
    [[maybe_unused]] ssize_t bytes = write(step.get(), data, size);
    step.reset();
    int turns = 0;
    loop.turn_again();
    loop.run([&] {
        link.ask_performance(1000);
        if (++turns > 4)
            loop.stop();
        else
            loop.turn_again();
    });
    link.tell_all();
    return 0;
}
