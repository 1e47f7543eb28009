// Package proxy brings clients to tasks: a browser to a notebook or a
// TensorBoard, ssh to a shell. Everything about a task lies under one path,
//
//	/proxy/<task id>/…
//
// which is passed on unchanged to the one port of the task, that of its runner's
// gateway, with the attempt's secret in a header. Dialled without it the port
// gives nothing; the secret is known to the masters and that runner.
//
// # Two origins
//
// A notebook's page runs whatever its owner likes. Served from the API's origin it
// could act as whoever looks at it. So pages of tasks have an origin of their own,
// on which there is no API:
//
//	Direct  on the API's origin. A program that shows its token in a header is
//	        served in place. A browser, known by its cookie, is sent to the tasks'
//	        origin with a ticket in the address. Nobody else gets anything but a
//	        page that says what to do.
//	Tasks   on the tasks' origin. A ticket is good once, for a minute, and becomes
//	        a cookie that opens this one task, for as long as the session that the
//	        ticket was asked for lives, and as long as its user may enter.
//
// Tickets and cookies are rows, so any master takes what any other gave. Our own
// cookies and tokens, and Authorization, never reach a task.
//
// # Tunnels
//
// A shell is an SSH server; to reach it, bytes are tunnelled. GET /proxy/<shell
// id>/ on the API's origin answers to
//
//	Upgrade: websocket    each binary message is bytes of the tunnel, both ways
//	Upgrade: detent-tcp   what follows the 101 are the bytes; halves close alone
//
// without credentials: ssh's own configuration has nowhere to keep a token, and
// the key that the shell takes, made for it and given to its owner and admins, is
// the lock. client.DialTask opens such a tunnel from Go.
//
// # Ends
//
// live.go keeps a list of everything that is open. It is looked through every few
// seconds: what belongs to an attempt that is over, to a session that has ended
// or to somebody who may not enter any more is closed. A database that is away
// closes nothing. When the master stops, everything is closed; clients come back
// to another master, with the same cookie.
//
// The address of a task comes from the catalogue of services (Consul's, or
// Nomad's), is kept for a while, and serves on when the catalogue is away.
package proxy
