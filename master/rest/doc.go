// Package rest is the engine of the REST interface: the only package that imports fiber. It knows no noun. What it knows is
// the table of endpoints in v1, who may do what (auth), and faults. A noun adds its endpoints to a Router:
//
//	rest.Serve(r, v1.ListWebhooks, list)               // no object in the path
//	rest.ServeOn(r, v1.ChangeWebhook, onWebhook, change) // the engine loads the object, and asks auth, before it calls change
//
// A handler receives the Call and the decoded parameters or body, and returns the answer. So each rule that holds for all endpoints is
// in one place: who may call before a body is read, one limit for each body, 404 before 403, turns of the callers, answers that
// clients read slowly, and the only code that writes an error. What the engine needs of its master, such as the caller who has a token, or the audit
// trail, is a function or an interface in Config.
//
// The way of a request, in the order in which one reads the files:
//
//	config.go router.go   what the master gives; the routes, and how they are mounted
//	route_order.go        literal parts of paths before parameters: nobody has to add routes in an order
//	guard.go hosts.go     around every request: its context, panics, errors, metrics; which hosts and pages may send it
//	admit.go credential.go client_address.go   who calls, and from where
//	endpoint.go object.go an endpoint: its object, its body, its handler, its answer
//	call.go request.go response.go      what a handler reads and writes
//	receive.go files.go   bodies: in memory or on disk, within limits, and those with files
//	changes.go answers.go turns for requests that change something, and for answers; large answers on disk
//	stream.go events.go sending.go paced.go   answers that continue after their handler: records, events, readers
//	open_answers.go disconnect.go       … and end with the caller's permission, and with the client
//	poll.go               long polls
//	hijack.go             a net/http handler answers, or takes over the connection
//	shares.go turns.go places.go        limits for each caller and for all
//	lists.go csv.go       windows and orders of lists; tables
//	errors.go other_methods.go          errors, and other protocols that write them in their own form
//	pages.go openapi.go openapi_page.go meters.go   the pages in the browser, the documents of the interface, counts
package rest
