// Package leftover has the formats of the files (leftovers) that a runner keeps in the folder
// of its Nomad allocation: numbered log lines that no master has accepted yet, and a record of
// the exit. If the runner cannot deliver them, because it is killed or no master answers, the
// master reads them through Nomad.
package leftover
