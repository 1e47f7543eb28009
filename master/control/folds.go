package control

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/control/saves"
	"github.com/detent-ml/detent/master/control/served"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/pace"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/search/budget"
)

// folds keeps values between cycles that take long to compute: parts of the experiments'
// configurations, their searches, and the nodes' inventories. The memory of the searches
// is limited by the budget.
type folds struct {
	byID    map[int]*fold // live experiments by id
	nodes   inventories
	choices choices
	served  served.Served
	paces   pace.Tracks
	saves   saves.Saves
	budget  budget.Budget
	out     map[int]bool // live experiments whose searches do not fit into the budget
	pending bool         // the last load left events or configurations for the next one
}

// A fold is what the loop keeps of one experiment.
type fold struct {
	key    string // of the experiment's group
	took   pace.Took
	config expconf.Config // only the fields that the loop reads
	search *search.Search
	broken string // why the search cannot continue; else ""
	unread bool   // the configuration and the events have not been read
	behind bool   // some events have not been read
	aside  string // why the search does not fit into the budget, if the experiment needs it; else ""
}

// current reports whether the fold has everything that the database had at the last load.
func (x *fold) current() bool { return !x.unread && !x.behind }

// seen returns the number of the last event of each search, by experiment.
func (f *folds) seen() map[int]int64 {
	m := make(map[int]int64, len(f.byID))
	for id, x := range f.byID {
		switch {
		case !x.current():
		case x.search != nil:
			m[id] = x.search.Seq()
		default:
			m[id] = math.MaxInt64 // read no events
		}
	}
	return m
}

// choose returns the experiments whose configurations and events the load reads now, at
// most a part of the budget at once. It drops the searches that do not fit into the budget.
// The load reads the other rows of all experiments in any case.
func (f *folds) choose(live []rows.LiveExperiment) []rows.Reading {
	f.out = f.budget.Choose(claimsOf(f.budget, live))
	var waiting []*rows.LiveExperiment
	for i := range live {
		e := &live[i]
		x := f.byID[e.ID]
		switch {
		case e.Unmanaged: // the loop needs neither its configuration nor its search
		case f.out[e.ID]:
			if x != nil && x.broken == "" {
				f.byID[e.ID] = &fold{unread: true, config: briefOf(x.config)}
			}
		case x == nil || !x.current():
			waiting = append(waiting, e)
		}
	}
	slices.SortStableFunc(waiting, func(a, b *rows.LiveExperiment) int { return cmp.Compare(rank(a), rank(b)) })
	var list []rows.Reading
	var bytes int64
	f.pending = false
	for _, e := range waiting {
		if bytes += max(e.Memory, minReading); f.budget.Bytes > 0 && bytes > f.budget.Batch() && len(list) > 0 {
			f.pending = true
			break
		}
		r := rows.Reading{ID: e.ID}
		if x := f.byID[e.ID]; x != nil && x.behind {
			r.After = x.search.Seq()
		}
		list = append(list, r)
	}
	return list
}

// minReading is the minimum size, in bytes, that an experiment counts for in one load.
const minReading = 8 << 10

// rank orders the experiments to read: those that run come first.
func rank(e *rows.LiveExperiment) int {
	if needsSearch(e) {
		return 0
	}
	return 1
}

// needsSearch reports whether an experiment runs or will run, so that the loop needs its search.
func needsSearch(e *rows.LiveExperiment) bool {
	if e.Unmanaged {
		return false
	}
	switch e.Desired {
	case string(lifecycle.WantKilled), string(lifecycle.WantCanceled), string(lifecycle.WantDeleted):
		return false
	}
	return e.State == string(lifecycle.Active) || e.Desired == string(lifecycle.WantActive) || e.Continues > e.Continued
}

// claimsOf lists the memory that the search of each live experiment needs; nil if the
// budget has no limit.
func claimsOf(b budget.Budget, live []rows.LiveExperiment) []budget.Claim {
	if b.Bytes <= 0 {
		return nil
	}
	claims := make([]budget.Claim, len(live))
	for i := range live {
		e := &live[i]
		claims[i] = budget.Claim{ID: e.ID, Owner: e.OwnerID, Bytes: e.Memory, Needed: needsSearch(e)}
	}
	return claims
}

// fold returns the fold of an experiment, updated with what the load has read.
func (f *folds) fold(e rows.LiveExperiment) *fold {
	x := f.byID[e.ID]
	switch {
	case e.Unread || x != nil && x.unread && f.out[e.ID]: // choose dropped the second kind during this load
		if x == nil {
			x = &fold{unread: true, config: runningConfig(e.Config)}
		}
		x.aside = ""
		if f.out[e.ID] && needsSearch(&e) {
			x.aside = f.reason()
		}
	case x == nil || x.unread:
		x = newFold(e)
	case e.Continues > e.Continued: // its configuration may have changed since it ended
		x.guard(func() error { return x.configure(e.Config) })
	}
	return x
}

// asideWord is the beginning of the error of an experiment that is set aside: its search
// does not fit into memory now. By this word the loop recognizes the error, to remove it later.
const asideWord = "set aside: "

func (f *folds) reason() string {
	return fmt.Sprintf("%sthe searches of all running experiments need more memory than the masters have for them (search_memory_mb, %v), and the owner of this experiment "+
		"uses the most; it continues when there is room: kill or delete other experiments of this owner, or raise search_memory_mb", asideWord, f.budget)
}

// show copies a fold into an experiment of a snapshot. last has the number of the last event
// in the database, for experiments whose events were read.
func (f *folds) show(x *fold, e *Experiment, last map[int]int64) {
	if n, reading := last[e.ID]; reading && x.search != nil {
		x.behind = x.search.Seq() < n
		f.pending = f.pending || x.behind
	}
	e.Config, e.Broken, e.Aside = x.config, x.broken, x.aside
	if e.Unread = !x.current(); !e.Unread {
		e.Search = x.search
	}
}

// runningConfig returns the part of a configuration that the loop needs for trials that
// already run, although the search is not in memory.
func runningConfig(brief json.RawMessage) expconf.Config {
	raw, _, _ := expconf.Parse("", brief) // newFold reports the error when the whole configuration is read
	return briefOf(expconf.Config(raw))
}

// briefOf returns what the loop needs of a configuration for trials that already run.
func briefOf(c expconf.Config) expconf.Config {
	return expconf.Config{MaxRestarts: c.MaxRestarts, Searcher: expconf.Searcher{Name: c.Searcher.Name}, Preemption: c.Preemption, Resume: c.Resume, PreemptionTimeout: c.PreemptionTimeout,
		Resources: expconf.Resources{MaxRuntime: c.Resources.MaxRuntime}}
}

func newFold(e rows.LiveExperiment) *fold {
	x := &fold{}
	var began expconf.Config
	x.guard(func() (err error) { began, err = x.read(e.Config); return err })
	if x.broken != "" || e.Unmanaged {
		return x
	}
	x.guard(func() (err error) {
		if len(e.SearchConfig) > 0 {
			if began, err = expconf.ParseConfigJSON(e.SearchConfig); err != nil {
				return fmt.Errorf("the configuration with which its search began cannot be read: %w", err)
			}
		}
		if err := bounded(began); err != nil {
			return err
		}
		x.search, err = search.New(began, e.Seed)
		return err
	})
	return x
}

// Limits of a search, which keeps all its trials in memory. Configurations have tighter limits; these
// hold for whatever a row has.
const (
	maxTrials = 1_000_000
	maxRungs  = 1_000
)

func bounded(c expconf.Config) error {
	if s := c.Searcher; s.MaxTrials > maxTrials || s.MaxConcurrentTrials > maxTrials || s.NumRungs > maxRungs || s.MaxRungs > maxRungs {
		return fmt.Errorf("its search is too large: max_trials %d (%d at most), %d rungs (%d at most)", s.MaxTrials, maxTrials, max(s.NumRungs, s.MaxRungs), maxRungs)
	}
	return nil
}

func (x *fold) configure(config json.RawMessage) error {
	_, err := x.read(config)
	return err
}

// read parses a stored configuration, and keeps the fields that the loop needs: the others
// may be large.
func (x *fold) read(config json.RawMessage) (expconf.Config, error) {
	cfg, err := expconf.ParseConfigJSON(config)
	if err != nil {
		return cfg, fmt.Errorf("its stored configuration cannot be read: %w", err)
	}
	x.config = expconf.Config{MaxRestarts: cfg.MaxRestarts, Searcher: expconf.Searcher{Name: cfg.Searcher.Name}, Preemption: cfg.Preemption, Resume: cfg.Resume, PreemptionTimeout: cfg.PreemptionTimeout, CheckpointStorage: cfg.CheckpointStorage,
		Resources:   expconf.Resources{IsSingleNode: cfg.Resources.IsSingleNode, EqualParts: cfg.Resources.EqualParts, GPU: cfg.Resources.GPU, CPUs: cfg.Resources.CPUs, Memory: cfg.Resources.Memory, MaxRuntime: cfg.Resources.MaxRuntime},
		Environment: expconf.Environment{Nomad: cfg.Environment.Nomad, Secrets: cfg.Environment.Secrets}}
	return cfg, nil
}

// guard calls do. If do fails or panics, the search is broken and dropped.
func (x *fold) guard(do func() error) {
	defer func() {
		if r := recover(); r != nil {
			x.fail(fmt.Sprintf("its search failed: panic: %v", r))
		}
	}()
	if err := do(); err != nil {
		x.fail(err.Error())
	}
}

func (x *fold) fail(why string) {
	if x.broken == "" {
		x.broken = why
	}
	x.search, x.unread, x.behind, x.aside = nil, false, false, ""
}

// breakDown marks an experiment's search as broken; key is the key of the experiment's bundle.
func (f *folds) breakDown(key, why string) {
	if id, err := strconv.Atoi(strings.TrimPrefix(key, experimentKeys)); err == nil && f.byID[id] != nil {
		f.byID[id].fail(why)
	}
}
