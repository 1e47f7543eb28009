// Package tunnel copies bytes in both directions over a connection that was upgraded: after a
// 101 Switching Protocols, HTTP is no longer involved. The proxy, the runner's gateway and the
// client use it:
//
//	Dial    asks a server for a protocol; if the server declines, it returns the server's answer
//	Accept  takes a client's connection over from net/http
//	Join    copies in both directions until both sides have ended; each direction ends by itself
//
// A side that has sent everything may still receive: the end of its bytes closes only one
// direction of the other connection.
package tunnel
