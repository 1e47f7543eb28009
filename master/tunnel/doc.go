// Package tunnel carries bytes both ways once HTTP has stepped aside: from the
// moment that a server has answered 101 Switching Protocols, a connection is a
// pipe. The proxy, the runner's gateway and the client are all ends or middles of
// such pipes, and end them alike:
//
//	Dial    asks a server for a protocol, and says what it answered instead
//	Accept  takes a client's connection over from net/http
//	Join    copies both ways until both sides are done, one half at a time
//
// A side that has said all it has to say may still listen: the end of its bytes
// goes on to the other side as the end of bytes, not as the end of the connection.
package tunnel
