// Package attempt runs one attempt on one node, from the claim to the exit report.
//
//	claim       nothing happens before the master said that this process may run it
//	prepare     code, harness, files and folders, all below the task's own directory
//	sandbox     a sandbox in which those are where programs look for them
//	hook        startup-hook.sh, whose environment the program inherits
//	rendezvous  every member has arrived; everybody knows the chief
//	program     the entrypoint, until it ends or Nomad wants it to
//	finish      the last log lines and the exit report
//
// A step that fails ends the attempt with a reason. After a claim, finish always runs; what it
// cannot deliver stays in the allocation's folder, where a master reads it through Nomad.
package attempt
