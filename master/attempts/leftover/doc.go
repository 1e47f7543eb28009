// Package leftover has the formats of the files (leftovers) that a runner writes to the folder
// of its Nomad allocation if it cannot reach a master: numbered log lines, and a record of the
// exit. The master reads them through Nomad.
package leftover
