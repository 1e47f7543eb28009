package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
)

const (
	knownLogs = 100_000 // tasks, origins and kinds that are kept in memory

	// Whatever goes into filters is bounded: the programs of tasks choose it.
	kindsAtOnce    = 64   // in one batch
	kindsPerTask   = 4096 // a rank is part of a kind, and there may be thousands
	labelsPerTask  = 256  // pairs of a stdtype and a source
	originsPerTask = 2048

	// OtherLabel stands for the labels beyond that.
	OtherLabel = "other"
)

// OtherOrigin stands for the origins that are too many for a task.
var OtherOrigin = LogOrigin{OtherLabel, OtherLabel, OtherLabel}

// knownTask is what is remembered of a task with logs. Only the flush changes it.
type knownTask struct {
	id      int
	class   int16
	origins map[LogOrigin]int
	kinds   map[logKind]bool
	labels  map[lineKind]bool
}

func (t *knownTask) size() int { return 1 + len(t.origins) + len(t.kinds) }

// logKind is what filters offer of a line.
type logKind struct {
	lineKind
	rank int
}

// other is the kind that stands for one too many.
func (k logKind) other() logKind {
	if k.stdtype != "" && k.stdtype != "stdout" && k.stdtype != "stderr" {
		k.stdtype = OtherLabel
	}
	return logKind{lineKind{k.stdtype, OtherLabel}, -1}
}

// takes says whether lines of a kind may be in the task's log under their own name.
func (t *knownTask) takes(k logKind) bool {
	return t.kinds[k] || k == k.other() ||
		len(t.kinds) < kindsPerTask && (t.labels[k.lineKind] || len(t.labels) < labelsPerTask)
}

// takesOrigin is the same for where lines come from.
func (t *knownTask) takesOrigin(o LogOrigin) bool {
	_, known := t.origins[o]
	return known || o == OtherOrigin || len(t.origins) < originsPerTask
}

// tidyLines makes lines that can be stored, and collects their kinds. Kinds that are
// too many, for a batch or for its task, become the other kind.
func (s *LogStore) tidyLines(b *LogBatch) {
	kinds := map[logKind]logKind{} // and what each becomes
	var last logKind
	for i := range b.Lines {
		b.Lines[i] = tidy(b.Lines[i])
		l := &b.Lines[i]
		k := l.kind()
		if k == last && i > 0 {
			continue
		}
		if _, there := kinds[k]; !there {
			if len(kinds) >= kindsAtOnce {
				k = k.other()
				l.Stdtype, l.Source, l.Rank = k.stdtype, k.source, k.rank
			}
			kinds[k] = k // of the others there are very few
		}
		last = k
	}
	if s.bound(b.TaskID, kinds) {
		for i := range b.Lines {
			l := &b.Lines[i]
			k := kinds[l.kind()]
			l.Stdtype, l.Source, l.Rank = k.stdtype, k.source, k.rank
		}
	}
	b.kinds = make(map[logKind]bool, len(kinds))
	for _, k := range kinds {
		b.kinds[k] = true
	}
}

func (l *LogLine) kind() logKind { return logKind{lineKind{l.Stdtype, l.Source}, l.Rank} }

// bound replaces kinds that the task has no room for, and says whether there were any.
func (s *LogStore) bound(task string, kinds map[logKind]logKind) (replaced bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, known := s.tasks[task]
	if !known {
		return false
	}
	for k := range kinds {
		if !t.takes(k) {
			kinds[k] = k.other()
			replaced = true
		}
	}
	return replaced
}

// knownLog is what the rows of a batch refer to.
type knownLog struct {
	task   *knownTask
	origin int
}

// forget drops what is remembered of a task, and says whether it was something.
func (s *LogStore) forget(task string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, known := s.tasks[task]
	if known {
		s.known -= t.size()
		delete(s.tasks, task)
	}
	return known
}

// makeRoom drops tasks, any of them, when too much is remembered.
func (s *LogStore) makeRoom() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known <= knownLogs {
		return
	}
	for id, t := range s.tasks {
		if s.known <= knownLogs/2 {
			return
		}
		s.known -= t.size()
		delete(s.tasks, id)
	}
}

// know finds, and where needed makes, the numbers of tasks and origins, and makes
// kinds known: a statement for each, however many there are. Batches of tasks that
// do not exist are not in the answer.
func (s *LogStore) know(ctx context.Context, batch []*queued[*LogBatch]) (map[*queued[*LogBatch]]knownLog, error) {
	s.makeRoom()
	if err := s.knowTasks(ctx, batch); err != nil {
		return nil, err
	}
	if err := s.knowOrigins(ctx, batch); err != nil {
		return nil, err
	}
	if err := s.knowKinds(ctx, batch); err != nil {
		return nil, err
	}
	known := make(map[*queued[*LogBatch]]knownLog, len(batch))
	for _, q := range batch {
		t, ok := s.tasks[q.item.TaskID]
		if !ok {
			continue
		}
		origin, ok := t.origins[q.item.Origin]
		if !ok {
			origin = t.origins[OtherOrigin]
		}
		known[q] = knownLog{t, origin}
	}
	return known, nil
}

func (s *LogStore) knowTasks(ctx context.Context, batch []*queued[*LogBatch]) error {
	missing := map[string]bool{}
	for _, q := range batch {
		if _, ok := s.tasks[q.item.TaskID]; !ok {
			missing[q.item.TaskID] = true
		}
	}
	if len(missing) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(missing))
	_, err := s.db.exec(ctx, `
		INSERT INTO log_tasks (task_id, class)
		SELECT t.id, coalesce((SELECT c.days FROM log_classes c
			WHERE c.days >= (e.config->'retention_policy'->>'log_retention_days')::int
				AND (e.config->'retention_policy'->>'log_retention_days')::int >= 0 AND c.days > 0
			ORDER BY c.days LIMIT 1), 0)
		FROM tasks t LEFT JOIN experiments e ON e.id = t.experiment_id
		WHERE t.id = ANY($1) ORDER BY t.id ON CONFLICT DO NOTHING`, names)
	if err != nil {
		return err
	}
	type found struct {
		TaskID string `db:"task_id"`
		ID     int    `db:"id"`
		Class  int16  `db:"class"`
	}
	list, err := rows[found](ctx, s.db, `SELECT task_id, id, class FROM log_tasks WHERE task_id = ANY($1)`, names)
	if err != nil || len(list) == 0 {
		return err
	}
	tasks, ids := map[int]*knownTask{}, make([]int, len(list))
	for i, f := range list {
		ids[i] = f.ID
		tasks[f.ID] = &knownTask{id: f.ID, class: f.Class, origins: map[LogOrigin]int{}, kinds: map[logKind]bool{}, labels: map[lineKind]bool{}}
	}
	if err := s.db.readKnown(ctx, tasks, ids); err != nil {
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
	Task       int    `db:"log_task"`
	ID         int    `db:"id"`
	Allocation string `db:"allocation_id"`
	Agent      string `db:"agent_id"`
	Container  string `db:"container_id"`
}

func (r originRow) origin() LogOrigin { return LogOrigin{r.Allocation, r.Agent, r.Container} }

type kindRow struct {
	Task    int    `db:"log_task"`
	Stdtype string `db:"stdtype"`
	Source  string `db:"source"`
	Rank    int    `db:"rank"`
}

// readKnown reads the origins and kinds of tasks, as many as they may have.
func (db *DB) readKnown(ctx context.Context, tasks map[int]*knownTask, ids []int) error {
	origins, err := rows[originRow](ctx, db, `
		SELECT o.* FROM unnest($1::int[]) AS t(id) CROSS JOIN LATERAL (
			SELECT log_task, id, allocation_id, agent_id, container_id FROM log_origins WHERE log_task = t.id LIMIT $2) o`,
		ids, originsPerTask+1)
	if err != nil {
		return err
	}
	kinds, err := rows[kindRow](ctx, db, `
		SELECT k.* FROM unnest($1::int[]) AS t(id) CROSS JOIN LATERAL (
			SELECT log_task, stdtype, source, rank FROM log_kinds WHERE log_task = t.id LIMIT $2) k`, ids, kindsPerTask+4)
	for _, r := range origins {
		tasks[r.Task].origins[r.origin()] = r.ID
	}
	for _, r := range kinds {
		k := logKind{lineKind{r.Stdtype, r.Source}, r.Rank}
		tasks[r.Task].kinds[k], tasks[r.Task].labels[k.lineKind] = true, true
	}
	return err
}

// knowOrigins makes the origins of a batch that are new. Masters write in one order,
// so that no two wait for each other.
func (s *LogStore) knowOrigins(ctx context.Context, batch []*queued[*LogBatch]) error {
	owners, fresh := map[int]*knownTask{}, map[originRow]bool{}
	for _, q := range batch {
		t, o := s.tasks[q.item.TaskID], q.item.Origin
		if t == nil {
			continue
		}
		if !t.takesOrigin(o) {
			o = OtherOrigin
		}
		if _, known := t.origins[o]; !known {
			owners[t.id] = t
			fresh[originRow{Task: t.id, Allocation: o.AllocationID, Agent: o.AgentID, Container: o.ContainerID}] = true
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	list := slices.SortedFunc(maps.Keys(fresh), func(a, b originRow) int {
		return cmp.Or(cmp.Compare(a.Task, b.Task), cmp.Compare(a.Allocation, b.Allocation), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Container, b.Container))
	})
	var tasks []int
	var allocations, agents, containers []string
	for _, r := range list {
		tasks, allocations = append(tasks, r.Task), append(allocations, r.Allocation)
		agents, containers = append(agents, r.Agent), append(containers, r.Container)
	}
	made, err := rows[originRow](ctx, s.db, `
		INSERT INTO log_origins (log_task, allocation_id, agent_id, container_id)
		SELECT * FROM unnest($1::int[], $2::text[], $3::text[], $4::text[])
		ON CONFLICT (log_task, allocation_id, agent_id, container_id) DO UPDATE SET agent_id = excluded.agent_id
		RETURNING log_task, id, allocation_id, agent_id, container_id`, tasks, allocations, agents, containers)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range made {
		owners[r.Task].origins[r.origin()] = r.ID
	}
	s.known += len(made)
	return err
}

// knowKinds makes the kinds of a batch known. What many batches at once bring beyond
// the bound is not offered by filters.
func (s *LogStore) knowKinds(ctx context.Context, batch []*queued[*LogBatch]) error {
	owners, fresh := map[int]*knownTask{}, map[kindRow]bool{}
	for _, q := range batch {
		t := s.tasks[q.item.TaskID]
		if t == nil {
			continue
		}
		for k := range q.item.kinds {
			if !t.kinds[k] && t.takes(k) {
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
	_, err := s.db.exec(ctx, `INSERT INTO log_kinds (log_task, stdtype, source, rank)
		SELECT * FROM unnest($1::int[], $2::text[], $3::text[], $4::int[]) ON CONFLICT DO NOTHING`, tasks, stdtypes, sources, ranks)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range list {
		k, t := logKind{lineKind{r.Stdtype, r.Source}, r.Rank}, owners[r.Task]
		t.kinds[k], t.labels[k.lineKind] = true, true
	}
	s.known += len(list)
	return nil
}
