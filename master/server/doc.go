// Package server builds a master: configuration, wiring, start and stop. It is the composition
// root: only main and tests import it.
package server
