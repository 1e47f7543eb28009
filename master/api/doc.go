// Package api puts the rooms and the engine of the interface together, and has the handlers of what has no room of its own: experiments,
// trials, runs and searches.
//
// A file has one noun. A handler decodes, calls store, and encodes. A handler that changes
// what a user wants publishes store.TopicIntent after its commit, which wakes the control loop;
// it never calls Nomad.
//
// What rest needs to know of this master: access.go and scope.go say who may call an endpoint,
// accounts.Authenticator identifies the caller, callers_again.go says who the callers of open answers are now, and
// object.go has the things that paths name. limits.go has the limits that only some nouns need. /health and /metrics are outside of /api/v1: the first
// needs no sign-in, the second needs none from this machine and any user's token from other
// machines.
package api
