// Package client is a typed HTTP client of the master's API for det, the integration tests and
// other Go programs.
//
// A Client is made for one master and one user or task; its methods are in one file for each
// noun and use the messages of package v1. Every call has the following in common. Errors are
// faults with the master's own message, so that a caller distinguishes "not found" from "not
// signed in" without HTTP status codes (errors.go). Calls that are safe to repeat are repeated,
// with growing pauses, while the master does not answer (retry.go). Streams are read line by
// line, as iterators (stream.go).
//
//	address.go   which master, and the canonical form of its URL
//	tls.go       whom to trust
//	call.go      one request and its answer
//	pages.go     lists that come in pages
//	tokens/      the file of sessions that det shares with Determined's own client
package client
