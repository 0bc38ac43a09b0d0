#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# run.sh [ID...]: apply each patch of the file patches, or those whose ID begins with one of these,
# and check that its case fails.
exec python3 "$(dirname "$0")/run.py" "$@"
