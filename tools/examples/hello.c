// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>

int main(void)
{
	struct sockaddr_in a = { AF_INET, htons(4001), { htonl(INADDR_LOOPBACK) }, { 0 } }, b = a;
	int one = socket(AF_RDS, SOCK_SEQPACKET, 0), two = socket(AF_RDS, SOCK_SEQPACKET, 0);
	char text[64] = "";

	b.sin_port = htons(4002);
	if (bind(one, (void *)&a, sizeof(a)) || bind(two, (void *)&b, sizeof(b)) ||
	    sendto(one, "hello, RDS", 10, 0, (void *)&b, sizeof(b)) != 10 ||
	    recv(two, text, sizeof(text) - 1, 0) != 10) {
		perror("rds-hello");
		return 1;
	}
	puts(text);
	return 0;
}
