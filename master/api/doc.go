// Package api puts the rooms and the engine of the interface together: rooms.go adds the routes of all rooms, and has the Deps of each
// room that uses others; rooms_tasks.go has those of the rooms that start what runs and receive what it reports.
//
// What rest needs to know of this master: access.go and scope.go say who may call an endpoint,
// accounts.Authenticator identifies the caller, and callers_again.go says who the callers of open answers are now. limits.go has
// the limits that calls of all callers share. /health and /metrics are outside of /api/v1: the first
// needs no sign-in, the second needs none from this machine and any user's token from other
// machines.
package api
