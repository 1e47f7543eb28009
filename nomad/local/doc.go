// Package local runs a whole cluster on one machine: PostgreSQL, Consul, Nomad and the master.
//
// A first try needs no preparation, and tests run on the same servers as a real cluster. The agents are
// not development agents: they keep their state, can be killed and restarted one by one, and the master
// runs as the Nomad job that operators run.
//
// A Cluster is a folder: the data of each part, its log and its configuration, and state.json, which
// stores ports and processes. Any program can load it and continue. All servers listen on 127.0.0.1, unless
// a test asks for nodes in network namespaces of their own (Apart).
// Processes are identified by pid and start time, never by name.
//
//	options.go   the options of a cluster          state.go     the stored state
//	cluster.go   Up, Down, Reset, Load             part.go      one part: kill, stop, start
//	consul.go, nomad.go, client.go                 the agents' configuration and readiness
//	master.go    the master's job                  describe.go  addresses and health of the parts
//	rights.go    what the machine must permit
//	logs.go      what the parts have written       leftover.go  what a killed agent leaves behind
package local
