package task

// A Workload is the Nomad allocation that a verified workload identity belongs to.
type Workload struct {
	Namespace    string
	JobID        string
	Group        string
	NomadAllocID string
	// FirstOfGroup is false if Nomad created this allocation to replace another: the gate
	// rejects its claim.
	FirstOfGroup bool
	NodeID       string
	Region       string // of Nomad, as pools name it; "": the master's own
}
