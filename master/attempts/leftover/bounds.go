package leftover

import "time"

// Time limits for masters and tasks that cannot reach each other. They depend on each other.
const (
	// Hold is how long a task waits for a master: with a request of its program, and at its end
	// with log lines and the exit.
	Hold = 24 * time.Hour
	// AfterEnd is how long a token is valid after the end of its attempt, if log lines and exit
	// are complete. If they are not, it is valid for Hold.
	AfterEnd = 15 * time.Minute
	// JobMargin is how long the job of an ended attempt may still run processes. It is longer
	// than AfterEnd. If log lines are missing, it begins when a master leads, because without
	// a master no lines can be accepted.
	JobMargin = 20 * time.Minute
	// Keep is how long a runner may store the folder that an attempt keeps (resume.path), after the end of its program.
	Keep = time.Hour
)

// How much a master reads of an attempt's leftovers.
const (
	MaxLogs   = 64 << 20
	MaxRecord = 64 << 10
)

// Paths below the folder that the tasks of a Nomad allocation share.
const (
	Folder     = "det"
	LogFolder  = "logs"
	RecordFile = "exit.json"
	LogSuffix  = ".log"
)
