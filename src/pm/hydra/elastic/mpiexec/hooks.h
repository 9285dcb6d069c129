/*
 * The part of mpiexec for adaptations, as called by Hydra's own files: Hydra's event loop calls the
 * core of the step manager (stepmgr/stepmgr.h), and functions of Hydra perform its effects.  The
 * files of this folder own all state; every call comes from the event loop, no function blocks.
 * Before an adaptive process has registered, and without --adapt options, all functions have no
 * effect.  Protocol clauses I5, P7, P8, C3, C7, E3, E4.
 *
 * Files of this folder include the headers that they need, never this one.
 */

#ifndef STEP_HOOKS_H_INCLUDED
#define STEP_HOOKS_H_INCLUDED

#include "hydra.h"
#include "hydra_server.h"
#include "common.h"
#include "connections.h"
#include "end.h"
#include "exits.h"
#include "groups.h"
#include "handshake.h"
#include "input.h"
#include "launch.h"
#include "names.h"
#include "newcomers.h"
#include "nodes.h"
#include "options.h"
#include "output.h"
#include "psets.h"
#include "reports.h"
#include "spawn.h"
#include "spawned.h"
#include "start.h"
#include "wire/channel.h"
#include "wire/hook.h"

/* Rows of mpiexec's table of options (ui/mpich/utils.c). */
#define HYD_STEP_OPTIONS                                                        \
    {"s", HYD_step_input_fn, HYD_step_input_help_fn},                           \
    {"pset", HYD_step_pset_fn, HYD_step_pset_help_fn},                          \
    {"sets-log", HYD_step_option_fn, HYD_step_option_help_fn},                  \
    {"adapt-schedule", HYD_step_option_fn, HYD_step_option_help_fn},            \
    {"adapt-policy", HYD_step_option_fn, HYD_step_option_help_fn},              \
    {"adapt-range", HYD_step_option_fn, HYD_step_option_help_fn},               \
    {"adapt-interval", HYD_step_option_fn, HYD_step_option_help_fn},            \
    {"adapt-log", HYD_step_option_fn, HYD_step_option_help_fn},                 \
    {"adapt-performance", HYD_step_option_fn, HYD_step_option_help_fn},

#endif /* STEP_HOOKS_H_INCLUDED */
