// Package proxy forwards requests of clients to tasks: of a browser to a notebook or a
// TensorBoard, of ssh to a shell. All paths of a task begin with
//
//	/proxy/<task id>/…
//
// The proxy forwards the path unchanged to the task's gateway (the runner's listener), with
// the attempt's secret in a header. The gateway rejects requests without the secret, which
// only the masters and this runner know.
//
// # Two origins
//
// A notebook's page runs any code of its owner. At the API's origin it could act in the name
// of every user who opens it. So pages of tasks have a separate origin without the API:
//
//	Direct  handles requests at the API's origin. It forwards the requests of programs,
//	        which have a token in a header. It redirects a browser, which has a session
//	        cookie, to the tasks' origin with a ticket in the address. Other callers get a
//	        page that tells them how to sign in. Programs that know only one task, such as
//	        editors, have a token for this task in place of a user's (program.go).
//	Tasks   handles requests at the tasks' origin. A ticket is valid once, for a minute; the
//	        proxy exchanges it for a cookie for this task, which is valid until the session
//	        of the ticket ends or its user may no longer open the task.
//
// Tickets and cookies are rows, so every master accepts those of the others. The proxy
// never forwards our own cookies and tokens, nor Authorization, to a task.
//
// # Tunnels
//
// A shell is an SSH server, which clients reach through a tunnel. GET /proxy/<shell id>/ at
// the API's origin accepts
//
//	Upgrade: websocket    each binary message has bytes of the tunnel, in both directions
//	Upgrade: detent-tcp   the bytes follow the answer 101; each direction closes separately
//
// without credentials, because ssh's configuration has no place for a token. The shell
// itself requires the SSH key that was made for it, which its owner and admins get.
// client.DialTask opens such a tunnel from Go.
//
// # The end of connections
//
// live.go has a list of all open connections. Every few seconds the proxy closes those whose
// attempt or session has ended, or whose user may no longer open the task. It closes none
// while the database does not answer. When the master stops, it closes all; clients
// reconnect to another master, with the same cookie.
//
// The address of a task comes from the service catalogue (of Consul or Nomad). The proxy
// caches it, and uses the cached address while the catalogue does not answer.
package proxy
