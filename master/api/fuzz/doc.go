// Package fuzz has one test: it sends random requests to each operation of the API, and looks for answers
// that are defects whatever was asked (an internal error, a hang, a connection that stays).
//
// Schemathesis makes the requests from the OpenAPI document, so a new route is tested without a change
// here. world_test.go makes objects of each kind, so that requests find something; values_test.go lists
// what their parameters and fields may contain.
package fuzz
