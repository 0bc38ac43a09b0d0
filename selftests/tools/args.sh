# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Refused command lines, with the messages of the classic programs.

args_cases() {
	plan 38
	gives tools.ping_no_destination 1 '^Missing destination address$' rds-ping
	gives tools.ping_version 1 '^rds-ping version 2\.0\.7$' rds-ping -h
	gives tools.ping_unknown_option 1 '^Unknown option$' rds-ping -x 10.0.0.2
	gives tools.ping_bad_count 1 '^Bad packet count 3x$' rds-ping -c 3x 10.0.0.2
	gives tools.ping_bad_interval 1 '^Bad wait time -1$' rds-ping -i -1 10.0.0.2
	gives tools.ping_bad_source 1 '^Unknown source address 1\.2\.3\.4\.5$' \
		rds-ping -I 1.2.3.4.5 10.0.0.2
	gives tools.ping_bad_tos 1 '^Bad tos 256$' rds-ping -Q 256 10.0.0.2
	gives tools.ping_bad_destination 1 '^Cannot parse destination address 1\.2\.3\.4\.5$' \
		rds-ping 1.2.3.4.5
	gives tools.info_bad_letter 1 "^rds-info: Invalid option '-X'$" rds-info -X
	gives tools.stress_usage 2 '^rds-stress version 2\.0\.7$' rds-stress -h
	gives tools.stress_unknown_option 2 '^rds-stress version 2\.0\.7$' rds-stress --nonsense
	gives tools.stress_bad_number 1 "^invalid number '9x'$" rds-stress -q 9x
	gives tools.stress_number_range 1 "^invalid number '64k'$" rds-stress -p 65535 -p 64k
	gives tools.stress_bad_name 1 "^invalid host name or dotted quad 'fd00::2'$" \
		rds-stress -s fd00::2
	gives tools.stress_small_req 1 '^req size must be at least 63 bytes$' \
		rds-stress -s 10.0.0.2 -q 62
	gives tools.stress_small_ack 1 '^ack size must be at least 63 bytes$' \
		rds-stress -s 10.0.0.2 -a 62
	gives tools.stress_no_tasks 1 '^at least one task is needed$' rds-stress -s 10.0.0.2 -t 0
	gives tools.stress_conflict 1 '^option --rdma-cache-mrs conflicts with --rdma-use-once$' \
		rds-stress --rdma-cache-mrs 1 --rdma-use-once 1 --rdma-use-get-mr 1
	gives tools.stress_bad_mode 1 "^invalid number '5'$" rds-stress -M 5
	gives tools.stress_bad_transport 1 "^invalid transport 'ib', not rdma or tcp$" \
		rds-stress --transport ib
	gives tools.rdscat_bad_transport 2 'transport is neither rdma nor tcp: ib' \
		rdscat -T ib 10.0.0.2:4000
	gives tools.rdscat_no_address 2 'no address given' rdscat -l
	gives tools.rdscat_no_port 2 'no port given' rdscat 10.0.0.2
	gives tools.rdscat_no_brackets 2 'IPv6 address in brackets' rdscat fd00::2:4000
	gives tools.rdscat_kernel_port 2 'belong to the kernel' rdscat 10.0.0.2:1
	gives tools.rdscat_bad_port 2 'bad port' rdscat 10.0.0.2:65536
	gives tools.rdscat_no_listen_address 2 'bound to one address' rdscat -l :4000
	gives tools.rdscat_bad_time 2 'bad time' rdscat -w 0 10.0.0.2:4000
	gives tools.rdscat_two_addresses 2 'too many arguments' rdscat 10.0.0.2:4000 10.0.0.2:4001
	gives tools.rdscat_foreign_address 1 'cannot bind to 10\.0\.0\.99:4000' \
		ip netns exec B rdscat -l 10.0.0.99:4000
	gives tools.rdscat_no_route 1 'no route to 192\.0\.2\.1' \
		ip netns exec A rdscat 192.0.2.1:4000
	# A stream has other ports and addresses, and its module is not loaded here.
	gives tools.rdscat_stream_bad_port 2 'port 0 is no port: 10\.0\.0\.2:0$' \
		rdscat --stream 10.0.0.2:0
	gives tools.rdscat_stream_all_addresses 2 'no address given: all are 0\.0\.0\.0:PORT or \[::\]:PORT' \
		rdscat --stream -l :4000
	gives tools.rdscat_stream_source 2 '-s makes no sense with -l' \
		rdscat --stream -l -s 10.0.0.1 10.0.0.1:4000
	gives tools.rdscat_stream_no_module 1 '^rdscat: cannot create a stream socket: Socket type not supported$' \
		rdscat --stream 10.0.0.1:1
	gives tools.rdscat_stream_hint 1 '^hint: rds_stream is not loaded: modprobe rds_stream$' \
		rdscat --stream 10.0.0.1:1
	gives tools.info_streams_no_module 1 \
		'^rds-info: Unable get statistics: No such file or directory \(Streams\)$' rds-info -S
	gives tools.info_streams_hint 1 '^hint: rds_stream is not loaded: modprobe rds_stream$' \
		rds-info --stream-counters
}
