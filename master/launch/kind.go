package launch

import (
	"time"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
)

// several reports whether a task may be placed on several nodes.
func several(cfg *expconf.CommandConfig) bool {
	single := cfg.Resources.IsSingleNode
	return single != nil && !*single
}

// describe returns the description of a task whose request has none.
func describe(of tasks.Kind, id string) string {
	if of.Type == task.Generic {
		return of.Title + " " + id
	}
	return of.Title + " (" + petName() + ")"
}

// IdleTimeouts are how long tasks may be unused if their configuration does not set it; 0 means
// without limit.
type IdleTimeouts struct {
	Notebook    time.Duration
	Tensorboard time.Duration
}

// shape sets the defaults of a kind in a document, and returns warnings for fields that have no
// effect for the kind.
func shape(of tasks.Kind, raw expconf.RawCommand, idle IdleTimeouts) (expconf.RawCommand, []string) {
	if !expconf.IsSet(&raw.Resources, "slots") {
		raw.Resources.Slots = of.Slots
		expconf.MarkSet(&raw.Resources, "slots")
	}
	var remarks []string
	if !of.Program && len(raw.Entrypoint) > 0 {
		remarks = append(remarks, "entrypoint: has no effect: a "+of.Noun+" always starts its own program")
		raw.Entrypoint = nil
	}
	if of.Type != task.Tensorboard && len(raw.TensorboardArgs) > 0 {
		remarks = append(remarks, "tensorboard_args: have no effect on a "+of.Noun)
	}
	if of.Type != task.Notebook && expconf.IsSet(&raw, "notebook_idle_type") {
		remarks = append(remarks, "notebook_idle_type: has no effect on a "+of.Noun)
	}
	if of.Program && raw.IdleTimeout != nil {
		remarks = append(remarks, "idle_timeout: has no effect on a "+of.Noun+": it ends when its program does")
	}
	if span := map[string]time.Duration{task.Notebook: idle.Notebook, task.Tensorboard: idle.Tensorboard}[of.Type]; raw.IdleTimeout == nil && span > 0 {
		raw.IdleTimeout = new(expconf.Duration(span))
	}
	return raw, remarks
}
