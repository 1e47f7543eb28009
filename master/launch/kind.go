package launch

import (
	"time"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/task"
)

// Commands, notebooks, shells, TensorBoards and generic tasks are one thing to the cluster, a
// task that is no trial, and five nouns to users.

// A Kind is a kind of task.
type Kind struct {
	Type  string // as rows have it
	Noun  string // as permissions and messages have it
	title string // what one is called that nobody named
	slots int    // of one whose configuration says nothing
	// program: the configuration says what runs. Else the kind does.
	program bool
	// required: a configuration without an entrypoint is rejected. A command without one is
	// accepted, as in Determined, and fails.
	required bool
	// spreads: it may be placed on several nodes, if its configuration has
	// resources.is_single_node: false.
	spreads bool
}

// several reports whether a task may be placed on several nodes.
func several(cfg *expconf.CommandConfig) bool {
	single := cfg.Resources.IsSingleNode
	return single != nil && !*single
}

// Command is the kind of what runs a program of its user's.
func Command() Kind {
	return Kind{Type: task.Command, Noun: "command", title: "Command", slots: 1, program: true, spreads: true}
}

// Notebook is the kind of JupyterLabs.
func Notebook() Kind {
	return Kind{Type: task.Notebook, Noun: "notebook", title: "JupyterLab", slots: 1}
}

// Shell is the kind of what users enter by SSH.
func Shell() Kind { return Kind{Type: task.Shell, Noun: "shell", title: "Shell", slots: 1} }

// Tensorboard is the kind of TensorBoards.
func Tensorboard() Kind {
	return Kind{Type: task.Tensorboard, Noun: "tensorboard", title: "TensorBoard"}
}

// Generic is the kind of programs that users start in trees, pause and resume.
func Generic() Kind {
	return Kind{Type: task.Generic, Noun: "task", title: "Generic Task", slots: 1, program: true, required: true, spreads: true}
}

// describe returns the description of a task that nobody described.
func (of Kind) describe(id string) string {
	if of.Type == task.Generic {
		return of.title + " " + id
	}
	return of.title + " (" + petName() + ")"
}

// IdleTimeouts are how long tasks may be unused that do not say so themselves; 0
// is for ever.
type IdleTimeouts struct {
	Notebook    time.Duration
	Tensorboard time.Duration
}

func (t IdleTimeouts) of(taskType string) (time.Duration, bool) {
	span := time.Duration(0)
	switch taskType {
	case task.Notebook:
		span = t.Notebook
	case task.Tensorboard:
		span = t.Tensorboard
	}
	return span, span > 0
}

// shape fills in what a kind has of its own where the document leaves it open,
// and says what of the document means nothing to that kind.
func (of Kind) shape(raw expconf.RawCommand, idle IdleTimeouts) (expconf.RawCommand, []string) {
	if !expconf.Says(&raw.Resources, "slots") {
		raw.Resources.Slots = of.slots
		expconf.Say(&raw.Resources, "slots")
	}
	var remarks []string
	if !of.program && len(raw.Entrypoint) > 0 {
		remarks = append(remarks, "entrypoint: has no effect: a "+of.Noun+" has a program of its own")
		raw.Entrypoint = nil
	}
	if of.Type != task.Tensorboard && len(raw.TensorboardArgs) > 0 {
		remarks = append(remarks, "tensorboard_args: have no effect on a "+of.Noun)
	}
	if of.Type != task.Notebook && expconf.Says(&raw, "notebook_idle_type") {
		remarks = append(remarks, "notebook_idle_type: has no effect on a "+of.Noun)
	}
	if of.program && raw.IdleTimeout != nil {
		remarks = append(remarks, "idle_timeout: has no effect on a "+of.Noun+": it ends when its program does")
	}
	if span, ok := idle.of(of.Type); raw.IdleTimeout == nil && ok {
		d := expconf.Duration(span)
		raw.IdleTimeout = &d
	}
	return raw, remarks
}
