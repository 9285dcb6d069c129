##
## The step manager in mpiexec, the board and what serves it in hydra_pmi_proxy.
##
##   stepmgr/   the step manager without input and output
##   mpiexec/   the part in Hydra's mpiexec
##   proxy/     the part in the proxy, hydra_pmi_proxy
##   wire/      the common part of these two: messages, channels, the event loop
##

AM_CPPFLAGS += -I$(top_srcdir)/elastic -I$(top_srcdir)/pm/pmiserv
# Hydra itself is compiled without optimisation; reports of a large job take the step manager 2.5 times as long so.
AM_CXXFLAGS = -std=c++20 -O2

# nlohmann-json is headers alone; the C++ runtime is linked in, so that mpiexec starts
# wherever it did before.
elastic_ldflags = -static-libstdc++ -static-libgcc

elastic_stepmgr_sources = \
    elastic/base/change.cpp \
    elastic/base/program_sizes.cpp \
    elastic/stepmgr/adapt/job_mode.cpp \
    elastic/stepmgr/adapt/plan.cpp \
    elastic/stepmgr/adapt/resize_reports.cpp \
    elastic/stepmgr/adapt/world_resize.cpp \
    elastic/stepmgr/common/pset_members.cpp \
    elastic/stepmgr/common/schedule.cpp \
    elastic/stepmgr/common/size_request.cpp \
    elastic/stepmgr/common/step_events.cpp \
    elastic/stepmgr/common/world.cpp \
    elastic/stepmgr/monitor/performance_sample.cpp \
    elastic/stepmgr/monitor/performance_sampler.cpp \
    elastic/stepmgr/monitor/state_log.cpp \
    elastic/stepmgr/monitor/state_output.cpp \
    elastic/stepmgr/monitor/straggler_reporter.cpp \
    elastic/stepmgr/monitor/unreceived_messages.cpp \
    elastic/stepmgr/monitor/window_stragglers.cpp \
    elastic/stepmgr/proto/loops.cpp \
    elastic/stepmgr/proto/payload.cpp \
    elastic/stepmgr/proto/protocol.cpp \
    elastic/stepmgr/proto/pset_call.cpp \
    elastic/stepmgr/proto/task_call.cpp \
    elastic/stepmgr/psets/process_sets.cpp \
    elastic/stepmgr/psets/pset_bc_table.cpp \
    elastic/stepmgr/psets/pset_bcasts.cpp \
    elastic/stepmgr/psets/pset_change_end.cpp \
    elastic/stepmgr/psets/pset_change_table.cpp \
    elastic/stepmgr/psets/pset_changes.cpp \
    elastic/stepmgr/psets/pset_departures.cpp \
    elastic/stepmgr/psets/pset_invalidation.cpp \
    elastic/stepmgr/psets/pset_meshes.cpp \
    elastic/stepmgr/psets/pset_mode.cpp \
    elastic/stepmgr/psets/pset_operations.cpp \
    elastic/stepmgr/psets/pset_rendezvous.cpp \
    elastic/stepmgr/psets/pset_replies.cpp \
    elastic/stepmgr/psets/pset_sync.cpp \
    elastic/stepmgr/psets/psets.cpp \
    elastic/stepmgr/psets/psets_data.cpp \
    elastic/stepmgr/psets/psets_lookup.cpp \
    elastic/stepmgr/requests/adapt_policy.cpp \
    elastic/stepmgr/requests/comm_modify.cpp \
    elastic/stepmgr/requests/resize_requests.cpp \
    elastic/stepmgr/requests/size_hints.cpp \
    elastic/stepmgr/requests/size_delivery.cpp \
    elastic/stepmgr/requests/size_request_queue.cpp \
    elastic/stepmgr/requests/size_requests.cpp \
    elastic/stepmgr/requests/size_source.cpp \
    elastic/stepmgr/state/adaptation_statistics.cpp \
    elastic/stepmgr/state/adaptation_table.cpp \
    elastic/stepmgr/state/step_state.cpp \
    elastic/stepmgr/state/step_status.cpp \
    elastic/stepmgr/step/step.cpp \
    elastic/stepmgr/c_interface.cpp \
    elastic/stepmgr/tasks/relay_proxies.cpp \
    elastic/stepmgr/tasks/slots.cpp \
    elastic/stepmgr/tasks/slots_tasks.cpp \
    elastic/stepmgr/tasks/task_manager.cpp

noinst_HEADERS += \
    elastic/base/change.h \
    elastic/base/program_sizes.h \
    elastic/base/result.h \
    elastic/stepmgr/adapt/job_mode.h \
    elastic/stepmgr/adapt/plan.h \
    elastic/stepmgr/adapt/world_resize.h \
    elastic/stepmgr/common/bytes.h \
    elastic/stepmgr/common/pset_members.h \
    elastic/stepmgr/common/schedule.h \
    elastic/stepmgr/common/size_request.h \
    elastic/stepmgr/common/step_events.h \
    elastic/stepmgr/common/world.h \
    elastic/stepmgr/monitor/performance_sample.h \
    elastic/stepmgr/monitor/performance_sampler.h \
    elastic/stepmgr/monitor/state_log.h \
    elastic/stepmgr/monitor/state_output.h \
    elastic/stepmgr/monitor/unreceived_messages.h \
    elastic/stepmgr/monitor/straggler_reporter.h \
    elastic/stepmgr/proto/call_bytes.h \
    elastic/stepmgr/proto/call_fields.h \
    elastic/stepmgr/proto/call_reply.h \
    elastic/stepmgr/proto/loops.h \
    elastic/stepmgr/proto/payload.h \
    elastic/stepmgr/proto/protocol.h \
    elastic/stepmgr/proto/pset_call.h \
    elastic/stepmgr/proto/task_call.h \
    elastic/stepmgr/psets/process_sets.h \
    elastic/stepmgr/psets/pset_bc_table.h \
    elastic/stepmgr/psets/pset_bcasts.h \
    elastic/stepmgr/psets/pset_changes.h \
    elastic/stepmgr/psets/pset_departures.h \
    elastic/stepmgr/psets/pset_invalidation.h \
    elastic/stepmgr/psets/pset_meshes.h \
    elastic/stepmgr/psets/pset_mode.h \
    elastic/stepmgr/psets/pset_operations.h \
    elastic/stepmgr/psets/pset_rendezvous.h \
    elastic/stepmgr/psets/pset_sync.h \
    elastic/stepmgr/psets/psets.h \
    elastic/stepmgr/psets/psets_errors.h \
    elastic/stepmgr/state/adaptation.h \
    elastic/stepmgr/requests/adapt_policy.h \
    elastic/stepmgr/requests/resize_requests.h \
    elastic/stepmgr/requests/size_requests.h \
    elastic/stepmgr/requests/size_request_queue.h \
    elastic/stepmgr/requests/size_source.h \
    elastic/stepmgr/state/adaptation_control.h \
    elastic/stepmgr/state/adaptation_statistics.h \
    elastic/stepmgr/state/adaptation_table.h \
    elastic/stepmgr/state/size_request_control.h \
    elastic/stepmgr/state/step_state.h \
    elastic/stepmgr/state/step_status.h \
    elastic/stepmgr/step/step.h \
    elastic/stepmgr/stepmgr.h \
    elastic/stepmgr/tasks/slots.h \
    elastic/stepmgr/tasks/task_manager.h \
    elastic/mpiexec/arguments.h     \
    elastic/mpiexec/capacity.h      \
    elastic/mpiexec/connections.h   \
    elastic/mpiexec/core.h          \
    elastic/mpiexec/effects.h       \
    elastic/mpiexec/end.h           \
    elastic/mpiexec/exits.h         \
    elastic/mpiexec/hooks.h          \
    elastic/mpiexec/handshake.h      \
    elastic/mpiexec/groups.h        \
    elastic/mpiexec/input.h         \
    elastic/mpiexec/launch.h        \
    elastic/mpiexec/launcher_ends.h \
    elastic/mpiexec/launchers.h     \
    elastic/mpiexec/lines.h         \
    elastic/mpiexec/managed_signals.h \
    elastic/mpiexec/names.h         \
    elastic/mpiexec/newcomers.h     \
    elastic/mpiexec/nodes.h         \
    elastic/mpiexec/psets.h         \
    elastic/mpiexec/spawn.h         \
    elastic/mpiexec/spawned.h       \
    elastic/mpiexec/options.h       \
    elastic/mpiexec/output.h        \
    elastic/mpiexec/performance.h   \
    elastic/mpiexec/relay.h         \
    elastic/mpiexec/reports.h       \
    elastic/mpiexec/socket.h        \
    elastic/mpiexec/start.h         \
    elastic/mpiexec/state.h         \
    elastic/mpiexec/timers.h        \
    elastic/messages/calls.h        \
    elastic/messages/kinds.h        \
    elastic/messages/report_writers.h \
    elastic/messages/reports.h      \
    elastic/pmi_adapt.h             \
    elastic/pmi_adapt_measured.h    \
    elastic/pmi_adapt_plan.h        \
    elastic/pmi_adapt_set.h         \
    elastic/pmi_adapt_sizes.h       \
    elastic/pmi_adapt_signal.h      \
    elastic/pmi_adapt_request.h        \
    elastic/pmi_messages.h          \
    elastic/proxy/pmip_adapt.h           \
    elastic/proxy/answers.h         \
    elastic/proxy/bcasts.h          \
    elastic/proxy/board.h           \
    elastic/proxy/commands.h        \
    elastic/proxy/committed.h       \
    elastic/proxy/connection.h      \
    elastic/proxy/end.h             \
    elastic/proxy/exits.h           \
    elastic/proxy/gathered_loops.h  \
    elastic/proxy/hooks.h           \
    elastic/proxy/output.h          \
    elastic/proxy/performance.h     \
    elastic/proxy/plan_areas.h     \
    elastic/proxy/pmi_line.h        \
    elastic/proxy/pmi_rest.h        \
    elastic/proxy/relay.h           \
    elastic/proxy/reports.h         \
    elastic/proxy/sequence.h        \
    elastic/proxy/set_calls.h       \
    elastic/proxy/sets.h            \
    elastic/proxy/spawned.h         \
    elastic/proxy/state.h           \
    elastic/proxy/task_output.h     \
    elastic/proxy/tasks.h           \
    elastic/proxy/reaper.h          \
    elastic/proxy/stdin.h           \
    elastic/proxy/upward.h          \
    elastic/proxy/requests.h            \
    elastic/wire/accept.h           \
    elastic/wire/bcast.h            \
    elastic/wire/channel.h          \
    elastic/wire/children.h         \
    elastic/wire/clock.h            \
    elastic/wire/event_loop.h       \
    elastic/wire/file_size.h        \
    elastic/wire/hook.h             \
    elastic/wire/job_secret.h       \
    elastic/wire/kinds.h            \
    elastic/wire/loop_parts.h       \
    elastic/wire/loop_set.h         \
    elastic/wire/message.h          \
    elastic/wire/sample.h           \
    elastic/wire/send_queue.h       \
    elastic/wire/sessions.h         \
    elastic/wire/keepalive.h          \
    elastic/wire/spawn.h            \
    elastic/wire/step_socket.h      \
    elastic/wire/tree.h             \
    elastic/wire/task.h             \
    elastic/wire/request_messages.h

# For the launchers, mpiexec and hydra_pmi_proxy.
libhydra_la_SOURCES += \
    elastic/wire/accept.c     \
    elastic/wire/channel.c    \
    elastic/wire/children.c   \
    elastic/wire/event_loop.c \
    elastic/wire/job_secret.c \
    elastic/wire/send_queue.c \
    elastic/wire/sessions.c   \
    elastic/wire/keepalive.c

if hydra_ui_mpich
mpiexec_hydra_SOURCES += \
    elastic/mpiexec/capacity.c  \
    elastic/mpiexec/connections.c \
    elastic/mpiexec/core.c      \
    elastic/mpiexec/effects.c   \
    elastic/mpiexec/end.c       \
    elastic/mpiexec/exits.c     \
    elastic/mpiexec/handshake.c  \
    elastic/mpiexec/groups.c    \
    elastic/mpiexec/input.c     \
    elastic/mpiexec/launch.c    \
    elastic/mpiexec/launcher_ends.c \
    elastic/mpiexec/launchers.c \
    elastic/mpiexec/lines.c     \
    elastic/mpiexec/managed_signals.c \
    elastic/mpiexec/names.c     \
    elastic/mpiexec/newcomers.c \
    elastic/mpiexec/nodes.c     \
    elastic/mpiexec/arguments.c \
    elastic/mpiexec/options.c   \
    elastic/mpiexec/psets.c     \
    elastic/mpiexec/output.c    \
    elastic/mpiexec/performance.c \
    elastic/mpiexec/relay.c     \
    elastic/mpiexec/relay_ports.c \
    elastic/mpiexec/reports.c   \
    elastic/mpiexec/socket.c    \
    elastic/mpiexec/spawn.c     \
    elastic/mpiexec/spawned.c   \
    elastic/mpiexec/start.c     \
    elastic/mpiexec/state.c     \
    elastic/mpiexec/timers.c    \
    elastic/wire/loop_bytes.c   \
    elastic/wire/loop_graph.c   \
    elastic/wire/loop_items.c   \
    elastic/wire/loop_reader.c  \
    elastic/wire/loop_reduction.c\
    elastic/wire/loop_set.c     \
    elastic/wire/message.c      \
    $(elastic_stepmgr_sources)
mpiexec_hydra_LDFLAGS += $(elastic_ldflags)
endif

if hydra_pm_pmiserv
hydra_pmi_proxy_SOURCES += \
    elastic/proxy/abort.c       \
    elastic/proxy/answers.c     \
    elastic/proxy/bcasts.c      \
    elastic/proxy/board.c       \
    elastic/proxy/commands.c    \
    elastic/proxy/committed.c   \
    elastic/proxy/connection.c  \
    elastic/proxy/end.c         \
    elastic/proxy/early_ends.c  \
    elastic/proxy/exits.c       \
    elastic/proxy/gathered_loops.c \
    elastic/proxy/handshake.c    \
    elastic/proxy/messages.c    \
    elastic/proxy/output.c      \
    elastic/proxy/performance.c \
    elastic/proxy/plan_areas.c \
    elastic/proxy/parked.c      \
    elastic/proxy/pmi_commands.c\
    elastic/proxy/pmi_line.c    \
    elastic/proxy/pmi_rest.c    \
    elastic/proxy/relay.c       \
    elastic/proxy/reports.c     \
    elastic/proxy/say.c         \
    elastic/proxy/sequence.c    \
    elastic/proxy/set_sharing.c \
    elastic/proxy/set_starts.c  \
    elastic/proxy/sets.c        \
    elastic/proxy/spawned.c     \
    elastic/proxy/start.c       \
    elastic/proxy/task_environment.c \
    elastic/proxy/task_output.c \
    elastic/proxy/tasks.c       \
    elastic/proxy/reaper.c      \
    elastic/proxy/stdin.c       \
    elastic/proxy/upward.c      \
    elastic/proxy/requests.c        \
    elastic/wire/loop_bytes.c   \
    elastic/wire/loop_graph.c   \
    elastic/wire/loop_items.c   \
    elastic/wire/loop_reader.c  \
    elastic/wire/loop_reduction.c\
    elastic/wire/loop_set.c     \
    elastic/wire/message.c
endif
