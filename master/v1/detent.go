package v1

import "time"

// What is ours and not Determined's.

// ClaimRequest trades a workload identity for the right to start an attempt's
// program: the gate. POST /api/v1/detent/allocations/{id}/claim
type ClaimRequest struct {
	AllocationID string         `json:"allocationId"`
	Rank         int            `json:"rank"`
	Identity     string         `json:"identity"` // Nomad JWT, audience "determined"
	Nonce        string         `json:"nonce"`    // secret of this runner process: a retry carries the same and gets the same token, a second process another
	NodeID       string         `json:"nodeId"`
	NodeName     string         `json:"nodeName"`
	Address      string         `json:"address"`            // where peers reach this node
	Ports        map[string]int `json:"ports"`              // label → port that Nomad reserved
	Certificate  string         `json:"gatewayCertificate"` // SHA-256 of what the runner's gateway shows, in hexadecimal digits
}

// ClaimResponse is what a runner needs to run. A refusal is a 409 whose message
// says why; the runner then exits without starting anything.
type ClaimResponse struct {
	Token string   `json:"token"`
	Spec  TaskSpec `json:"spec"`
}

// TaskSpec is a task as its runner sees it. It holds secrets (the token of its
// user, registry credentials never), so it travels here and not in the Nomad job.
type TaskSpec struct {
	TaskID        string            `json:"taskId"`
	AllocationID  string            `json:"allocationId"`
	TaskType      string            `json:"taskType"` // TRIAL, COMMAND, …
	Rank          int               `json:"rank"`
	Members       int               `json:"members"`
	Slots         int               `json:"slots"` // on this node
	SlotIDs       []int             `json:"slotIds"`
	Devices       []Device          `json:"devices"`    // that the slots are; none where slots are none
	Entrypoint    []string          `json:"entrypoint"` // argv, or one word run through sh -c when Shell
	Shell         bool              `json:"shell"`
	Env           map[string]string `json:"env"` // all DET_ variables and the user's own, but for those the runner alone knows
	WorkDir       string            `json:"workDir"`
	ContextURL    string            `json:"contextUrl"` // path on the master; "" when there is no context
	BindMounts    []BindMount       `json:"bindMounts"`
	Files         []TaskFile        `json:"files"` // written before start: /run/determined/info/*.json
	StopGraceSecs int               `json:"stopGraceSecs"`
	Prefer        string            `json:"prefer"` // python executable, when the pool names one
	// Gateway is how the runner forwards requests to this task; nil for a task that
	// users do not open.
	Gateway *Gateway `json:"gateway,omitempty"`
	// Credentials says how the program signs in to checkpoint storage; nil for by
	// what it finds.
	Credentials *Credentials `json:"credentials,omitempty"`
	// Collect says which files det-remover removes; nil for all other tasks.
	Collect *Collect `json:"collect,omitempty"`
	// LogPatterns are what the runner looks for in the program's output.
	LogPatterns []LogPattern `json:"logPatterns"`
	// Begins is a line for the log: which attempt this is, and why the one before ended.
	// It is "" for the first, and for other members than rank 0.
	Begins string `json:"begins"`
}

// LogPattern is the pattern of one of a trial's log policies.
type LogPattern struct {
	Policy  int    `json:"policy"` // its index in the configuration's log_policies
	Pattern string `json:"pattern"`
}

// LogMatch says that a line matched, the first of an attempt that did. What is to
// be done about it the master knows.
type LogMatch struct {
	Policy int    `json:"policy"` // as in LogPattern
	Line   string `json:"line"`
}

// LogMatchesRequest reports lines as soon as they are seen. All of them come again
// with the exit. POST /api/v1/detent/allocations/{id}/members/{rank}/log_matches
type LogMatchesRequest struct {
	Matches []LogMatch `json:"matches"`
}

// BindMount is a folder of the node that the task sees at another path.
type BindMount struct {
	HostPath      string `json:"hostPath"`
	ContainerPath string `json:"containerPath"`
	ReadOnly      bool   `json:"readOnly"`
	Propagation   string `json:"propagation"`
	Create        bool   `json:"create"` // make the host folder when it is missing (the checkpoint storage)
	// Link: hostPath is where the driver has mounted it in the container, and
	// containerPath is to lead there.
	Link bool `json:"link"`
}

// TaskFile is a small file that the runner writes inside the task.
type TaskFile struct {
	Path    string `json:"path"`
	Mode    int    `json:"mode"`
	Content []byte `json:"content"`
}

// MemberExitRequest is a runner's last word. It is idempotent: the first report
// of a member counts. POST /api/v1/detent/allocations/{id}/members/{rank}/exit
type MemberExitRequest struct {
	ExitCode int    `json:"exitCode"`
	Reason   string `json:"reason"` // "" for a program that simply ended
	LogsDone bool   `json:"logsDone"`
	// Stopped: the program was ended because Nomad ended the runner, which is
	// nobody's failure unless the master had asked for it.
	Stopped bool `json:"stopped"`
	// Unfit: the program was not started, because the node does not have what the
	// attempt was given; it is nobody's failure, and is made elsewhere.
	Unfit bool `json:"unfit"`
	// LogMatches are the lines that matched log policies. They come before the end
	// that they decide about.
	LogMatches []LogMatch `json:"logMatches"`
}

// MemberRendezvousResponse answers when every member has arrived (long poll, 60 s;
// Ready false means ask again). POST /api/v1/detent/allocations/{id}/members/{rank}/rendezvous
type MemberRendezvousResponse struct {
	Ready     bool             `json:"ready"`
	Waiting   string           `json:"waiting"` // for whom, when not ready
	Addresses []string         `json:"addresses"`
	Slots     []int            `json:"slots"`
	Ports     []map[string]int `json:"ports"` // per member, rank order
}

// LogBatch is what a runner ships: lines of one shipper in order. First is the
// number of the first line; the master drops lines it has already, so a batch
// may be sent twice. A batch that begins later than where the last one ended says
// that the lines between are lost; one without lines asks how far the master has
// them. POST /api/v1/detent/logs
type LogBatch struct {
	AllocationID string    `json:"allocationId"`
	TaskID       string    `json:"taskId"`
	Shipper      string    `json:"shipper"` // <nomad allocation id>/<rank>
	First        int64     `json:"first"`
	Lines        []LogLine `json:"lines"`
	Done         bool      `json:"done"` // no more will come from this shipper
}

// LogLine is one line of output.
type LogLine struct {
	Timestamp time.Time `json:"timestamp"`
	Log       string    `json:"log"`
	Stdtype   string    `json:"stdtype"`
	RankID    *int      `json:"rankId,omitempty"`
	Level     LogLevel  `json:"level"`
	Source    string    `json:"source"`
}

// LogBatchResponse says how far the master has this shipper's lines.
type LogBatchResponse struct {
	Next int64 `json:"next"` // the number of the first line it does not have
}

// WatchResponse tells a runner whether its attempt is still wanted (long poll,
// 60 s). One that is over, or that is being killed while its node's agent is
// dead, learns it here. GET /api/v1/detent/allocations/{id}/watch
type WatchResponse struct {
	Over bool   `json:"over"`
	Why  string `json:"why"`
}

// An Orphan is a job in Nomad that carries the cluster's id and has no row in the database.
type Orphan struct {
	JobID        string    `json:"jobId"`
	AllocationID string    `json:"allocationId"` // by the job's metadata
	SubmittedAt  time.Time `json:"submittedAt"`
	SeenAt       time.Time `json:"seenAt"` // first
	StopAt       time.Time `json:"stopAt"` // the master stops it then, unless its row comes back
}

// GetOrphansResponse lists orphans, those that were seen first before the others.
type GetOrphansResponse struct {
	Orphans []Orphan `json:"orphans"`
}
