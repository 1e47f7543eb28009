// Package diskuse is the room of what workspaces and users store: the checkpoints, logs and code of the tasks of each workspace, and what each user has in
// the database, which has a limit.
package diskuse
