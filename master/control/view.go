package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/sleep"
)

// A Region is a region of Nomad besides the master's own. Pools name it (pool.Pool.Region).
type Region struct {
	Name      string
	Nomad     Nomad
	Leftovers LeftoverReader // nil: the loop reads none
}

func (c *Config) furtherRegions() []string {
	return each.Of(c.Regions, func(r Region) string { return r.Name })
}

// A view is the loop's view of one region of Nomad: each is observed by itself, has its own index,
// and is trusted or not. A Nomad that does not answer delays only the pools of its region.
type view struct {
	*term
	name        string // "" for the master's own
	nomad       Nomad
	leftovers   LeftoverReader
	known       cluster.Known     // what the next call of Observe must know
	left        []rows.MemberFact // facts about members that were locked, to be stored again
	alarm       string            // why Nomad's state is not trusted; else ""
	listed      bool              // Nomad has listed all jobs since the last sweep of jobs
	alive       []string          // the attempts whose jobs were alive in that list
	hasAnswered bool              // Nomad has answered in this term
	loaded      bool              // known has the rows of a load
	watch       watch
	woken       atomic.Bool     // there is something to observe
	away        atomic.Bool     // Nomad did not answer the last call of Observe
	live        map[string]bool // attempts that have not ended, by whether they belong to this region; nil with one region
}

// openViews makes the views of all regions.
func (t *term) openViews(ctx context.Context) error {
	all := append([]Region{{Nomad: t.nomad, Leftovers: t.cfg.Leftovers}}, t.cfg.Regions...)
	for _, r := range all {
		index, err := rows.NomadIndex(ctx, t.db, r.Name)
		if err != nil {
			return err
		}
		v := &view{term: t, name: r.Name, nomad: r.Nomad, leftovers: r.Leftovers, known: cluster.Known{Term: t.lead.Term, Index: uint64(index), Full: true}}
		v.watch.answers = make(chan answer, 1)
		t.views = append(t.views, v)
	}
	return nil
}

// title is the name of the region for messages.
func (v *view) title() string { return cmp.Or(v.name, v.cfg.Region, "of the master") }

// wake makes the loop observe.
func (v *view) wake() {
	v.woken.Store(true)
	sleep.Wake(v.term.woken)
}

// followWakes tells the loop when there is something to observe.
func (v *view) followWakes(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.nomad.Wake():
			v.wake()
		}
	}
}

// frozen has the regions whose Nomad is not trusted, with the reason for users.
func (t *term) frozen(live *rows.Live) map[string]string {
	frozen := map[string]string{}
	for _, v := range t.views {
		alarm := live.Alarm
		if v.name != "" {
			alarm = live.Regions[v.name].Alarm
		}
		if alarm == "" && !v.hasAnswered {
			alarm = "the master has not heard from it yet"
		}
		if alarm != "" {
			frozen[v.name] = fmt.Sprintf("waits for Nomad in region %s: %s", v.title(), alarm)
		}
	}
	return frozen
}

// frozen returns why the loop places nothing in a pool and uses only the reports of its runners;
// "" if Nomad's state is trusted in the pool's region.
func (p *Snapshot) frozen(pool string) string { return p.Frozen[p.regionOf(pool)] }

func (p *Snapshot) regionOf(pool string) string {
	if of := p.Pools.Named(pool); of != nil {
		return of.Region
	}
	return ""
}

// remember keeps what the next observations must know of the rows.
func (t *term) remember(live *rows.Live) {
	for _, v := range t.views {
		trust := live.Trust
		if v.name != "" {
			trust = live.Regions[v.name].Trust
		}
		if trust && !v.known.Trust { // an operator has just told the masters to trust a restored Nomad
			v.known.Full, t.cycleAgain = true, true
		}
		v.known.Live, v.known.Trust, v.loaded = nil, trust, true
		if v.live = nil; len(t.views) > 1 {
			v.live = make(map[string]bool, len(live.Allocations))
		}
	}
	for _, a := range live.Allocations {
		at := t.regionOf(a.Pool)
		for _, v := range t.views {
			if v.live != nil {
				v.live[a.ID] = v == at
			}
		}
		if a.SubmittedAt != nil {
			at.known.Live = append(at.known.Live, a.ID)
		}
	}
}

// regionOf is the view of a pool's region; that of the master's own if there is no such pool.
func (t *term) regionOf(pool string) *view {
	if of := t.cfg.Pools.Named(pool); of != nil {
		if v := t.view(of.Region); v != nil {
			return v
		}
	}
	return t.views[0]
}

// view finds the view of a region; nil if there is none.
func (t *term) view(region string) *view {
	for _, v := range t.views {
		if v.name == region {
			return v
		}
	}
	return nil
}

// own returns what an observation says about this region's attempts. A job with the name and the metadata
// of an attempt of another region is not that attempt's: ids can be guessed. Of attempts that were made
// after the last load, the database knows the pool.
func (v *view) own(ctx context.Context, o cluster.Observation) (cluster.Observation, error) {
	if v.live == nil {
		return o, nil
	}
	var unknown []string
	ask := func(id string) {
		if _, known := v.live[id]; !known {
			unknown = append(unknown, id)
		}
	}
	for _, f := range o.Tasks {
		ask(f.AllocationID)
	}
	for _, j := range o.Jobs {
		ask(j.AllocationID)
	}
	var pools map[string]string
	if unknown != nil {
		var err error
		if pools, err = rows.PoolsOf(ctx, v.db, unknown); err != nil {
			return o, err
		}
	}
	elsewhere := func(id string) bool {
		if here, live := v.live[id]; live {
			return !here
		}
		pool, there := pools[id]
		return there && v.regionOf(pool) != v
	}
	o.Tasks = slices.DeleteFunc(slices.Clone(o.Tasks), func(f cluster.TaskFact) bool { return elsewhere(f.AllocationID) })
	o.Jobs = slices.DeleteFunc(slices.Clone(o.Jobs), func(j cluster.JobFact) bool {
		if !elsewhere(j.AllocationID) {
			return false
		}
		v.log.Warn("a job in this region of Nomad has the name of an attempt of another region and is ignored", "term", v.lead.Term, "region", v.title(), "job", j.JobID)
		return true
	})
	return o, nil
}

// places has the region of each job that was submitted or listed.
type places struct {
	mu sync.Mutex
	at map[string]*view // by attempt
}

// listed replaces what is known of the jobs of a region.
func (p *places) listed(v *view, jobs []cluster.JobFact) {
	if len(v.views) == 1 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, at := range p.at {
		if at == v {
			delete(p.at, id)
		}
	}
	for _, j := range jobs {
		p.put(j.AllocationID, v)
	}
}

func (p *places) put(id string, v *view) {
	if p.at == nil {
		p.at = map[string]*view{}
	}
	p.at[id] = v
}

// viewsOf returns the regions in which the job of an attempt may be: that of its pool, else where Nomad has
// listed it, else all. A region may have listed the id before there was the attempt, and may answer no more.
func (t *term) viewsOf(ctx context.Context, allocationID string) ([]*view, error) {
	if len(t.views) == 1 {
		return t.views, nil
	}
	name, err := attempts.PoolOf(ctx, t.db, jobspecs.JobID(allocationID))
	if err != nil {
		return nil, err
	}
	if of := t.cfg.Pools.Named(name); of != nil && t.view(of.Region) != nil {
		return []*view{t.view(of.Region)}, nil
	}
	t.places.mu.Lock()
	at := t.places.at[allocationID]
	t.places.mu.Unlock()
	if at != nil {
		return []*view{at}, nil
	}
	return t.views, nil
}

// absent returns an error if it is known that this region's Nomad does not answer. Calls would only keep
// those of other regions waiting. With one region there is nothing else to do, so each call tries.
func (v *view) absent() error {
	if len(v.views) > 1 && v.away.Load() {
		return fmt.Errorf("nomad in region %s does not answer", v.title())
	}
	return nil
}

// retryNow makes the calls that have failed while this region's Nomad did not answer due at once.
func (v *view) retryNow(ctx context.Context) error {
	ids := []string{}
	for id, here := range v.live {
		if here {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return v.db.Fenced(ctx, v.lead.Term, func(tx *database.DB) error { return rows.RetryNow(ctx, tx, ids) })
}

// submitTo registers an attempt's job in the region of its pool.
func (t *term) submitTo(ctx context.Context, of *pool.Pool, task jobspecs.Task) (cluster.Outcome, error) {
	v := t.view(of.Region)
	if v == nil {
		return cluster.Refused, fmt.Errorf("pool %s is in Nomad region %q, which this master does not know", of.Name, of.Region)
	}
	if err := v.absent(); err != nil {
		return cluster.TryAgain, err
	}
	return v.nomad.Submit(ctx, task)
}

// stopJob stops the job of an attempt, wherever it is.
func (t *term) stopJob(ctx context.Context, allocationID string) (cluster.Outcome, error) {
	views, err := t.viewsOf(ctx, allocationID)
	if err != nil {
		return cluster.TryAgain, err
	}
	worst := cluster.Done
	var failed error
	for _, v := range views {
		outcome, err := cluster.TryAgain, v.absent()
		if err == nil {
			outcome, err = v.nomad.Stop(ctx, allocationID)
		}
		worst, failed = max(worst, outcome), errors.Join(failed, err)
	}
	return worst, failed
}

// whyNotPlaced asks Nomad why it did not place the job of an attempt; "" if it gives no reason.
func (t *term) whyNotPlaced(ctx context.Context, allocationID string) (string, error) {
	views, err := t.viewsOf(ctx, allocationID)
	if err != nil {
		return "", err
	}
	for _, v := range views {
		if err = v.absent(); err != nil {
			continue
		}
		var why string
		if why, err = v.nomad.WhyNotPlaced(ctx, allocationID); why != "" {
			return why, nil
		}
	}
	return "", err
}

// leftoversOf reads the files that an attempt left on its nodes.
func (t *term) leftoversOf(ctx context.Context, allocationID string) (LeftoverReader, error) {
	views, err := t.viewsOf(ctx, allocationID)
	if err != nil {
		return nil, err
	}
	if err := views[0].absent(); err != nil {
		return nil, err
	}
	return views[0].leftovers, nil
}
