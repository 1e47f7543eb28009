// Package masters is how a runner reaches a master, whichever of them answers.
//
// A List holds the addresses, from a fixed list and from a file that Nomad
// renders anew when masters move. It sticks to the master that answered last and
// goes on to the next when that one fails; a master that refuses the connection,
// cuts it before it answered, or says 502, 503 or 504, has failed. Send repeats a
// request until some master answers it or its time is over, so that what calls it
// sees an outage as a slow answer. Call is Send for messages of the wire.
//
// While every master fails, only a few of the requests that wait try again at a
// time, and the first answer wakes all of them: a master that comes back meets
// its tasks one after the other, not in a stampede.
package masters
