// Package diskuse is the room of what experiments and users store: the checkpoints of workspaces, and what each user has in the database,
// which has a limit.
package diskuse
