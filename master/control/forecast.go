package control

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/sleep"
)

// How often the leader estimates when waiting jobs may start. After an estimate it rests foreseeRest times as long as the
// estimate took, so that estimates for a large cluster use at most a twentieth of a core.
const (
	foreseeEvery = 5 * time.Second
	foreseeRest  = 20
)

// foresee stores repeatedly when waiting jobs may start, in parallel to the cycle.
func (t *term) foresee(ctx context.Context) {
	for {
		began := time.Now()
		if err := t.foreseeNow(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, database.ErrNotLeader) {
			t.log.Warn("could not estimate when waiting jobs start; retrying", "term", t.lead.Term, "error", err)
		}
		if sleep.For(ctx, max(foreseeEvery, foreseeRest*time.Since(began))) != nil {
			return
		}
	}
}

func (t *term) foreseeNow(ctx context.Context) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	d := t.stats.lastDemand()
	if d == nil { // the loop schedules nothing; the API shows no forecast that is old
		return nil
	}
	list := d.forecasts()
	if len(list) == 0 && t.noQueue { // there was none the last time either
		return nil
	}
	err = t.db.Fenced(ctx, t.lead.Term, func(tx *database.DB) error { return queue.SetForecasts(ctx, tx, list) })
	t.noQueue = err == nil && len(list) == 0
	return err
}

// forecasts computes for each pool when the jobs of its queue may start, and when running ones end.
func (d *demand) forecasts() []queue.Forecast {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := []queue.Forecast{}
	for i := range d.pools {
		p := &d.pools[i]
		if in := d.inputs[p.Name]; len(in.queued)+len(in.ends) > 0 && !in.frozen {
			list = append(list, d.forecast(p, in))
		}
	}
	return list
}

func (d *demand) forecast(p *pool.Pool, in *input) queue.Forecast {
	ends, expected := map[string]sched.End{}, queue.Ends{}
	for i := range in.running {
		r := &in.running[i]
		if end, ok := in.ends[r.ID]; ok {
			ends[r.ID] = sched.End{At: end.Likely, Next: in.next[r.Group]}
			expected.Add(r.Group, end.Earliest, end.Likely, end.Latest)
		}
	}
	nodes, _ := d.nodesOf(p, in)
	d.quotas.begin(p.Name)
	f := d.reserved.In(p.Name).Starts(p, nodes, in.running, in.queued, ends, d.now)
	out := queue.Forecast{Pool: p.Name, ComputedAt: d.now, Others: f.Others, Starts: map[string]queue.ExpectedStart{}, Ends: expected.First()}
	for i := range in.queued {
		r := &in.queued[i]
		start, asked := f.Starts[r.ID]
		if !asked {
			continue
		}
		// A job starts with the first of its attempts.
		job, told := out.Starts[r.Group]
		switch {
		case !start.At.IsZero() && (job.At == nil || start.At.Before(*job.At)):
			out.Starts[r.Group] = queue.ExpectedStart{At: &start.At}
		case start.At.IsZero() && !told:
			out.Starts[r.Group] = queue.ExpectedStart{Unknown: start.Unknown}
		}
	}
	return out
}

// follows returns whether an experiment may ask for another attempt when one of its attempts ends: for a trial that its
// search creates then, or for one that waits without an attempt. since is the time of that attempt in the queue; nil if it is the
// time of that end.
func (d *queuePass) follows(e *Experiment) (goesOn bool, since *time.Time) {
	for _, t := range e.Trials {
		if t.Ended || d.p.Allocations[t.TaskID] != nil {
			continue
		}
		goesOn = true
		if at := t.QueuedAt; at != nil && (since == nil || at.Before(*since)) {
			since = at
		}
	}
	if e.QueueTime != nil {
		since = e.QueueTime
	}
	return goesOn || e.Search == nil || e.Search.MayGrow() || e.LiveExperiment.Trials < e.Search.Len(), since
}

// addNext notes what the group of a running attempt asks for when the attempt ends.
func (in *input) addNext(a *rows.LiveAllocation, o *owner, under []*sched.Quota) {
	if !o.goesOn || in.next[o.group] != nil {
		return
	}
	r := o.request(sched.Request{Slots: a.Slots, Priority: a.Priority, QueuedAt: optional.Value(o.since), Quotas: under})
	if in.next == nil {
		in.next = map[string]*sched.Request{}
	}
	in.next[o.group] = &r
}
