/* Fuzzes messages of a step to elasticd: bytes on its socket, after a resize was sent. */

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
    uint64_t reported = 0;
    StepLink::Setup setup;
    setup.job = setup.step = 1;
    setup.socket = socket_path();
    setup.uid = getuid();
    setup.last_request = [] { return 2; };
    setup.notify = [&reported](EventContent content) {
        reported++;
        /* Reports can be stored and read again. */
        if (!event_from_json(Json::parse(to_json(Event{1, 1, std::move(content)}).dump())))
            abort();
        return false;
    };
    setup.sampled = [](const PerformanceAnswer &answer) { return !to_json(answer).dump().empty(); };
    StepLink link(loop, std::move(setup));
    Descriptor step(accept4(listening().get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    link.resize({1, 1, 2, 0, 4, {}, {}, "fuzz"});
    [[maybe_unused]] ssize_t bytes = write(step.get(), data, size);
    step.reset();
    int turns = 0;
    loop.turn_again();
    loop.run([&] {
        link.query_performance(1000);
        if (++turns > 4)
            loop.stop();
        else
            loop.turn_again();
    });
    link.report_all();
    return 0;
}
