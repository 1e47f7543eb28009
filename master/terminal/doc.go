// Package terminal connects a terminal in a browser with the SSH server of a shell.
//
// The browser's side is a WebSocket. Binary messages are what the user types, and what the shell
// prints. Text messages of the browser are JSON: the new size of the terminal, and how many bytes of
// the output it has shown. The master is never more than maxAhead bytes ahead of what the browser has
// shown, so a program that prints without an end fills neither the master's memory nor the browser's.
//
// The other side is SSH with the key of the shell, which the browser never sees.
package terminal
