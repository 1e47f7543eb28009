// Package reservations is the room of reservations: slots of a pool that only tasks of a workspace or of a user may use for a time, and
// maintenances, in which nodes are out of use.
//
// The API writes rows of reservations, and checks them against each other and against what the pool has. The loop in package control reads those that have
// not ended, and the scheduler (package sched) chooses their slots, keeps them free, and preempts what runs there at their start. The files, in
// the order in which one reads them:
//
//	rows.go      what a reservation is, and its statements
//	live.go      reservations as the scheduler knows them
//	check.go     whether a request describes one for which there is room; pure
//	routes.go    the endpoints, and what they use of others
//	list.go      list them
//	create.go    create one
//	cancel.go    cancel one
//
// This room is above accounts, workspaces and nodes, and below control.
package reservations
