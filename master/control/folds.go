package control

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/budget"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/search"
	"github.com/detent-ml/detent/master/store"
)

// folds keeps what is expensive to make again: of configurations what the loop reads,
// and searches, which only grow. It keeps no more than its budget allows.
type folds struct {
	byID    map[int]*fold
	nodes   inventories
	choices choices
	budget  budget.Budget
	out     map[int]bool // the live experiments that do not fit
	pending bool         // more could be read than was read last
}

type fold struct {
	config expconf.Config
	search *search.Search
	broken string
	unread bool   // its configuration and its events were not read
	behind bool   // not all of its events were read
	aside  string // why it does not fit, if its search is needed
}

// current says that the fold has everything that the database had at the last load.
func (x *fold) current() bool { return !x.unread && !x.behind }

// seen says how far each known search is.
func (f *folds) seen() map[int]int64 {
	m := make(map[int]int64, len(f.byID))
	for id, x := range f.byID {
		switch {
		case !x.current():
		case x.search != nil:
			m[id] = x.search.Seq()
		default:
			m[id] = math.MaxInt64 // nothing of it is read again
		}
	}
	return m
}

// choose says which experiments are to be read now, and no more of them at once than a
// part of the budget. What does not fit into the budget is dropped, or not read at all:
// its rows are as in every load.
func (f *folds) choose(live []store.LiveExperiment) []store.Reading {
	f.out = f.budget.Choose(claimsOf(f.budget, live))
	var waiting []*store.LiveExperiment
	for i := range live {
		e := &live[i]
		x := f.byID[e.ID]
		switch {
		case e.Unmanaged: // the loop needs neither its configuration nor its search
		case f.out[e.ID]:
			if x != nil && x.broken == "" {
				f.byID[e.ID] = &fold{unread: true, config: expconf.Config{MaxRestarts: x.config.MaxRestarts, PreemptionTimeout: x.config.PreemptionTimeout}}
			}
		case x == nil || !x.current():
			waiting = append(waiting, e)
		}
	}
	slices.SortStableFunc(waiting, func(a, b *store.LiveExperiment) int { return cmp.Compare(rank(a), rank(b)) })
	var list []store.Reading
	var bytes int64
	f.pending = false
	for _, e := range waiting {
		if bytes += max(e.Memory, minReading); f.budget.Bytes > 0 && bytes > f.budget.Batch() && len(list) > 0 {
			f.pending = true
			break
		}
		r := store.Reading{ID: e.ID}
		if x := f.byID[e.ID]; x != nil && x.behind {
			r.After = x.search.Seq()
		}
		list = append(list, r)
	}
	return list
}

// minReading is what any experiment counts for while it is read.
const minReading = 8 << 10

// rank is the order in which experiments are read: those that run first.
func rank(e *store.LiveExperiment) int {
	if needsSearch(e) {
		return 0
	}
	return 1
}

// needsSearch reports whether an experiment runs or is to run. The search of any other one
// decides nothing until then.
func needsSearch(e *store.LiveExperiment) bool {
	if e.Unmanaged {
		return false
	}
	switch e.Desired {
	case string(lifecycle.WantKilled), string(lifecycle.WantCanceled), string(lifecycle.WantDeleted):
		return false
	}
	return e.State == string(lifecycle.Active) || e.Desired == string(lifecycle.WantActive) || e.Continues > e.Continued
}

// claimsOf lists what each live experiment needs. Without a limit nobody asks.
func claimsOf(b budget.Budget, live []store.LiveExperiment) []budget.Claim {
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

// fold is what is kept of an experiment, with what the load has read of it.
func (f *folds) fold(e store.LiveExperiment) *fold {
	x := f.byID[e.ID]
	switch {
	case e.Unread || x != nil && x.unread && f.out[e.ID]: // the latter has been dropped during the load
		if x == nil {
			x = &fold{unread: true, config: runningConfig(e.Config)}
		}
		x.aside = ""
		if f.out[e.ID] && needsSearch(&e) {
			x.aside = f.reason()
		}
	case x == nil || x.unread:
		x = newFold(e)
	case e.Continues > e.Continued: // its configuration may be another one than when it ended
		x.guard(func() error { return x.configure(e.Config) })
	}
	return x
}

// asideWord begins the reason of an experiment that is set aside. It is the loop's to
// write and to take back.
const asideWord = "set aside: "

func (f *folds) reason() string {
	return fmt.Sprintf("%sthe searches of all running experiments need more memory than the masters have for them (search_memory_mb, %v), and the owner of this experiment "+
		"uses the most; it continues when there is room: kill or delete other experiments of this owner, or raise search_memory_mb", asideWord, f.budget)
}

// show puts into an experiment of a snapshot what is known of its search. last is the
// last event of each experiment that was being read.
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

// runningConfig reads what a program needs that runs already.
func runningConfig(brief json.RawMessage) expconf.Config {
	var c struct {
		MaxRestarts       int  `json:"max_restarts"`
		PreemptionTimeout *int `json:"preemption_timeout"`
	}
	_ = json.Unmarshal(brief, &c) // what cannot be read here breaks the experiment when it is read
	return expconf.Config{MaxRestarts: c.MaxRestarts, PreemptionTimeout: c.PreemptionTimeout}
}

func newFold(e store.LiveExperiment) *fold {
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

// Bounds on a search that is made: a release that knew none may have stored its
// configuration, and a search holds all its trials in memory.
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

// read reads a stored configuration, and keeps of it what the loop needs: the rest may be
// large.
func (x *fold) read(config json.RawMessage) (expconf.Config, error) {
	cfg, err := expconf.ParseConfigJSON(config)
	if err != nil {
		return cfg, fmt.Errorf("its stored configuration cannot be read: %w", err)
	}
	x.config = expconf.Config{MaxRestarts: cfg.MaxRestarts, PreemptionTimeout: cfg.PreemptionTimeout, CheckpointStorage: cfg.CheckpointStorage,
		Resources: expconf.Resources{IsSingleNode: cfg.Resources.IsSingleNode}, Environment: expconf.Environment{Nomad: cfg.Environment.Nomad}}
	return cfg, nil
}

// guard runs what may fail, or panic: then the search is broken, and what is left of
// it is not to be used.
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

// breakDown remembers that an experiment cannot be handled, by its bundle's key.
func (f *folds) breakDown(key, why string) {
	if id, err := strconv.Atoi(strings.TrimPrefix(key, experimentKeys)); err == nil && f.byID[id] != nil {
		f.byID[id].fail(why)
	}
}
