package pool

import (
	"strconv"
	"time"
)

// A Class is a kind of node that an autoscaler can add to a pool.
type Class struct {
	Name       string            // node class in Nomad
	Slots      int               // of a node
	Model      string            // of its devices
	Device     map[string]string // what their plugin reports of them, such as memory: 40960 MiB
	Attributes map[string]string // of the node, as constraints name them without ${ and }
	Max        int               // how many nodes can be added at a time; 0: no limit of this class
}

// Facts with which operators and clouds describe machines that come and go.
const (
	// LeavingMeta is when the machine goes away; see LeavingAt.
	LeavingMeta = "meta.detent.leaving"
	// SpotMeta says that the machine can go away at any time, if it is true.
	SpotMeta = "meta.detent.spot"
)

// LeavingAt reads the time in a notice that a machine goes away: RFC 3339, or seconds of the Unix
// epoch. It returns the zero time for another text.
func LeavingAt(notice string) time.Time {
	if at, err := time.Parse(time.RFC3339, notice); err == nil {
		return at.UTC()
	}
	if seconds, err := strconv.ParseInt(notice, 10, 64); err == nil && seconds > 0 && seconds < 1<<36 {
		return time.Unix(seconds, 0).UTC()
	}
	return time.Time{}
}
