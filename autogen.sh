#!/bin/sh
# Make our own configure (MPICH's is made later, in the build folder).
set -e
cd "$(dirname "$0")"
autoreconf --install --force
