#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# run.sh [ARGUMENT...]: apply each patch of the file patches, or those that the arguments of run.py
# choose, and check that its case fails.
exec python3 "$(dirname "$0")/run.py" "$@"
