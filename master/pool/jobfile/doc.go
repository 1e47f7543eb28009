// Package jobfile reads the job of a resource pool: a file with a job in Nomad's own HCL
// or JSON that operators write.
//
// Read finds what a pool's job must not set, with line and column, before anybody asks
// Nomad: names.go lists what operators decide; all else is Detent's. Nomad itself parses
// HCL (functions, variables and defaults are its own); Check holds what came of it to the
// same list, so that nothing reaches a task by a detour.
//
// Everything here is pure.
package jobfile
