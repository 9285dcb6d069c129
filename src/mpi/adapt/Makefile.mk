# Adaptations of MPI_COMM_WORLD: the MPI layer here, the device's parts where they belong.

AM_CPPFLAGS += -I$(top_srcdir)/src/mpi/adapt

include $(top_srcdir)/src/mpi/connect/Makefile.mk
include $(top_srcdir)/src/mpi/hooks/Makefile.mk
include $(top_srcdir)/src/mpi/session/Makefile.mk
include $(top_srcdir)/src/mpi/dynproc/Makefile.mk
include $(top_srcdir)/src/mpi/process/Makefile.mk
include_HEADERS += src/include/mpi_adapt.h src/include/mpi_dyn_names.h src/include/mpi_epop.h

noinst_HEADERS += \
    src/mpi/adapt/tools/tool_functions.h \
    src/mpi/adapt/tools/tool_view.h \
    src/include/mpir_adapt.h \
    src/include/mpir_adapt_context.h \
    src/include/mpir_adapt_device.h \
    src/include/mpir_device_callbacks.h \
    src/include/mpid_dynproc.h \
    src/include/mpid_failure.h \
    src/include/mpid_session.h \
    src/include/mpir_measure.h \
    src/include/mpir_process_request.h \
    src/mpi/adapt/adapt.h \
    src/mpi/adapt/adapt_clock.h \
    src/include/mpir_adapt_session.h \
    src/include/mpir_error_hooks.h \
    src/mpi/adapt/adapt_handles.h \
    src/mpi/adapt/adapt_measure.h \
    src/mpi/adapt/adapt_phases.h \
    src/mpi/adapt/adapt_export.h \
    src/mpi/adapt/adapt_site.h \
    src/mpi/adapt/perf_graph.h \
    src/mpi/adapt/perf_measure.h \
    src/mpi/adapt/perf_pack.h \
    src/mpi/adapt/perf_phases.h \
    src/mpid/ch4/src/ch4_adapt.h \
    src/mpid/ch4/src/ch4_adapt_prebuild.h \
    src/mpid/ch4/src/ch4_adapt_comms.h \
    src/mpid/ch4/src/ch4_adapt_preconnect.h \
    src/mpid/ch4/src/ch4_adapt_nodes.h \
    src/mpid/ch4/src/ch4_adapt_renumber.h \
    src/mpid/ch4/src/ch4_adapt_segment.h \
    src/mpid/ch4/src/ch4_adapt_table.h \
    src/mpid/ch4/src/ch4_adapt_unexpected.h \
    src/mpid/ch4/src/ch4_adapt_window.h \
    src/mpid/ch4/src/ch4_adapt_world.h \
    src/mpid/ch4/netmod/ofi/ofi_adapt.h \
    src/mpid/common/shm/mpidu_oversubscribed.h \
    src/mpid/common/shm/mpidu_init_shm_adapt.h \
    src/mpid/common/shm/mpidu_init_shm_adapt_inc.h \
    src/pmi/include/pmi_adapt.h \
    src/pmi/include/pmi_adapt_calls.h \
    src/pmi/include/pmi_adapt_measured.h \
    src/pmi/include/pmi_adapt_plan.h \
    src/pmi/include/pmi_adapt_sizes.h \
    src/pmi/include/pmi_adapt_signal.h \
    src/pmi/include/pmi_adapt_request.h \
    src/pmi/simple/simple_pmi_adapt.h \
    src/pmi/simple/simple_pmi_singleton.h

mpi_core_sources += \
    src/mpi/adapt/adapt_prepare.c \
    src/mpi/adapt/adapt_attributes.c \
    src/mpi/adapt/adapt_clock.c \
    src/mpi/adapt/adapt_error_classes.c \
    src/mpi/adapt/adapt_init.c \
    src/mpi/adapt/adapt_derivation.c \
    src/mpi/adapt/adapt_measure.c \
    src/mpi/adapt/adapt_pending.c \
    src/mpi/adapt/adapt_phases.c \
    src/mpi/adapt/adapt_plan.c \
    src/mpi/adapt/adapt_pools.c \
    src/mpi/adapt/adapt_probe.c \
    src/mpi/adapt/adapt_pvars.c \
    src/mpi/adapt/adapt_export.c \
    src/mpi/adapt/adapt_release.c \
    src/mpi/adapt/adapt_site.c \
    src/mpi/adapt/adapt_sizes.c \
    src/mpi/adapt/adapt_stale.c \
    src/mpi/adapt/adapt_state.c \
    src/mpi/adapt/adapt_unable.c \
    src/mpi/adapt/adapt_unreceived.c \
    src/mpi/adapt/adapt_window.c \
    src/mpi/adapt/adapt_modify.c \
    src/mpi/adapt/adapt_size_request.c \
    src/mpi/adapt/perf_graph.c \
    src/mpi/adapt/perf_measure.c \
    src/mpi/adapt/perf_pack.c \
    src/mpi/adapt/perf_phases.c \
    src/mpid/ch4/src/ch4_adapt_prebuild.c \
    src/mpid/ch4/src/ch4_adapt_begin.c \
    src/mpid/ch4/src/ch4_adapt_commit.c \
    src/mpid/ch4/src/ch4_adapt_comms.c \
    src/mpid/ch4/src/ch4_adapt_preconnect.c \
    src/mpid/ch4/src/ch4_adapt_handles.c \
    src/mpid/ch4/src/ch4_start_null.c \
    src/mpid/ch4/src/ch4_adapt_nodes.c \
    src/mpid/ch4/src/ch4_adapt_renumber.c \
    src/mpid/ch4/src/ch4_adapt_segment.c \
    src/mpid/ch4/src/ch4_adapt_table.c \
    src/mpid/ch4/src/ch4_adapt_unexpected.c \
    src/mpid/ch4/src/ch4_adapt_window.c \
    src/mpid/ch4/src/ch4_adapt_world.c \
    src/mpid/ch4/src/ch4_hosts.c \
    src/mpid/ch4/src/ch4_channels.c \
    src/mpid/ch4/netmod/ofi/ofi_adapt.c \
    src/mpid/ch4/netmod/ofi/ofi_adapt_unexpected.c \
    src/mpid/ch4/shm/posix/posix_adapt.c \
    src/mpid/ch4/shm/posix/posix_flags.c \
    src/mpid/ch4/shm/posix/posix_channels.c \
    src/mpid/ch4/shm/posix/posix_recv_segment.c \
    src/mpid/ch4/shm/src/shm_adapt.c \
    src/mpid/common/shm/mpidu_oversubscribed.c

# Around profiling tools that know no adaptations (tools/tool_view.h): loaded by name, linked by nobody.
lib_LTLIBRARIES += lib/libelastic_tool_before.la lib/libelastic_tool_after.la
lib_libelastic_tool_before_la_SOURCES = src/mpi/adapt/tools/tool_before.c
lib_libelastic_tool_before_la_LDFLAGS = -module -avoid-version -shared -Wl,--as-needed
lib_libelastic_tool_after_la_SOURCES = src/mpi/adapt/tools/tool_after.c
lib_libelastic_tool_after_la_LDFLAGS = -module -avoid-version -shared -Wl,--as-needed
