/*
 * All functions of this folder that Hydra's own files call.  Files of this folder include the
 * headers that they need, never this one.
 */

#ifndef PROXY_HOOKS_H_INCLUDED
#define PROXY_HOOKS_H_INCLUDED

#include "pmip_adapt.h"
#include "answers.h"
#include "end.h"
#include "pmi_line.h"
#include "pmi_rest.h"
#include "spawned.h"

#endif /* PROXY_HOOKS_H_INCLUDED */
