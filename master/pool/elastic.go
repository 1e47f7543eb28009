package pool

import (
	"strconv"
	"time"
)

// A Class is a kind of node that an autoscaler can add to a pool.
type Class struct {
	Name       string            // node class in Nomad
	Slots      int               // of each node
	Model      string            // of the devices of a node
	Device     map[string]string // attributes that the device plugin reports, such as memory: 40960 MiB
	Attributes map[string]string // of each node; the keys are the names in constraints, without ${ and }
	Max        int               // maximum number of nodes that can be added at a time; 0: no limit for this class
}

// Attributes of nodes by which operators and clouds announce that a machine goes away.
const (
	// LeavingMeta has the time at which the machine goes away; LeavingAt parses it.
	LeavingMeta = "meta.detent.leaving"
	// SpotMeta is true on a machine that can go away at any time.
	SpotMeta = "meta.detent.spot"
)

// LeavingAt parses the time in a notice that a machine goes away: RFC 3339, or seconds of the Unix
// epoch. It returns the zero time for another text, also for milliseconds, which the bound excludes.
func LeavingAt(notice string) time.Time {
	if at, err := time.Parse(time.RFC3339, notice); err == nil {
		return at.UTC()
	}
	if seconds, err := strconv.ParseInt(notice, 10, 64); err == nil && seconds > 0 && seconds < 1<<36 {
		return time.Unix(seconds, 0).UTC()
	}
	return time.Time{}
}
