//go:build linux

// Package shell is the program of a task that users log in to: an SSH server, run
// as `det-runner shell` where any program of a task runs, so that a shell opened
// through it sees the task's folders and environment. No image needs an sshd, no
// account, no key of the node.
//
// It takes one key, made for the task, under any user name, and listens on a Unix
// socket: the way in is the runner's gateway. There are sessions with and without
// a terminal (session.go, pty.go), commands, sftp and with it scp (sftp.go), and
// connections from the task's side (forward.go), which is what editors' remote
// modes are made of.
package shell
