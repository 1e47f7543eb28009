// Package tunnel copies bytes in both directions over a connection that was upgraded: after a
// 101 Switching Protocols, HTTP is no longer involved. The proxy, the runner's gateway and the
// client use it:
//
//	Dial    asks a server for a protocol, and says what it answered instead
//	Accept  takes a client's connection over from net/http
//	Join    copies both ways until both sides are done, one half at a time
//
// A side that has sent everything may still receive: the end of its bytes closes only one
// direction of the other connection.
package tunnel
