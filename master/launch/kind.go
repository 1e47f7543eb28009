package launch

import (
	"time"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/task"
)

// Commands, notebooks, shells, TensorBoards and generic tasks are five nouns to users. To the
// cluster all of them are tasks that are not trials.

// A Kind is a kind of task.
type Kind struct {
	Type  string // as rows have it
	Noun  string // as permissions and messages have it
	title string // description of a task without one
	slots int    // slots of a task whose configuration sets none
	// program: the configuration decides what runs; otherwise the kind decides.
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

// Command is the kind of tasks that run a program of their user.
func Command() Kind {
	return Kind{Type: task.Command, Noun: "command", title: "Command", slots: 1, program: true, spreads: true}
}

// Notebook is the kind of tasks that run JupyterLab.
func Notebook() Kind {
	return Kind{Type: task.Notebook, Noun: "notebook", title: "JupyterLab", slots: 1}
}

// Shell is the kind of tasks to which users connect with SSH.
func Shell() Kind { return Kind{Type: task.Shell, Noun: "shell", title: "Shell", slots: 1} }

// Tensorboard is the kind of TensorBoards.
func Tensorboard() Kind {
	return Kind{Type: task.Tensorboard, Noun: "tensorboard", title: "TensorBoard"}
}

// Generic is the kind of programs that users start in trees, pause and resume.
func Generic() Kind {
	return Kind{Type: task.Generic, Noun: "task", title: "Generic Task", slots: 1, program: true, required: true, spreads: true}
}

// describe returns the description of a task whose request has none.
func (of Kind) describe(id string) string {
	if of.Type == task.Generic {
		return of.title + " " + id
	}
	return of.title + " (" + petName() + ")"
}

// IdleTimeouts are how long tasks may be unused if their configuration does not set it; 0 means
// without limit.
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

// shape sets the defaults of a kind in a document, and returns warnings for fields that have no
// effect for the kind.
func (of Kind) shape(raw expconf.RawCommand, idle IdleTimeouts) (expconf.RawCommand, []string) {
	if !expconf.IsSet(&raw.Resources, "slots") {
		raw.Resources.Slots = of.slots
		expconf.MarkSet(&raw.Resources, "slots")
	}
	var remarks []string
	if !of.program && len(raw.Entrypoint) > 0 {
		remarks = append(remarks, "entrypoint: has no effect: a "+of.Noun+" always starts its own program")
		raw.Entrypoint = nil
	}
	if of.Type != task.Tensorboard && len(raw.TensorboardArgs) > 0 {
		remarks = append(remarks, "tensorboard_args: have no effect on a "+of.Noun)
	}
	if of.Type != task.Notebook && expconf.IsSet(&raw, "notebook_idle_type") {
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
