// Package sandbox is where a task's program runs: with the folders it expects, as
// the parent of all that it starts, and with nothing left behind at its end.
//
// Open starts this executable once more, as `det-runner inside`, and gives it a
// Setup through a pipe. That process is the Box: it builds what the Setup asks
// for, starts programs on request, reaps whatever they leave, and at the end kills
// what is still there. If its parent dies, the kernel kills it.
//
// Where the machine allows it, the sandbox has a mount namespace of its own, so that a
// program on a bare node finds /run/determined and its bind mounts at the paths
// that it was written for, beside other tasks that see others, and it has a process
// namespace, so that ending its first process ends all of them. Open tries, in this
// order: namespaces as root; namespaces within a user namespace; none. Without any,
// a mount is possible only if the driver has made it already or if both of its
// paths are the same.
//
// Missing mount points are made without touching the host where that matters. In
// /, /run and /etc, and wherever the program could not create anything, the folder
// is covered by a small tmpfs that holds a bind of each entry, and the new entry
// beside them. Elsewhere an empty folder is made on the host, as Docker does it:
// a tmpfs there would swallow what the program writes beside its mount.
package sandbox
