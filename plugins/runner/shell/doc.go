//go:build linux

// Package shell is the program of a shell task: an SSH server. It runs as `det-runner shell` in
// the sandbox like any program of a task, so that its sessions see the task's folders and
// environment. The image needs no sshd, and the server needs no account and no key of the node.
//
// It accepts one key, made for the task, under any username, and listens on a Unix socket;
// clients connect through the runner's gateway. It supports sessions with and without a
// terminal (session.go, pty.go), commands, sftp and scp (sftp.go), and connections from the
// task's side (forward.go), which the remote modes of editors need, and to the client's side
// (backward.go), which debuggers and git need.
package shell
