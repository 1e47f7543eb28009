// Package attempt is the course of one attempt on one node: from the claim at the
// master's gate to the exit report.
//
//	claim       nothing happens before the master said that this process may run it
//	prepare     code, harness, files and folders, all below the task's own directory
//	sandbox     a sandbox in which those lie where programs look for them
//	hook        startup-hook.sh, whose environment the program inherits
//	rendezvous  every member has arrived; everybody knows the chief
//	program     the entrypoint, until it ends or Nomad wants it to
//	finish      the last log lines and the exit report
//
// A step that fails ends the attempt with a reason; whatever happens after the
// claim, finish is reached, and what it could not deliver lies in the allocation's
// shared folder, from where Ship, in the process that Nomad starts when this one
// has ended, sends it.
package attempt
