// Package nodes is the room of nodes: the machines of Nomad, which clients of Determined call agents, with their slots and devices, and
// resource pools as clients see them.
//
// The loop in package control observes Nomad and writes the rows of nodes; operators enable and disable nodes and slots here, and the
// loop reads that. Whether a node is in a pool, and which slots it offers there, is computed from its row whenever somebody asks
// (control.Offer, which Inventory calls), so no row of a slot can be out of date. Who holds a slot is in the rows of attempts. The files, in
// the order in which one reads them:
//
//	rows.go              nodes with the settings of operators, the failures of experiments on them, why the loop does not trust the state of
//	                     Nomad, the operator's confirmation, jobs in Nomad whose attempts have no row, and jobs of pools as Nomad last parsed them
//	rows_pools.go        what live attempts hold and wait for in pools and on nodes
//	inventory.go         Inventory: slots, devices, and what attempts hold of them, for this room and for others
//	routes.go            the endpoints, and what they use of others
//	agents.go            list, enable and disable nodes
//	slots.go             the same for slots
//	pools.go             list resource pools
//	measurements.go      what the devices of a node measure now, and which attempts ran there
//	trust.go             trust Nomad's state after an alarm, and list orphans
//	scrape_targets.go    nodes for Prometheus' discovery
//	demand.go            what pools hold and lack, for autoscalers
//
// This room is below those of tasks and attempts, which it does not import: its statements name columns of their tables,
// and Deps has what the endpoints ask of them. Three nodes have different types: cluster.Node is what Nomad says of a machine, Row is what
// the database has of it, and sched.Node is what it offers to one pool.
package nodes
