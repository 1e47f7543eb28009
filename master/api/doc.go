// Package api is the HTTP API: the only package that imports fiber.
//
// A file has one noun. A handler decodes, calls store, and encodes; the common parts are in one
// place: route.go has the table of routes with their callers and body limits, call.go the
// parameters of a handler, errors.go the only code that writes an error. A handler that changes
// what a user wants publishes store.TopicIntent after its commit, which wakes the control loop;
// it never calls Nomad.
//
// guard.go wraps every request, and authenticator.go identifies the caller; a cookie counts
// only from the master's own pages. /health and /metrics are outside of /api/v1: the first
// needs no sign-in, the second needs none from this machine and any user's token from other
// machines.
//
// The OpenAPI document and its page are made from the same table (openapi.go).
package api
