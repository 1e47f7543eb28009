package control

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/task"
)

// maxHolders is the maximum number of tasks that a reason for waiting names.
const maxHolders = 3

// A holder is a task that keeps its slots until somebody ends it.
type holder struct {
	pool  string
	of    sharer
	words string
	slots int
}

// holders lists notebooks, shells, TensorBoards and commands that hold slots, the largest first.
func (d *queuePass) holders() []holder {
	if d.held != nil {
		return d.held
	}
	d.held = []holder{}
	for i := range d.p.Tasks {
		t := &d.p.Tasks[i]
		a := d.p.Allocations[t.ID]
		if a == nil || a.Slots == 0 || !d.isPlaced(a) || !slices.Contains([]string{task.Notebook, task.Shell, task.Tensorboard, task.Command}, t.Type) {
			continue
		}
		d.held = append(d.held, holder{d.poolOf(a), sharerOfTask(t), fmt.Sprintf("%s %.8s (%d)", strings.ToLower(t.Type), t.ID, a.Slots), a.Slots})
	}
	slices.SortFunc(d.held, func(x, y holder) int { return cmp.Or(cmp.Compare(y.slots, x.slots), strings.Compare(x.words, y.words)) })
	return d.held
}

// ownHolders is the end of the reason for which an attempt waits, if its owner holds slots of its pool with tasks that end
// only when somebody ends them, such as a notebook that was forgotten. It names the owner's alone, and of those in other
// workspaces only the slots: whoever sees the attempt may not see them.
func (d *queuePass) ownHolders(a *rows.LiveAllocation, of sharer) string {
	key := ownKey{d.poolOf(a), of}
	words, known := d.own[key]
	if !known {
		if d.own == nil {
			d.own = map[ownKey]string{}
		}
		words = d.wordsOfHolders(key)
		d.own[key] = words
	}
	return words
}

// An ownKey is what the words about holders depend on: thousands of attempts that wait share them.
type ownKey struct {
	pool string
	of   sharer
}

func (d *queuePass) wordsOfHolders(key ownKey) string {
	var names []string
	elsewhere := 0
	for _, h := range d.holders() {
		switch {
		case h.pool != key.pool || h.of.user != key.of.user:
		case h.of.workspace == key.of.workspace:
			names = append(names, h.words)
		default:
			elsewhere += h.slots
		}
	}
	if elsewhere > 0 {
		names = append(names, fmt.Sprintf("tasks in other workspaces (%d)", elsewhere))
	}
	if len(names) == 0 {
		return ""
	}
	more := ""
	if n := len(names) - maxHolders; n > 0 {
		names, more = names[:maxHolders], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("; its owner holds slots there with %s%s", strings.Join(names, ", "), more)
}
