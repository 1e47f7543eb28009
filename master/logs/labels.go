package logs

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/detent-ml/detent/master/database"
)

const (
	maxCachedLabels = 100_000 // tasks, origins and kinds in the cache

	// Limits of the values that log filters offer, because tasks' programs choose them.
	maxKindsPerBatch  = 64   // in one batch
	maxKindsPerTask   = 4096 // a rank is part of a kind, and there may be thousands
	maxLabelsPerTask  = 256  // pairs of a stdtype and a source
	maxOriginsPerTask = 2048

	// OtherLabel replaces the labels beyond these limits.
	OtherLabel = "other"
)

// OtherOrigin replaces the origins beyond a task's limit.
var OtherOrigin = Origin{OtherLabel, OtherLabel, OtherLabel}

// taskLabels caches the origins, kinds and labels of a task's log. Only the flush changes it.
type taskLabels struct {
	id      int
	class   int16
	origins map[Origin]int
	kinds   map[kind]bool
	labels  map[label]bool
}

func (t *taskLabels) size() int { return 1 + len(t.origins) + len(t.kinds) }

// A label is what a line says of itself.
type label struct{ stdtype, source string }

// kind has the fields of a line that filters offer.
type kind struct {
	label
	rank int
}

// other returns the kind that replaces this one if its task has too many kinds.
func (k kind) other() kind {
	if k.stdtype != "" && k.stdtype != "stdout" && k.stdtype != "stderr" {
		k.stdtype = OtherLabel
	}
	return kind{label{k.stdtype, OtherLabel}, -1}
}

// allows reports whether lines keep this kind in the task's log.
func (t *taskLabels) allows(k kind) bool {
	return t.kinds[k] || k == k.other() ||
		len(t.kinds) < maxKindsPerTask && (t.labels[k.label] || len(t.labels) < maxLabelsPerTask)
}

// allowsOrigin reports whether lines keep this origin in the task's log.
func (t *taskLabels) allowsOrigin(o Origin) bool {
	_, known := t.origins[o]
	return known || o == OtherOrigin || len(t.origins) < maxOriginsPerTask
}

// sanitizeLines sanitizes the lines of a batch, and collects their kinds. It replaces the
// kinds beyond the limits of a batch or of its task.
func (s *Store) sanitizeLines(b *Batch) {
	kinds := map[kind]kind{} // kind → the kind that is stored
	var last kind
	for i := range b.Lines {
		b.Lines[i] = sanitize(b.Lines[i])
		l := &b.Lines[i]
		k := kindOf(l)
		if k == last && i > 0 {
			continue
		}
		if _, there := kinds[k]; !there {
			if len(kinds) >= maxKindsPerBatch {
				k = k.other()
				l.Stdtype, l.Source, l.Rank = k.stdtype, k.source, k.rank
			}
			kinds[k] = k // there are very few replacement kinds
		}
		last = k
	}
	if s.boundKinds(b.TaskID, kinds) {
		for i := range b.Lines {
			l := &b.Lines[i]
			k := kinds[kindOf(l)]
			l.Stdtype, l.Source, l.Rank = k.stdtype, k.source, k.rank
		}
	}
	b.kinds = make(map[kind]bool, len(kinds))
	for _, k := range kinds {
		b.kinds[k] = true
	}
}

func kindOf(l *Line) kind { return kind{label{l.Stdtype, l.Source}, l.Rank} }

// boundKinds replaces the kinds beyond the task's limit; replaced is false if there are none.
func (s *Store) boundKinds(task string, kinds map[kind]kind) (replaced bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, known := s.tasks[task]
	if !known {
		return false
	}
	for k := range kinds {
		if !t.allows(k) {
			kinds[k] = k.other()
			replaced = true
		}
	}
	return replaced
}

// refs has the ids of the rows that a batch refers to.
type refs struct {
	task   *taskLabels
	origin int
}

// forget removes a task from the cache, and reports whether the cache had it.
func (s *Store) forget(task string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, known := s.tasks[task]
	if known {
		s.known -= t.size()
		delete(s.tasks, task)
	}
	return known
}

// evict removes arbitrary tasks if the cache is too large.
func (s *Store) evict() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known <= maxCachedLabels {
		return
	}
	for id, t := range s.tasks {
		if s.known <= maxCachedLabels/2 {
			return
		}
		s.known -= t.size()
		delete(s.tasks, id)
	}
}

// resolve finds, and if needed inserts, the rows of tasks, origins and kinds, with one
// statement for each table. The result omits batches of tasks that do not exist.
func (s *Store) resolve(ctx context.Context, batch []*database.Queued[*Batch]) (map[*database.Queued[*Batch]]refs, error) {
	s.evict()
	if err := s.resolveTasks(ctx, batch); err != nil {
		return nil, err
	}
	if err := s.resolveOrigins(ctx, batch); err != nil {
		return nil, err
	}
	if err := s.resolveKinds(ctx, batch); err != nil {
		return nil, err
	}
	known := make(map[*database.Queued[*Batch]]refs, len(batch))
	for _, q := range batch {
		t, ok := s.tasks[q.Item.TaskID]
		if !ok {
			continue
		}
		origin, ok := t.origins[q.Item.Origin]
		if !ok {
			origin = t.origins[OtherOrigin]
		}
		known[q] = refs{t, origin}
	}
	return known, nil
}

func (s *Store) resolveTasks(ctx context.Context, batch []*database.Queued[*Batch]) error {
	missing := map[string]bool{}
	for _, q := range batch {
		if _, ok := s.tasks[q.Item.TaskID]; !ok {
			missing[q.Item.TaskID] = true
		}
	}
	if len(missing) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(missing))
	err := s.db.Exec(ctx, `
		INSERT INTO log_tasks (task_id, class) SELECT k.id, `+classOf+`
		FROM tasks k LEFT JOIN trials t ON t.task_id = k.id LEFT JOIN experiments e ON e.id = t.experiment_id
		WHERE k.id = ANY($2) ORDER BY k.id ON CONFLICT DO NOTHING`, s.set.Days, names)
	if err != nil {
		return err
	}
	type found struct {
		TaskID string `db:"task_id"`
		ID     int    `db:"id"`
		Class  int16  `db:"class"`
	}
	list, err := database.Rows[found](ctx, s.db, `SELECT task_id, id, class FROM log_tasks WHERE task_id = ANY($1)`, names)
	if err != nil || len(list) == 0 {
		return err
	}
	tasks, ids := map[int]*taskLabels{}, make([]int, len(list))
	for i, f := range list {
		ids[i] = f.ID
		tasks[f.ID] = &taskLabels{id: f.ID, class: f.Class, origins: map[Origin]int{}, kinds: map[kind]bool{}, labels: map[label]bool{}}
	}
	if err := readLabels(ctx, s.db, tasks, ids); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range list {
		s.tasks[f.TaskID] = tasks[f.ID]
		s.known += tasks[f.ID].size()
	}
	return nil
}

type originRow struct {
	Task int `db:"log_task"`
	ID   int `db:"id"`
	Origin
}

type kindRow struct {
	Task    int    `db:"log_task"`
	Stdtype string `db:"stdtype"`
	Source  string `db:"source"`
	Rank    int    `db:"rank"`
}

// readLabels reads the origins and kinds of tasks, up to their limits.
func readLabels(ctx context.Context, db *database.DB, tasks map[int]*taskLabels, ids []int) error {
	origins, err := database.Rows[originRow](ctx, db, `
		SELECT o.* FROM unnest($1::int[]) AS t(id) CROSS JOIN LATERAL (
			SELECT log_task, id, allocation_id, agent_id, container_id FROM log_origins WHERE log_task = t.id LIMIT $2) o`,
		ids, maxOriginsPerTask+1)
	if err != nil {
		return err
	}
	kinds, err := database.Rows[kindRow](ctx, db, `
		SELECT k.* FROM unnest($1::int[]) AS t(id) CROSS JOIN LATERAL (
			SELECT log_task, stdtype, source, rank FROM log_kinds WHERE log_task = t.id LIMIT $2) k`, ids, maxKindsPerTask+4)
	for _, r := range origins {
		tasks[r.Task].origins[r.Origin] = r.ID
	}
	for _, r := range kinds {
		k := kind{label{r.Stdtype, r.Source}, r.Rank}
		tasks[r.Task].kinds[k], tasks[r.Task].labels[k.label] = true, true
	}
	return err
}

// resolveOrigins inserts the new origins of a batch. All masters insert in the same order,
// so that they cannot deadlock.
func (s *Store) resolveOrigins(ctx context.Context, batch []*database.Queued[*Batch]) error {
	owners, fresh := map[int]*taskLabels{}, map[originRow]bool{}
	for _, q := range batch {
		t, o := s.tasks[q.Item.TaskID], q.Item.Origin
		if t == nil {
			continue
		}
		if !t.allowsOrigin(o) {
			o = OtherOrigin
		}
		if _, known := t.origins[o]; !known {
			owners[t.id] = t
			fresh[originRow{Task: t.id, Origin: o}] = true
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	list := slices.SortedFunc(maps.Keys(fresh), func(a, b originRow) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.AllocationID, b.AllocationID), cmp.Compare(a.AgentID, b.AgentID), cmp.Compare(a.ContainerID, b.ContainerID))
	})
	var tasks []int
	var allocations, agents, containers []string
	for _, r := range list {
		tasks, allocations = append(tasks, r.Task), append(allocations, r.AllocationID)
		agents, containers = append(agents, r.AgentID), append(containers, r.ContainerID)
	}
	made, err := database.Rows[originRow](ctx, s.db, `
		INSERT INTO log_origins (log_task, allocation_id, agent_id, container_id)
		SELECT * FROM unnest($1::int[], $2::text[], $3::text[], $4::text[])
		ON CONFLICT (log_task, allocation_id, agent_id, container_id) DO UPDATE SET agent_id = excluded.agent_id
		RETURNING log_task, id, allocation_id, agent_id, container_id`, tasks, allocations, agents, containers)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range made {
		owners[r.Task].origins[r.Origin] = r.ID
	}
	s.known += len(made)
	return err
}

// resolveKinds inserts the new kinds of a batch. Parallel batches can exceed the limit of
// kinds; filters do not offer these.
func (s *Store) resolveKinds(ctx context.Context, batch []*database.Queued[*Batch]) error {
	owners, fresh := map[int]*taskLabels{}, map[kindRow]bool{}
	for _, q := range batch {
		t := s.tasks[q.Item.TaskID]
		if t == nil {
			continue
		}
		for k := range q.Item.kinds {
			if !t.kinds[k] && t.allows(k) {
				owners[t.id] = t
				fresh[kindRow{t.id, k.stdtype, k.source, k.rank}] = true
			}
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	list := slices.SortedFunc(maps.Keys(fresh), func(a, b kindRow) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Stdtype, b.Stdtype), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Rank, b.Rank))
	})
	var tasks, ranks []int
	var stdtypes, sources []string
	for _, r := range list {
		tasks, ranks = append(tasks, r.Task), append(ranks, r.Rank)
		stdtypes, sources = append(stdtypes, r.Stdtype), append(sources, r.Source)
	}
	err := s.db.Exec(ctx, `INSERT INTO log_kinds (log_task, stdtype, source, rank)
		SELECT * FROM unnest($1::int[], $2::text[], $3::text[], $4::int[]) ON CONFLICT DO NOTHING`, tasks, stdtypes, sources, ranks)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range list {
		k, t := kind{label{r.Stdtype, r.Source}, r.Rank}, owners[r.Task]
		t.kinds[k], t.labels[k.label] = true, true
	}
	s.known += len(list)
	return nil
}
