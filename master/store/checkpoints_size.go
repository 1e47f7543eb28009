package store

import (
	"github.com/detent-ml/detent/master/fault"
)

// What one checkpoint, or one report of what was removed, may come to. The bounds
// are far from what storage holds, so that the sums of many reports stay true.
const (
	MostBytes     = 1 << 50 // of all files of a checkpoint: a pebibyte
	MostFiles     = 100_000 // of a checkpoint, folders among them
	mostOfNames   = 4 << 20 // bytes of their names together
	longestOfFile = 4096    // bytes of a name, as the systems allow for a path
)

// bytesOf adds up the files of a checkpoint, and refuses what no storage holds.
func bytesOf(files map[string]int64) (int64, error) {
	if len(files) > MostFiles {
		return 0, fault.New(fault.Invalid, "resources: a checkpoint of %d files is over the limit of %d; put them into archives", len(files), MostFiles)
	}
	total, names := int64(0), 0
	for name, n := range files {
		if len(name) > longestOfFile {
			return 0, fault.New(fault.Invalid, "resources: the name %.100q… has %d bytes; %d are allowed", name, len(name), longestOfFile)
		}
		if n < 0 || n > MostBytes || total+n > MostBytes {
			return 0, fault.New(fault.Invalid, "resources: %.100q has %d bytes; a checkpoint has from 0 to %d, all its files together", name, n, int64(MostBytes))
		}
		total, names = total+n, names+len(name)
	}
	if names > mostOfNames {
		return 0, fault.New(fault.Invalid, "resources: the names of the files have %d bytes together; %d are allowed", names, mostOfNames)
	}
	return total, nil
}
