// SPDX-License-Identifier: Apache-2.0
// The seams between the core and the world, gathered: what `io` supplies in the daemon and tests
// replace by doubles.
//   packet view in     core/worker.h       PacketView
//   transmit sink      sctp/transmit_sink.h
//   page source        mem/page_source.h
//   reclaimer          base/reclaimer.h
//   hand-off           base/byte_ring.h: memory only, needs no double
#pragma once
#include "base/byte_ring.h"
#include "base/reclaimer.h"
#include "core/worker.h"
#include "mem/page_source.h"
#include "sctp/transmit_sink.h"
