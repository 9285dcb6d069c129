##
## The step manager's core and glue in mpiexec, the board in hydra_pmi_proxy.
##

AM_CPPFLAGS += -I$(top_srcdir)/elastic -I$(top_srcdir)/pm/pmiserv
AM_CXXFLAGS = -std=c++20

# nlohmann-json is headers alone; the C++ runtime is linked in, so that mpiexec starts
# wherever it did before.
elastic_ldflags = -static-libstdc++ -static-libgcc

elastic_core_sources =         \
    elastic/adaptation_table.cpp \
    elastic/change.cpp         \
    elastic/journal.cpp        \
    elastic/offers.cpp         \
    elastic/payload.cpp        \
    elastic/plan.cpp           \
    elastic/policy.cpp         \
    elastic/protocol.cpp       \
    elastic/schedule.cpp       \
    elastic/program_sizes.cpp  \
    elastic/step.cpp           \
    elastic/step_adapt.cpp     \
    elastic/step_behind.cpp    \
    elastic/step_client.cpp    \
    elastic/step_core.cpp      \
    elastic/step_sizes.cpp     \
    elastic/step_window.cpp    \
    elastic/world.cpp

# Channels and their event loop: for sock.c, mpiexec and hydra_pmi_proxy.
libhydra_la_SOURCES +=         \
    elastic/accept.c           \
    elastic/channel.c          \
    elastic/event_loop.c       \
    elastic/send_queue.c       \
    elastic/silence.c

noinst_HEADERS +=              \
    elastic/accept.h           \
    elastic/adapt_end.h        \
    elastic/adapt_message.h    \
    elastic/adapt_output.h     \
    elastic/adapt_pmip.h       \
    elastic/adapt_relay.h      \
    elastic/adaptation.h       \
    elastic/adaptation_table.h \
    elastic/board.h            \
    elastic/change.h           \
    elastic/channel.h          \
    elastic/event_loop.h       \
    elastic/job_secret.h       \
    elastic/journal.h          \
    elastic/offers.h           \
    elastic/payload.h          \
    elastic/plan.h             \
    elastic/pmi_adapt.h        \
    elastic/pmi_adapt_sizes.h  \
    elastic/policy.h           \
    elastic/protocol.h         \
    elastic/result.h           \
    elastic/schedule.h         \
    elastic/program_sizes.h    \
    elastic/send_queue.h       \
    elastic/silence.h          \
    elastic/step.h             \
    elastic/step_core.h        \
    elastic/step_end.h         \
    elastic/step_glue.h        \
    elastic/step_greeting.h    \
    elastic/step_socket.h      \
    elastic/step_state.h       \
    elastic/world.h

# of the launchers, too
libhydra_la_SOURCES += elastic/job_secret.c

if hydra_ui_mpich
mpiexec_hydra_SOURCES +=       \
    elastic/step_end.c         \
    elastic/step_glue.c        \
    elastic/step_greeting.c    \
    elastic/step_launch.c      \
    elastic/step_launchers.c   \
    elastic/step_options.c     \
    elastic/step_output.c      \
    elastic/step_relay.c       \
    elastic/step_socket.c      \
    $(elastic_core_sources)
mpiexec_hydra_LDFLAGS += $(elastic_ldflags)
endif

if hydra_pm_pmiserv
hydra_pmi_proxy_SOURCES +=     \
    elastic/adapt_end.c        \
    elastic/adapt_greeting.c   \
    elastic/adapt_output.c     \
    elastic/adapt_pmip.c       \
    elastic/adapt_pmip_say.c   \
    elastic/adapt_relay.c      \
    elastic/board.c
endif
