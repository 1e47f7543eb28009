// Package diskuse is the room of what workspaces and users store: the checkpoints, logs and code of the tasks of each workspace, and what
// each user has in the database, which has a limit. Files, in reading order:
//
//	admit.go             whether a user may store more: Users, which all verbs that store something ask
//	rows.go              what users store, as one statement
//	rows_workspaces.go   what the tasks of workspaces store
//	list.go              the list for users and administrators
package diskuse
