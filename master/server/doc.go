// Package server puts a master together: configuration, wiring, lifetime. It is
// the composition root; nothing imports it but main and tests, which start it on
// a port of their own.
package server
