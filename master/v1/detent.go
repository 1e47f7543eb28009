package v1

import "time"

// Messages that Determined does not have.

// ClaimRequest exchanges a workload identity for the right to start a member's program
// (docs/rfd/0004-the-gate.md). POST /api/v1/detent/allocations/{id}/claim
type ClaimRequest struct {
	AllocationID string         `json:"allocationId"`
	Rank         int            `json:"rank"`
	Identity     string         `json:"identity"` // Nomad JWT, audience "determined"
	Nonce        string         `json:"nonce"`    // secret of this runner process: a retry with the same nonce receives the same token
	NodeID       string         `json:"nodeId"`
	NodeName     string         `json:"nodeName"`
	Address      string         `json:"address"`            // address of this node for the other members
	Ports        map[string]int `json:"ports"`              // label → port that Nomad reserved
	Certificate  string         `json:"gatewayCertificate"` // SHA-256 of the certificate of the runner's gateway, in hexadecimal digits
}

// ClaimResponse has everything that a runner needs to run the program. The master refuses a
// claim with 409 and a reason; the runner then exits without starting the program.
type ClaimResponse struct {
	Token string   `json:"token"`
	Spec  TaskSpec `json:"spec"`
}

// TaskSpec is a task as its runner sees it. It contains secrets such as the token of the user
// (but never registry credentials), so it is not part of the Nomad job.
type TaskSpec struct {
	TaskID        string            `json:"taskId"`
	PartID        string            `json:"partId"` // the name of the part of the task that runs, which is the task for programs; masters of the release before send none
	AllocationID  string            `json:"allocationId"`
	TaskType      string            `json:"taskType"` // TRIAL, COMMAND, …
	Rank          int               `json:"rank"`
	Members       int               `json:"members"`
	Slots         int               `json:"slots"` // on this node
	SlotIDs       []int             `json:"slotIds"`
	Devices       []Device          `json:"devices"`    // the devices of the slots; none without slots
	Entrypoint    []string          `json:"entrypoint"` // argv, or with Shell one word for sh -c
	Shell         bool              `json:"shell"`
	Env           map[string]string `json:"env"` // all DET_ variables and the user's own, except those that only the runner knows
	WorkDir       string            `json:"workDir"`
	Home          string            `json:"home"`       // folder of the owner that stays after the task; "": none. The program begins there, unless WorkDir is set
	ContextURL    string            `json:"contextUrl"` // path on the master; "": no context
	BindMounts    []BindMount       `json:"bindMounts"`
	Files         []TaskFile        `json:"files"` // the runner writes them before the start: /run/determined/info/*.json
	StopGraceSecs int               `json:"stopGraceSecs"`
	// Preemption says how the runner preempts the program; nil: only the preemption API tells the program.
	Preemption *Preemption `json:"preemption,omitempty"`
	// Resume is a folder that the runner restores before the program and keeps after it, as a checkpoint; "": none. It is absolute, or
	// relative to the working directory.
	Resume string `json:"resume,omitempty"`
	// ResumeFrom is the checkpoint with the files of that folder; "": it begins empty.
	ResumeFrom    string  `json:"resumeFrom,omitempty"`
	StopAfterSecs float64 `json:"stopAfterSecs"` // after so long without anybody who hears it, the runner ends the program; 0: never
	Prefer        string  `json:"prefer"`        // Python executable, if the pool names one
	// Gateway configures how the runner forwards requests to this task; nil for a task that
	// users do not open.
	Gateway *Gateway `json:"gateway,omitempty"`
	// Credentials describes how the program signs in to checkpoint storage; nil: with the
	// credentials of its environment.
	Credentials *Credentials `json:"credentials,omitempty"`
	// Secrets say how the program finds the secrets that its owner mounts. Nomad writes the values
	// to a file that only the task can read.
	Secrets []TaskSecret `json:"secrets"`
	// Account is the account of the node as which the program runs; nil: that of the runner.
	Account *TaskAccount `json:"account,omitempty"`
	// Collect lists the files that det-remover removes; nil for all other tasks.
	Collect *Collect `json:"collect,omitempty"`
	// LogPatterns are the patterns that the runner searches in the program's output.
	LogPatterns []LogPattern `json:"logPatterns"`
	// Begins are the first lines of the log: that the attempt starts, and, of an attempt that
	// is not the first, why the one before it ended. It is "" for other members than rank 0.
	Begins string `json:"begins"`
	// Name is what log lines call the attempt: Trial 7 (Experiment 3).
	Name string `json:"name"`
}

// Preemption is the signal that preempts a program that knows only signals, and how long the program may run after it.
type Preemption struct {
	Signal    string `json:"signal"` // SIGTERM, SIGINT, SIGHUP, SIGUSR1 or SIGUSR2
	GraceSecs int    `json:"graceSecs"`
	// UnlessAsked: the master decides whether there is a signal, with its answer to the watch: there is none if a program of the
	// attempt has asked the preemption API, which then tells it.
	UnlessAsked bool `json:"unlessAsked"`
	// AnyExit: every exit within the grace is one of a preempted program. The configuration names no signal, so the program
	// promises nothing about its exit code at one.
	AnyExit bool `json:"anyExit"`
}

// TaskAccount is an account of a node to which the owner of a task is linked.
type TaskAccount struct {
	UID   int    `json:"uid"`
	GID   int    `json:"gid"`
	User  string `json:"user"`  // "": unknown
	Group string `json:"group"` // "": unknown
}

// TaskSecret is one key of a secret as a program finds it: in a variable, in a file, or in a file whose
// path the variable has.
type TaskSecret struct {
	Name string `json:"name"`
	Key  string `json:"key"`
	Env  string `json:"env"`
	File string `json:"file"`
}

// LogPattern is the pattern of one of a trial's log policies.
type LogPattern struct {
	Policy  int    `json:"policy"` // its index in the configuration's log_policies
	Pattern string `json:"pattern"`
}

// LogMatch reports the first line of an attempt that matched a pattern. The master decides
// about the policy's action.
type LogMatch struct {
	Policy int    `json:"policy"` // LogPattern.Policy
	Line   string `json:"line"`
}

// LogMatchesRequest reports matches at once. The report of the exit repeats all of them. POST
// /api/v1/detent/allocations/{id}/members/{rank}/log_matches
type LogMatchesRequest struct {
	Matches []LogMatch `json:"matches"`
}

// BindMount is a folder of the node that the task sees at another path.
type BindMount struct {
	HostPath      string `json:"hostPath"`
	ContainerPath string `json:"containerPath"`
	ReadOnly      bool   `json:"readOnly"`
	Propagation   string `json:"propagation"`
	Create        bool   `json:"create"` // create the host folder if it is missing (the checkpoint storage)
	// With Link, hostPath is the path at which the driver has mounted the folder in the
	// container, and the runner creates a symbolic link at containerPath.
	Link bool `json:"link"`
}

// TaskFile is a small file that the runner writes inside the task.
type TaskFile struct {
	Path    string `json:"path"`
	Mode    int    `json:"mode"`
	Content []byte `json:"content"`
}

// MemberExitRequest is the last report of a runner. It is idempotent: the first report of a
// member counts. POST /api/v1/detent/allocations/{id}/members/{rank}/exit
type MemberExitRequest struct {
	ExitCode int    `json:"exitCode"`
	Reason   string `json:"reason"` // "": the program ended by itself
	LogsDone bool   `json:"logsDone"`
	// Stopped: the runner ended the program because Nomad stopped the runner. This is not a
	// failure of the trial, unless the master had stopped the attempt.
	Stopped bool `json:"stopped"`
	// Unfit: the node prevented the program: it lacks a device that the attempt needs, nobody heard of it for too long, or the disk of the task had no
	// space left when the program failed. This is not a failure of the trial; the attempt is repeated, on another node
	// if there is one, a bounded number of times.
	Unfit bool `json:"unfit"`
	// Preempted says how the program ended after the runner had sent it the signal that preempts it: PreemptedExited or
	// PreemptedKilled; "" for every other end.
	Preempted string `json:"preempted"`
	// LogMatches are the lines that matched log policies. The master applies them before it
	// decides about the exit.
	LogMatches []LogMatch `json:"logMatches"`
}

// Ends of a program after the signal that preempts it.
const (
	PreemptedExited = "exited" // within the grace, as programs end that were preempted
	PreemptedKilled = "killed" // by the runner, after the grace
)

// MemberRendezvousResponse is the answer when every member has started (long poll, 60 s; if
// Ready is false, the runner asks again). POST
// /api/v1/detent/allocations/{id}/members/{rank}/rendezvous
type MemberRendezvousResponse struct {
	Ready     bool             `json:"ready"`
	Waiting   string           `json:"waiting"` // missing members, if not ready
	Addresses []string         `json:"addresses"`
	Slots     []int            `json:"slots"`
	Ports     []map[string]int `json:"ports"` // per member, rank order
}

// LogBatch has lines of one shipper in order. First is the number of the first line; the master
// drops lines that it already has, so a runner may send a batch twice. A gap between two
// batches means that the lines between them are lost. A batch without lines asks for the number
// of the next line. POST /api/v1/detent/logs
type LogBatch struct {
	AllocationID string    `json:"allocationId"`
	TaskID       string    `json:"taskId"`
	Shipper      string    `json:"shipper"` // <nomad allocation id>/<rank>
	First        int64     `json:"first"`
	Lines        []LogLine `json:"lines"`
	Done         bool      `json:"done"` // this shipper sends no more lines
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

// LogBatchResponse has the number of the next line that the master expects.
type LogBatchResponse struct {
	Next int64 `json:"next"` // number of the first line that the master does not have
}

// WatchRequest is the query of a watch.
type WatchRequest struct {
	Preemption bool `json:"preemption"` // answer also when the attempt is preempted
}

// WatchResponse tells a runner whether its attempt must end (long poll, 60 s). An attempt that
// has ended, or that is killed while the agent of its node is dead, ends this way. GET
// /api/v1/detent/allocations/{id}/watch
type WatchResponse struct {
	Over    bool   `json:"over"`
	Why     string `json:"why"`
	Preempt bool   `json:"preempt"` // the attempt is preempted
	// Whether a signal preempts its programs is decided once: Signal: it does; Spared: it does not, because the preemption API
	// tells them, or because the trial has trained to the end. Neither: this is not decided yet.
	Signal bool `json:"signal"`
	Spared bool `json:"spared"`
}

// VisitorsRequest names the visitors who are connected to a task through an ingress, as the
// master's grants named them. POST /api/v1/detent/allocations/{id}/visitors
type VisitorsRequest struct {
	Visitors []string `json:"visitors"`
}

// VisitorsResponse names those whose connections must end: their session has ended, or its user
// may not enter the task any more.
type VisitorsResponse struct {
	Gone []string `json:"gone"`
}

// An Orphan is a Nomad job with the cluster's id and without a row in the database.
type Orphan struct {
	JobID        string    `json:"jobId"`
	AllocationID string    `json:"allocationId"` // by the job's metadata
	SubmittedAt  time.Time `json:"submittedAt"`
	SeenAt       time.Time `json:"seenAt"` // when the master first saw it
	StopAt       time.Time `json:"stopAt"` // when the master stops it, unless the database has its row by then
}

// GetOrphansResponse lists orphans, those that the master saw first at the beginning.
type GetOrphansResponse struct {
	Orphans []Orphan `json:"orphans"`
}
