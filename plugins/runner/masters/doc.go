// Package masters sends requests to any master that answers.
//
// A List has the addresses, from a fixed list and from a file that Nomad updates when masters
// move. It uses the master that answered last, and the next one if that master fails: it
// refuses the connection, closes the connection before it answers, or answers 502, 503 or 504.
// A master that sends nothing for a second, while another master is healthy, is left as well.
// Send repeats a request until a master answers or its time has ended, so that its caller sees
// an outage as a slow answer. Call is Send for messages of the API.
//
// While every master fails, only a few of the waiting requests try again at the same time, and
// the first answer wakes all of them, so that a restarted master is not overloaded.
package masters
