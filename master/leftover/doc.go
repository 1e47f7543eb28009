// Package leftover is what an attempt leaves in the folder of its Nomad allocation,
// for the master to read when nobody could report it: numbered lines of output, and
// a record of the exit. The runner writes both, the master reads them.
package leftover
