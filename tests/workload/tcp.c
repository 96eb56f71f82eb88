// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * tcp N - N writes of one byte over a TCP connection on loopback, each received before
 * the next is written. Each reaches tcp_sendmsg() once.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "work.h"

static uint64_t n;
static int from, to;

FRAME static void send_one(void)
{
	if (raw_syscall3(SYS_write, from, (long)"x", 1) != 1)
		exit(1);
	STAY();
}

FRAME static void receive_one(void)
{
	char byte;

	if (recv(to, &byte, 1, 0) != 1)
		exit(1);
	STAY();
}

FRAME static void run(void)
{
	for (uint64_t i = 0; i < n; i++) {
		send_one();
		receive_one();
	}
	STAY();
}

static void connect_both(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(addr);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int on = 1;

	from = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&addr, size) != 0 || listen(listener, 1) != 0 ||
	    getsockname(listener, (struct sockaddr *)&addr, &size) != 0 ||
	    connect(from, (struct sockaddr *)&addr, size) != 0) {
		perror("loopback");
		exit(1);
	}
	to = accept(listener, NULL, NULL);
	setsockopt(from, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

int main(int argc, char **argv)
{
	argv = work_begin(argc, argv, 1, "N");
	n = work_number(argv[0]);
	connect_both();
	work_run(run);
	work_expect("send_one", n);
	return 0;
}
