//go:build linux

// Package gateway is the one port of a task, opened by its runner. Without the attempt's
// secret it answers health checks alone.
//
//	Listen   answers /health from the runner's first moment on
//	Open     once the master has said what the task offers, lets in who shows the
//	         secret, and passes them on to the program's Unix socket
//	Ready    waits until the program answers there for the first time
//	Idle     measures when the task was last used, by what its program says of
//	         itself or by who came through here
//
// Masters come by TLS, and know the gateway by the fingerprint of a certificate that is
// made for the attempt and reported with its claim. Health checks come in the clear.
//
// The program never listens on a port. Its socket lies in a folder that only the
// task's user may enter; two tasks of different users on a node cannot reach each
// other, and a task that is dialled directly says nothing.
package gateway
