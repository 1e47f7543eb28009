// Package nodes is the room of nodes: the machines of Nomad, which clients of Determined call agents.
//
// The files, in the order in which one reads them:
//
//	rows.go            nodes with the settings of operators, and the failures of experiments on them
//	rows_pools.go      what live attempts hold and wait for in pools and on nodes
//	rows_pool_jobs.go  jobs of pools that operators wrote, as Nomad last parsed them
//	rows_alarm.go      why the loop does not trust the state of Nomad, and the operator's confirmation
//	rows_orphans.go    jobs in Nomad whose attempts have no row
package nodes
