// Package client is the typed way to talk to a master over HTTP: what det, the
// integration tests and other programs in Go use instead of building requests.
//
// A Client is made for one master and one identity; its methods follow the
// nouns of the interface, a file each, and take and give the messages of
// package v1. Three things happen underneath every call. Errors come back as
// faults, with the master's own message, so that a caller tells "not found"
// from "not signed in" without knowing HTTP (errors.go). Calls that may safely
// be repeated are, with growing pauses, when the master is away for a moment
// (retry.go). And what the master streams line by line is read line by line, as
// an iterator that ends when its loop ends (stream.go).
//
//	address.go   which master, and the canonical form of its URL
//	tls.go       whom to trust
//	call.go      one request and its answer
//	pages.go     lists that come in pages
//	tokens/      the file of sessions that det shares with Determined's own client
package client
