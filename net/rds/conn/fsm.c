// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "conn/fsm.h"

#define NO	(-1)

static const signed char next_state[RDS_PATH_NR_STATES][RDS_PATH_NR_EVENTS] = {
	[RDS_PATH_DOWN] = {
		[RDS_EV_DIAL]	= RDS_PATH_CONNECTING,
		[RDS_EV_CLAIM]	= RDS_PATH_CONNECTING,
		[RDS_EV_UP]	= NO,
		[RDS_EV_LOST]	= NO,
		[RDS_EV_CLOSED]	= NO,
		[RDS_EV_KILL]	= RDS_PATH_DEAD,
	},
	[RDS_PATH_CONNECTING] = {
		[RDS_EV_DIAL]	= NO,
		[RDS_EV_CLAIM]	= NO,
		[RDS_EV_UP]	= RDS_PATH_UP,
		[RDS_EV_LOST]	= RDS_PATH_CLOSING,
		[RDS_EV_CLOSED]	= NO,
		[RDS_EV_KILL]	= NO,
	},
	[RDS_PATH_UP] = {
		[RDS_EV_DIAL]	= NO,
		[RDS_EV_CLAIM]	= NO,
		[RDS_EV_UP]	= NO,
		[RDS_EV_LOST]	= RDS_PATH_CLOSING,
		[RDS_EV_CLOSED]	= NO,
		[RDS_EV_KILL]	= NO,
	},
	[RDS_PATH_CLOSING] = {
		[RDS_EV_DIAL]	= NO,
		[RDS_EV_CLAIM]	= NO,
		[RDS_EV_UP]	= NO,
		[RDS_EV_LOST]	= NO,
		[RDS_EV_CLOSED]	= RDS_PATH_DOWN,
		[RDS_EV_KILL]	= NO,
	},
	[RDS_PATH_DEAD] = {
		[RDS_EV_DIAL]	= NO,
		[RDS_EV_CLAIM]	= NO,
		[RDS_EV_UP]	= NO,
		[RDS_EV_LOST]	= NO,
		[RDS_EV_CLOSED]	= NO,
		[RDS_EV_KILL]	= NO,
	},
};

int rds_cpath_next(enum rds_cpath_state state, enum rds_cpath_event event)
{
	return next_state[state][event];
}

const char *rds_cpath_state_name(enum rds_cpath_state state)
{
	static const char *const names[RDS_PATH_NR_STATES] = {
		[RDS_PATH_DOWN]		= "down",
		[RDS_PATH_CONNECTING]	= "connecting",
		[RDS_PATH_UP]		= "up",
		[RDS_PATH_CLOSING]	= "closing",
		[RDS_PATH_DEAD]		= "dead",
	};

	return names[state];
}
