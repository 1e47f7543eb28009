package rows

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/queue"
	"github.com/detent-ml/detent/master/reservations"
	"github.com/detent-ml/detent/master/workspaces"
)

// A LiveCache loads what LoadLive loads, but reads only rows that have changed since the
// last load, and keeps the others in memory. A load first lists the ids and versions of
// all live rows, and then reads those with a new version, in one snapshot.
//
// The version of a row is PostgreSQL's xmin, the transaction that wrote it. A transaction
// leaves one version of a row, so a row with the same version in two snapshots is
// unchanged. Two columns of an experiment are not in its row: the state of
// the files of an experiment that is being deleted, which is therefore read in every load,
// and the number of trials, which changes only when the loop adds a trial; the new trial is
// live then, and causes the experiment to be read again.
//
// Transaction ids are valid within one server. When another server answers, as after a
// failover or a restore, and after a failed load, everything is read again. A cache belongs
// to one term of one leader.
//
// It is not safe for concurrent use.
type LiveCache struct {
	db          *database.DB
	server      time.Time // start time of the server that answered the last load
	round       uint64
	experiments cachedRows[int, cachedExperiment]
	trials      cachedRows[int, LiveTrial]
	allocations cachedRows[string, cachedAllocation]
	nodes       cachedRows[string, nodes.Row]
	byName      []nodes.Row // the nodes, by name
	configBytes int         // of the configurations that one load reads
}

// NewLiveCache returns an empty cache.
func NewLiveCache(db *database.DB) *LiveCache {
	c := &LiveCache{db: db, configBytes: maxConfigBytes}
	c.forget()
	return c
}

func (c *LiveCache) forget() {
	c.experiments, c.trials = cachedRows[int, cachedExperiment]{}, cachedRows[int, LiveTrial]{}
	c.allocations, c.nodes, c.byName = cachedRows[string, cachedAllocation]{}, cachedRows[string, nodes.Row]{}, nil
}

// cachedRows are rows by their ids.
type cachedRows[K comparable, R any] map[K]*cached[R]

type cached[R any] struct {
	row     R
	version uint64 // 0: not yet read
	round   uint64 // the load that last found it live
}

type cachedExperiment struct {
	LiveExperiment
	running bool // its trials that have not ended are live
	brief   bool // its configuration has only the fields that running trials need
}

type cachedAllocation struct {
	LiveAllocation
	versions []uint32 // versions of its members' rows
	listed   int      // members listed in this round
	stale    bool     // a member has changed
}

// mark records that a row is live; stale is true if it must be read.
func (m cachedRows[K, R]) mark(key K, version, round uint64) (x *cached[R], stale bool) {
	x = m[key]
	if x == nil {
		x = &cached[R]{}
		m[key] = x
	}
	x.round = round
	return x, x.version != version
}

// sweep drops the rows that a load has not marked.
func (m cachedRows[K, R]) sweep(listed int, round uint64) {
	if len(m) > listed {
		maps.DeleteFunc(m, func(_ K, x *cached[R]) bool { return x.round != round })
	}
}

// Load reads all live rows, in one snapshot.
func (c *LiveCache) Load(ctx context.Context, known Known) (*Live, error) {
	var live *Live
	err := c.db.Snapshot(ctx, func(tx *database.DB) error {
		live = &Live{}
		return c.load(ctx, tx, live, known)
	})
	if err != nil {
		c.forget()
	}
	return live, err
}

func (c *LiveCache) load(ctx context.Context, tx *database.DB, live *Live, known Known) error {
	var server time.Time
	err := tx.QueryRow(ctx, `SELECT now(), alarm, trust, pg_postmaster_start_time(),
		(SELECT jsonb_object_agg(name, jsonb_build_object('alarm', alarm, 'trust', trust)) FROM regions) FROM cluster`).
		Scan(&live.Now, &live.Alarm, &live.Trust, &server, &live.Regions)
	if err != nil {
		return err
	}
	if !server.Equal(c.server) {
		c.forget()
		c.server = server
	}
	c.round++
	if err := c.loadExperiments(ctx, tx, live, known.Seen); err != nil {
		return err
	}
	if err := loadNames(ctx, tx, live); err != nil {
		return err
	}
	if err := c.loadAllocations(ctx, tx, live); err != nil {
		return err
	}
	if err := c.loadNodes(ctx, tx, live); err != nil {
		return err
	}
	if live.Tasks, err = database.Rows[LiveTask](ctx, tx, liveTasks); err != nil {
		return err
	}
	if live.Matches, err = database.Rows[LiveMatch](ctx, tx, liveMatches); err != nil {
		return err
	}
	if live.Failures, err = database.Rows[nodes.FailureCount](ctx, tx, liveFailures); err != nil {
		return err
	}
	if live.Bindings, err = workspaces.Bindings(ctx, tx); err != nil {
		return err
	}
	if live.Quotas, err = queue.LiveQuotas(ctx, tx); err != nil {
		return err
	}
	if live.Reserved, err = reservations.LoadLive(ctx, tx); err != nil {
		return err
	}
	if live.DueGCs, err = dueGCs(ctx, tx); err != nil {
		return err
	}
	return c.loadSearches(ctx, tx, live, known)
}

// Which rows are live, each with its version.
const (
	listExperiments = `
	SELECT e.id, e.xmin, e.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETE_FAILED') AND NOT e.unmanaged, e.state = 'DELETING'
	FROM experiments e
	WHERE (e.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETE_FAILED') OR e.desired = 'deleted' AND (e.state <> 'DELETE_FAILED' OR e.delete_requests > e.delete_failed)
		OR e.continues > e.continued) AND NOT (e.state = 'DELETING' AND EXISTS (SELECT FROM work w WHERE w.kind = 'delete' AND w.subject = e.id::text))
	ORDER BY e.id`
	listTrials = `
	SELECT t.id, t.experiment_id, t.xmin, k.xmin FROM trials t JOIN tasks k ON k.id = t.task_id WHERE t.ended_at IS NULL ORDER BY t.id`
	listAllocations = `SELECT id, xmin FROM allocations WHERE state <> 'TERMINATED'`
	listMembers     = `
	SELECT m.allocation_id, m.rank, m.xmin FROM members m JOIN allocations a ON a.id = m.allocation_id WHERE a.state <> 'TERMINATED'`
	listNodes = `SELECT id, xmin FROM nodes`
)

// Rows with their versions.
type (
	experimentRow struct {
		LiveExperiment
		RowVersion uint32 `db:"row_version"`
	}
	trialRow struct {
		LiveTrial
		RowVersion     uint32 `db:"row_version"`
		TaskRowVersion uint32 `db:"task_row_version"`
	}
	allocationRow struct {
		LiveAllocation
		RowVersion uint32 `db:"row_version"`
	}
	memberRow struct {
		LiveMember
		RowVersion uint32 `db:"row_version"`
	}
	nodeRow struct {
		nodes.Row
		RowVersion uint32 `db:"row_version"`
	}
)

// both combines the versions of two joined rows.
func both(a, b uint32) uint64 { return uint64(a)<<32 | uint64(b) }

// loadExperiments loads experiments and their trials.
func (c *LiveCache) loadExperiments(ctx context.Context, tx *database.DB, live *Live, seen map[int]int64) error {
	var (
		id                int
		version           uint32
		running, deleting bool
		order             []*cached[cachedExperiment]
		again             = map[int]bool{}
	)
	err := tx.Each(ctx, listExperiments, nil, []any{&id, &version, &running, &deleting}, func() error {
		x, stale := c.experiments.mark(id, uint64(version), c.round)
		x.row.running = running
		if _, known := seen[id]; stale || deleting || !known && !x.row.brief {
			again[id] = true
		}
		order = append(order, x)
		return nil
	})
	if err != nil {
		return err
	}
	c.experiments.sweep(len(order), c.round)
	trials, stale, err := c.listTrials(ctx, tx, again)
	if err != nil {
		return err
	}
	if err := c.readExperiments(ctx, tx, sortedKeys(again), seen); err != nil {
		return err
	}
	live.Experiments = make([]LiveExperiment, len(order))
	for i, x := range order {
		live.Experiments[i] = x.row.LiveExperiment
	}
	return c.loadTrials(ctx, tx, live, trials, stale)
}

// readExperiments reads the experiments that are new or have changed.
func (c *LiveCache) readExperiments(ctx context.Context, tx *database.DB, ids []int, seen map[int]int64) error {
	if len(ids) == 0 {
		return nil
	}
	known := slices.DeleteFunc(slices.Clone(ids), func(id int) bool { _, ok := seen[id]; return !ok })
	list, err := database.Rows[experimentRow](ctx, tx, experimentRows, ids, known)
	if err != nil {
		return err
	}
	for i := range list {
		x := c.experiments[list[i].ID]
		x.row.LiveExperiment, x.version = list[i].LiveExperiment, uint64(list[i].RowVersion)
		_, held := seen[list[i].ID]
		x.row.brief = !held
	}
	return checkComplete("experiments", len(ids), len(list))
}

// listTrials lists the trials that have not ended, of experiments that run. An experiment
// with a new trial is read again, because its number of trials has changed.
func (c *LiveCache) listTrials(ctx context.Context, tx *database.DB, again map[int]bool) (order []*cached[LiveTrial], stale []int, err error) {
	var (
		id, experiment int
		version, task  uint32
	)
	err = tx.Each(ctx, listTrials, nil, []any{&id, &experiment, &version, &task}, func() error {
		e := c.experiments[experiment]
		if e == nil || !e.row.running {
			return nil
		}
		x, changed := c.trials.mark(id, both(version, task), c.round)
		if changed {
			stale = append(stale, id)
		}
		if x.version == 0 {
			again[experiment] = true
		}
		order = append(order, x)
		return nil
	})
	c.trials.sweep(len(order), c.round)
	return order, stale, err
}

func (c *LiveCache) loadTrials(ctx context.Context, tx *database.DB, live *Live, order []*cached[LiveTrial], stale []int) error {
	if len(stale) > 0 {
		list, err := database.Rows[trialRow](ctx, tx, trialRows, stale)
		if err != nil {
			return err
		}
		for i := range list {
			x := c.trials[list[i].ID]
			x.row, x.version = list[i].LiveTrial, both(list[i].RowVersion, list[i].TaskRowVersion)
		}
		if err := checkComplete("trials", len(stale), len(list)); err != nil {
			return err
		}
	}
	live.Trials = make([]LiveTrial, len(order))
	for i, x := range order {
		live.Trials[i] = x.row
	}
	continuing, err := database.Rows[trialRow](ctx, tx, continuingTrials)
	if err != nil || len(continuing) == 0 {
		return err
	}
	for _, t := range continuing {
		live.Trials = append(live.Trials, t.LiveTrial)
	}
	slices.SortFunc(live.Trials, func(a, b LiveTrial) int { return cmp.Compare(a.ID, b.ID) })
	return nil
}

func (c *LiveCache) loadAllocations(ctx context.Context, tx *database.DB, live *Live) error {
	var (
		id      string
		version uint32
		order   []*cached[cachedAllocation]
		stale   []string
	)
	err := tx.Each(ctx, listAllocations, nil, []any{&id, &version}, func() error {
		x, changed := c.allocations.mark(id, uint64(version), c.round)
		x.row.listed, x.row.stale = 0, false
		if changed {
			stale = append(stale, id)
		}
		order = append(order, x)
		return nil
	})
	if err != nil {
		return err
	}
	c.allocations.sweep(len(order), c.round)
	if len(stale) > 0 {
		list, err := database.Rows[allocationRow](ctx, tx, allocationRows, stale)
		if err != nil {
			return err
		}
		for _, a := range list {
			x := c.allocations[a.ID]
			a.Members = x.row.Members
			x.row.LiveAllocation, x.version = a.LiveAllocation, uint64(a.RowVersion)
		}
		if err := checkComplete("attempts", len(stale), len(list)); err != nil {
			return err
		}
	}
	if err := c.loadMembers(ctx, tx, order); err != nil {
		return err
	}
	live.Allocations = make([]LiveAllocation, len(order))
	for i, x := range order {
		live.Allocations[i] = x.row.LiveAllocation
	}
	return nil
}

// loadMembers reads the members of each attempt that has a new, deleted or changed member.
func (c *LiveCache) loadMembers(ctx context.Context, tx *database.DB, order []*cached[cachedAllocation]) error {
	var (
		id      string
		rank    int
		version uint32
	)
	err := tx.Each(ctx, listMembers, nil, []any{&id, &rank, &version}, func() error {
		a := &c.allocations[id].row
		a.listed++
		i := rank
		if i >= len(a.Members) || a.Members[i].Rank != rank {
			i = slices.IndexFunc(a.Members, func(m LiveMember) bool { return m.Rank == rank })
		}
		a.stale = a.stale || i < 0 || a.versions[i] != version
		return nil
	})
	if err != nil {
		return err
	}
	var stale []string
	for _, x := range order {
		if x.row.stale || x.row.listed != len(x.row.Members) {
			stale = append(stale, x.row.ID)
			x.row.Members, x.row.versions = nil, nil
		}
	}
	if len(stale) == 0 {
		return nil
	}
	list, err := database.Rows[memberRow](ctx, tx, memberRows, stale)
	if err != nil {
		return err
	}
	for _, m := range list {
		a := &c.allocations[m.AllocationID].row
		a.Members, a.versions = append(a.Members, m.LiveMember), append(a.versions, m.RowVersion)
	}
	return nil
}

func (c *LiveCache) loadNodes(ctx context.Context, tx *database.DB, live *Live) error {
	var (
		id      string
		version uint32
		stale   []string
		listed  int
	)
	err := tx.Each(ctx, listNodes, nil, []any{&id, &version}, func() error {
		listed++
		if _, changed := c.nodes.mark(id, uint64(version), c.round); changed {
			stale = append(stale, id)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(stale) > 0 || listed != len(c.byName) {
		list, err := database.Rows[nodeRow](ctx, tx, "SELECT xmin AS row_version, "+nodes.Columns+" FROM nodes WHERE id = ANY($1)", stale)
		if err != nil {
			return err
		}
		for _, n := range list {
			x := c.nodes[n.ID]
			x.row, x.version = n.Row, uint64(n.RowVersion)
		}
		if err := checkComplete("nodes", len(stale), len(list)); err != nil {
			return err
		}
		c.nodes.sweep(listed, c.round)
		c.byName = c.byName[:0]
		for _, x := range c.nodes {
			c.byName = append(c.byName, x.row)
		}
		slices.SortFunc(c.byName, func(a, b nodes.Row) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	}
	live.Nodes = slices.Clone(c.byName)
	return nil
}

// checkComplete returns an error unless every listed row was read.
func checkComplete(what string, listed, read int) error {
	if read != listed {
		return fault.New(fault.Internal, "of %d live %s, %d could be read", listed, what, read)
	}
	return nil
}
