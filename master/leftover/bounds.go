package leftover

import "time"

// How long who waits for whom, when masters and tasks cannot reach each other. The
// bounds stand together because each makes sense beside the others only.
const (
	// Hold is how long a task waits for a master: a request of the program on
	// loopback, and the last process of an allocation with lines and exit.
	Hold = 24 * time.Hour
	// AfterEnd is how long a token is good for lines and exit after the end of its
	// attempt, when both have arrived. Until then it is good for Hold more.
	AfterEnd = 15 * time.Minute
	// JobMargin is how long the job of an attempt that ended may run something. It is
	// more than AfterEnd; and where lines are missing it counts from when a master
	// leads again, because without one nobody took any.
	JobMargin = 20 * time.Minute
)

// How much a master reads of what an attempt has left.
const (
	MaxLogs   = 64 << 20
	MaxRecord = 64 << 10
)

// Where it lies below the folder that the processes of an allocation share.
const (
	Folder     = "det"
	LogFolder  = "logs"
	RecordFile = "exit.json"
	LogSuffix  = ".log"
)
