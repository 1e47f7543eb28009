package expconf

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/detent-ml/detent/master/optional"
)

// Preemption says how programs are preempted that know only signals: each member's program gets the signal, and is killed
// if it has not exited after the grace. A program that has asked the preemption API gets no signal unless Always is set:
// the signal may come from a template or a policy, whose author does not know the program.
type Preemption struct {
	Signal *string   `json:"signal,omitempty" check:"one of SIGTERM SIGINT SIGHUP SIGUSR1 SIGUSR2"`
	Grace  *Duration `json:"grace,omitempty"`
	Always *bool     `json:"always,omitempty"` // at once, and also to programs that have asked
}

const (
	minPreemptGrace = time.Second
	maxPreemptGrace = 24 * time.Hour
	// DefaultPreemptionSignal is the signal for programs that never asked the preemption API.
	DefaultPreemptionSignal = "SIGTERM"
	// DefaultPreemptionGrace is the grace where the configuration sets neither it nor a preemption timeout.
	DefaultPreemptionGrace = time.Minute
	// DefaultPreemptionTimeout is the number of seconds between the request to stop and the kill of
	// a program that asks the preemption API, unless the configuration sets another.
	DefaultPreemptionTimeout = 3600
)

func (p *Preemption) check(k *checker, at string) {
	if p.Grace == nil {
		return
	}
	if g := time.Duration(*p.Grace); g < minPreemptGrace || g > maxPreemptGrace {
		k.fail(at+".grace", fmt.Sprintf("must be from %s to %s, found %s", minPreemptGrace, maxPreemptGrace, strconv.Quote(g.String())), "")
	}
}

// Resume names a folder that the runner keeps across the attempts of a trial, as checkpoints.
type Resume struct {
	Path string `json:"path" check:"required; line 4096"` // absolute in the task, or relative to the working directory
}

func (r *Resume) check(k *checker, at string) {
	switch clean := path.Clean(r.Path); {
	case r.Path == "": // the rule has reported it
	case strings.ContainsAny(r.Path, "\x00\n\r"), strings.HasPrefix(r.Path, "~"):
		k.fail(at+".path", "must be the name of a folder, absolute or relative to the working directory", "")
	case strings.ContainsFunc(r.Path, unicode.IsSpace), strings.Contains(r.Path, "$"):
		k.fail(at+".path", fmt.Sprintf("must be a name without blanks and variables, found %s", strconv.Quote(r.Path)), "variables are not replaced here: name a folder such as output")
	case clean == ".", clean == "/", clean == "..", strings.HasPrefix(clean, "../"):
		k.fail(at+".path", fmt.Sprintf("cannot be %q: the whole working directory, the root and folders above cannot be kept", r.Path), "name a folder of its own, such as output")
	}
}

// ResumePath is the folder that the runner keeps; "": none.
func (c Config) ResumePath() string { return optional.Value(c.Resume).Path }

// PreemptionSeconds is the number of seconds that a program has to exit after a request to stop, if it asks the
// preemption API.
func (c Config) PreemptionSeconds() int {
	return optional.Or(c.PreemptionTimeout, DefaultPreemptionTimeout)
}

// PreemptionSignal is the signal that preempts programs; "": the default one.
func (c Config) PreemptionSignal() string {
	return optional.Value(optional.Value(c.Preemption).Signal)
}

// AlwaysSignals reports whether also programs that have asked the preemption API get a signal.
func (c Config) AlwaysSignals() bool { return optional.Value(optional.Value(c.Preemption).Always) }

// checkTrialClass rejects a signal that a trial class would always get, and not exit at: its package asks the preemption API, and prints the
// stacks of all threads at SIGUSR1.
func (c Config) checkTrialClass(k *checker) {
	if c.Entrypoint == nil || !c.AlwaysSignals() || c.PreemptionSignal() != "SIGUSR1" {
		return
	}
	_, _, class := c.Entrypoint.TrialClass()
	k.when(class, "preemption.signal", "SIGUSR1 makes a trial class print its stacks, and not exit", "remove always: it asks the preemption API")
}

// PreemptionGrace is how long a program may run after the signal.
func (c Config) PreemptionGrace() time.Duration {
	switch {
	case c.Preemption != nil && c.Preemption.Grace != nil:
		return time.Duration(*c.Preemption.Grace)
	case c.PreemptionTimeout != nil:
		return time.Duration(*c.PreemptionTimeout) * time.Second
	}
	return DefaultPreemptionGrace
}
