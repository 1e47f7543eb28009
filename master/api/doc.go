// Package api is HTTP: the only package that imports fiber.
//
// A file holds one noun. A handler decodes, calls store, encodes; what is common
// to all is written once: route.go has the table of routes with who may call
// them and how large their bodies may be, call.go what a handler is given,
// errors.go the one place that writes an error. A handler that changes what
// somebody wants publishes store.TopicIntent after its commit, which wakes the
// control loop; it never talks to Nomad.
//
// guard.go stands before every request and authenticator.go says who sent it; a
// cookie counts only from our own pages. /health and /metrics are outside /api/v1:
// the first is open, the second is open on this machine and asks for any user's
// token elsewhere.
//
// The OpenAPI document and its page are made from the same table (openapi.go).
package api
