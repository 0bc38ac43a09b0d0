#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# run.sh [ID...]: each patch of `patches`, or those whose name begins so, and whether its case fails.
exec python3 "$(dirname "$0")/run.py" "$@"
