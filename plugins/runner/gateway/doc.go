//go:build linux

// Package gateway is the only port of a task, opened by its runner. Without the attempt's
// secret it only answers health checks.
//
//	Listen   answers /health from the runner's first moment on
//	Open     when the master has sent what the task offers, forwards requests with the
//	         secret to the program's Unix socket
//	Ready    waits until the program answers there for the first time
//	Visitors closes connections through an ingress whose users may not open the task any more
//	Idle     measures when the task was last used, by the program's own report or by
//	         requests through the gateway
//
// If the operators have an ingress, it may forward requests of users itself, with a grant of the
// master for each. Visitors asks the master whose connections must end.
//
// Masters connect with TLS, and identify the gateway by the fingerprint of a certificate that
// is made for the attempt and reported with its claim. Health checks use plain HTTP.
//
// The program never listens on a port. Its socket is in a folder that only the task's user may
// enter; so two tasks of different users on a node cannot reach each other, and the port of a
// task reveals nothing without the secret.
package gateway
