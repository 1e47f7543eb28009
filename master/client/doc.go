// Package client is a typed HTTP client of the master's API for det, the integration tests and
// other Go programs.
//
// A Client is made for one master and one user or task. Call, Send, Act, List and Each call an endpoint of the
// table in package v1 with its own messages:
//
//	resp, err := client.Call(ctx, c, v1.GetExperiment, id)
//	resp, err := client.Send(ctx, c, v1.CreateModel, v1.PostModelRequest{Name: name})
//	err := client.Act(ctx, c, v1.KillTrial, id)
//	trials, err := client.List(ctx, c, v1.ListTrials, client.Page{}, nil, id)
//
// A Client has methods for what takes more than such a call, such as streams, sign-ins and finding an
// object by name, and for a few objects that many callers read; they are in one file for each noun.
// Every call has the following in common. Errors are faults with the master's own message, so that a
// caller distinguishes "not found" from "not signed in" without HTTP status codes (errors.go). Calls
// that are safe to repeat are repeated, with growing pauses, while the master does not answer
// (retry.go). Streams are read line by line, as iterators (stream.go).
//
//	address.go   which master, and the canonical form of its URL
//	tls.go       whom to trust
//	call.go      one request and its answer
//	pages.go     lists that come in pages
//	tokens/      the file of sessions that det shares with Determined's own client
package client
