package search

import "github.com/detent-ml/detent/master/expconf"

// grid trains every point of a grid, a few at a time. The last hyperparameter by
// name changes fastest. A point that is invalid is not replaced: there is no
// other like it.
type grid struct {
	points  []map[string]any
	workers int // 0: all at once
}

// gridOf lists the points of the space.
func gridOf(space expconf.Hyperparameters) []map[string]any {
	axes := axesOf(space)
	values := make([]any, len(axes))
	var points []map[string]any
	var walk func(i int)
	walk = func(i int) {
		if i == len(axes) {
			points = append(points, assemble(space, axes, values))
			return
		}
		for _, v := range axes[i].grid() {
			values[i] = v
			walk(i + 1)
		}
	}
	walk(0)
	return points
}

func (m *grid) Start(r *Roster) {
	n := len(m.points)
	if m.workers > 0 {
		n = min(n, m.workers)
	}
	for range n {
		m.add(r)
	}
}

func (m *grid) add(r *Roster) {
	if n := len(r.trials); n < len(m.points) {
		r.AddWith(m.points[n])
	}
}

func (m *grid) Validated(*Roster, int, Result) {}

func (m *grid) Exited(r *Roster, trial int, _ string) {
	if !r.callNext(trial) {
		m.add(r)
	}
}

func (m *grid) Continue(r *Roster, _ bool) { r.goOn(m.workers) }

func (m *grid) Planned(*Roster) int { return len(m.points) }
