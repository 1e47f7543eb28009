package sandbox

// A Setup says what the programs in a sandbox find.
type Setup struct {
	// Stage is an empty folder of the task's, for mounts that are being built.
	Stage string
	Binds []Bind
	// ShmBytes is the size of a /dev/shm of the sandbox's own; 0 leaves it as it is.
	ShmBytes int64
	// PrivateRoot says that the driver gave this task a root of its own: what is
	// mounted there was mounted for it.
	PrivateRoot bool
	// Plain forbids namespaces.
	Plain bool
}

// A Bind makes a file or folder of the node visible at another path.
type Bind struct {
	Source      string
	Target      string // absolute
	ReadOnly    bool
	Propagation string // "", or Docker's words: rprivate, private, rslave, slave, rshared, shared
	Create      bool   // make the source, a folder, when it is missing
}

// A Command is a program to run.
type Command struct {
	Argv []string
	Env  []string // all of it
	Dir  string
}

// An Exit is how a program ended.
type Exit struct {
	Code   int    `json:"code"`   // 128 + n for signal n
	Signal int    `json:"signal"` // 0 when it ended by itself
	Failed string `json:"failed"` // why it could not be started; Code is 126 or 127 then
}

// Mode is what a sandbox is made of.
type Mode struct {
	Mount bool `json:"mount"` // a mount namespace of its own
	User  bool `json:"user"`  // within a user namespace
	PID   bool `json:"pid"`   // a process namespace of its own
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
	// Refused says that the system does not let us do this kind of thing, so that
	// a lesser mode is worth a try.
	Refused bool `json:"refused"`
	// NoMounts says that nothing can be mounted in any mode.
	NoMounts bool `json:"no_mounts"`
}

// Error is the message.
func (e *SetupError) Error() string { return e.Message }

// What goes through the pipe to the sandbox, one at a time.
type request struct {
	Setup  *Setup   `json:"setup,omitempty"`
	Mode   Mode     `json:"mode"`
	Run    *Command `json:"run,omitempty"`
	Signal int      `json:"signal,omitempty"`
	All    bool     `json:"all,omitempty"` // the signal is for everything in the sandbox
	Close  bool     `json:"close,omitempty"`
}

// What comes back.
type event struct {
	Ready   bool        `json:"ready,omitempty"`
	Failed  *SetupError `json:"failed,omitempty"`
	Skipped []string    `json:"skipped,omitempty"` // targets of binds that were there already
	Exited  *Exit       `json:"exited,omitempty"`
	Closed  bool        `json:"closed,omitempty"`
	Left    int         `json:"left,omitempty"` // processes that were still there
}
