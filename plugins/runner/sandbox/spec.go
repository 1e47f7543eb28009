package sandbox

import (
	"time"

	"github.com/detent-ml/detent/plugins/runner/account"
)

// A Setup describes the mounts of a sandbox.
type Setup struct {
	// Stage is an empty folder of the task, for mounts in preparation.
	Stage string
	Binds []Bind
	// ShmBytes is the size of an own /dev/shm for the sandbox; 0: the node's /dev/shm.
	ShmBytes int64
	// PrivateRoot means that the task's driver gave it an own root (a container or chroot):
	// existing mounts there were made for this task.
	PrivateRoot bool
	// Plain means: use no namespaces.
	Plain bool
	// Account is the account as which programs run; nil: that of this process.
	Account *account.Account
	// NoNewPrivs: no program gets more rights from an executable file, such as one of root with the setuid bit.
	NoNewPrivs bool
	// Hide is a folder of the node that programs see empty; "": none.
	Hide string
	// Archive is extracted for the programs, before the mounts; nil: none.
	Archive *Archive
}

// An Archive is a tar.gz and the empty folder in which programs see its content.
type Archive struct{ File, Dir string }

// A Bind makes a file or folder of the node visible at another path.
type Bind struct {
	Source      string
	Target      string // absolute
	ReadOnly    bool
	Propagation string // "", or Docker's words: rprivate, private, rslave, slave, rshared, shared
	Create      bool   // create the source as a folder if it does not exist
	// Theirs means that the user has chosen the source, so that the account of the programs must
	// have the right to reach it.
	Theirs bool
}

// A Command is a program to run.
type Command struct {
	Argv []string
	Env  []string // the whole environment
	Dir  string
}

// An Exit is how a program ended.
type Exit struct {
	Code   int    `json:"code"`   // 128 + n for signal n
	Signal int    `json:"signal"` // the signal that ended it; 0: it exited by itself
	Failed string `json:"failed"` // why it could not be started, with Code 126 or 127; else ""
	// Abandoned means that the sandbox killed it because the runner had not renewed its lease.
	Abandoned bool `json:"abandoned"`
}

// Mode is the set of namespaces of a sandbox.
type Mode struct {
	Mount bool `json:"mount"` // it has a mount namespace
	User  bool `json:"user"`  // within a user namespace
	PID   bool `json:"pid"`   // it has a process namespace
}

// String names the mode for a log line.
func (m Mode) String() string {
	switch {
	case !m.Mount:
		return "no namespace"
	case m.User && m.PID:
		return "mount and process namespaces within a user namespace"
	case m.User:
		return "a mount namespace within a user namespace"
	case m.PID:
		return "mount and process namespaces"
	}
	return "a mount namespace"
}

// SetupError is why a sandbox could not be built.
type SetupError struct {
	Message string `json:"message"`
	// Refused means that the system does not permit this mode, so that Open tries the next one.
	Refused bool `json:"refused"`
	// NoMounts means that no mode allows mounts here.
	NoMounts bool `json:"no_mounts"`
	// Archive means that the archive could not be extracted.
	Archive bool `json:"archive"`
}

// Error is the message.
func (e *SetupError) Error() string { return e.Message }

// A Lease is how long the sandbox waits for its renewal, and then for a runner that just begins to run again.
type Lease struct{ For, Then time.Duration }

// A request is a message to the sandbox. It has one of Setup, Run, Signal, Lease and Close.
type request struct {
	Setup  *Setup   `json:"setup,omitempty"`
	Mode   Mode     `json:"mode"`
	Run    *Command `json:"run,omitempty"`
	Signal int      `json:"signal,omitempty"`
	All    bool     `json:"all,omitempty"` // send the signal to all processes in the sandbox
	Lease  *Lease   `json:"lease,omitempty"`
	Alone  bool     `json:"alone,omitempty"` // ask whether the programs have left processes
	Close  bool     `json:"close,omitempty"`
}

// An event is a message from the sandbox.
type event struct {
	Ready   bool        `json:"ready,omitempty"`
	Failed  *SetupError `json:"failed,omitempty"`
	Skipped []string    `json:"skipped,omitempty"` // targets of binds that existed already
	Exited  *Exit       `json:"exited,omitempty"`
	Alone   *bool       `json:"alone,omitempty"`
	Closed  bool        `json:"closed,omitempty"`
	Left    int         `json:"left,omitempty"` // number of processes that still ran at Close
}
