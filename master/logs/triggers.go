package logs

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/logs/policy"
	"github.com/detent-ml/detent/master/trial"
	"github.com/detent-ml/detent/master/webhook"
)

const (
	// triggersAge is the maximum age of what a master knows of log triggers: a new one
	// takes effect after this time at the latest.
	triggersAge    = time.Second
	watchedTaskAge = time.Minute
	maxWatched     = 5000 // tasks
)

// A hit is a line that matches the pattern of a trigger.
type hit struct {
	Trigger int
	Line    string
}

// watch finds the lines that log triggers of webhooks search for. A master matches the
// lines itself, and not the runners, because a trigger may be created while a task runs.
type watch struct {
	db *database.DB

	mu        sync.Mutex // guards the fields below
	read      time.Time
	version   int // of list
	list      []*trigger
	tasks     *cache.Cache[string, *watchedTask]
	searchers *cache.Cache[int, *searcher] // by owners of tasks
}

// A trigger is one of a webhook with its compiled pattern, which all tasks share.
type trigger struct {
	ID          int    `db:"id"`
	WebhookID   int    `db:"webhook_id"`
	WorkspaceID *int   `db:"workspace_id"`
	Specific    bool   `db:"specific"`
	Regex       string `db:"regex"`

	matcher *policy.Matcher
}

// A watchedTask has what decides which triggers are for a task.
type watchedTask struct {
	workspace int
	owner     *searcher
	excludes  bool  // the configuration of its experiment wants no webhooks
	names     bool  // it names webhooks
	named     []int // those that existed when the triggers had the version read, with mode SPECIFIC
	read      int

	mu       sync.Mutex
	version  int        // of triggers
	triggers []*trigger // for this task, without those that have fired
	fired    map[int]bool
	told     bool // the task's log says that not all lines are searched
}

func newWatch(db *database.DB) *watch {
	return &watch{db: db, tasks: cache.New[string, *watchedTask](watchedTaskAge, maxWatched), searchers: newSearchers()}
}

// hits returns the lines of a batch that triggers search for: of each trigger the first one. tell: for the first time in
// this task not all lines were searched.
func (w *watch) hits(ctx context.Context, b *Batch) (found []hit, tell bool, err error) {
	if len(b.Lines) == 0 {
		return nil, false, nil
	}
	list, version, err := w.current(ctx)
	if err != nil || len(list) == 0 {
		return nil, false, err
	}
	task, err := w.task(ctx, b.TaskID, version)
	if err != nil || task == nil {
		return nil, false, err
	}
	task.owner.refill(time.Now())
	found, all := task.search(b.Lines, task.wanted(list, version))
	return found, !all && task.tell(), nil
}

// TriggersChanged makes this master read the triggers again before the next lines: a webhook that
// was created here takes effect at once. Other masters notice it within triggersAge.
func (s *Store) TriggersChanged() {
	s.watch.mu.Lock()
	defer s.watch.mu.Unlock()
	s.watch.read = time.Time{}
}

// current returns the triggers, which it reads again if they are too old.
func (w *watch) current(ctx context.Context) ([]*trigger, int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.read) < triggersAge {
		return w.list, w.version, nil
	}
	found, err := database.Rows[trigger](ctx, w.db, `
		SELECT t.id, t.webhook_id, w.workspace_id, w.mode = 'SPECIFIC' AS specific, t.condition->>'regex' AS regex
		FROM webhook_triggers t JOIN webhooks w ON w.id = t.webhook_id WHERE t.type = 'TASK_LOG' AND NOT w.off ORDER BY t.id`)
	if err != nil {
		return nil, 0, err
	}
	known := map[int]*trigger{}
	for _, t := range w.list {
		known[t.ID] = t
	}
	same := len(found) == len(w.list)
	var list []*trigger
	for _, t := range found {
		if known[t.ID] != nil {
			list = append(list, known[t.ID]) // a trigger never changes
			continue
		}
		same = false
		if t.matcher, err = policy.New([]string{t.Regex}); err == nil { // else a release with other limits stored it
			list = append(list, &t)
		}
	}
	if !same {
		w.version++
		w.list = list
	}
	w.read = time.Now()
	return w.list, w.version, nil
}

// task returns what is known of a task, for triggers of a version; nil if there is no such task.
func (w *watch) task(ctx context.Context, id string, version int) (*watchedTask, error) {
	now := time.Now()
	old, fresh, ok := w.tasks.Get(id, now)
	if ok && fresh && (!old.names || old.read == version) {
		return old, nil
	}
	type found struct {
		WorkspaceID int   `db:"workspace_id"`
		OwnerID     int   `db:"owner_id"`
		Excludes    bool  `db:"excludes"`
		Named       []int `db:"named"`
	}
	list, err := database.Rows[found](ctx, w.db, `SELECT coalesce(k.workspace_id, k.deleted_workspace_id) AS workspace_id, k.owner_id,
		coalesce(e.hooks_excluded, false) AS excludes, `+webhook.ListedBy+` AS named
		FROM tasks k LEFT JOIN experiments e ON e.id = k.experiment_id WHERE k.id = $1`, id)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	one := list[0]
	t := &watchedTask{workspace: one.WorkspaceID, owner: w.searcher(one.OwnerID, now), excludes: one.Excludes, names: one.Named != nil, named: one.Named, read: version, fired: map[int]bool{}}
	if ok { // its workspace may have changed
		old.mu.Lock()
		t.fired, t.told = old.fired, old.told
		old.mu.Unlock()
	}
	w.tasks.Put(id, t, now)
	return t, nil
}

// wants reports whether a trigger is for the task.
func (t *watchedTask) wants(g *trigger) bool {
	if t.excludes || t.fired[g.ID] || g.WorkspaceID != nil && *g.WorkspaceID != t.workspace {
		return false
	}
	return !g.Specific || slices.Contains(t.named, g.WebhookID)
}

// wanted returns the triggers that are for the task and have not fired.
func (t *watchedTask) wanted(list []*trigger, version int) []*trigger {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.version != version || t.triggers == nil {
		t.version, t.triggers = version, []*trigger{}
		for _, g := range list {
			if t.wants(g) {
				t.triggers = append(t.triggers, g)
			}
		}
	}
	return t.triggers
}

// search matches lines. all is false if the owner has no work left for some of them.
func (t *watchedTask) search(lines []Line, triggers []*trigger) (found []hit, all bool) {
	seen := map[int]bool{}
	for _, l := range lines {
		for _, g := range triggers {
			if seen[g.ID] {
				continue
			}
			matches, done := g.matcher.MatchWithin(l.Text, t.owner.take)
			if !done {
				return found, false
			}
			if len(matches) > 0 {
				seen[g.ID] = true
				found = append(found, hit{g.ID, l.Text})
			}
		}
	}
	return found, true
}

// tell reports whether nobody was told yet.
func (t *watchedTask) tell() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	told := t.told
	t.told = true
	return !told
}

// stored notes that hits are stored: their triggers fire no more for the task.
func (w *watch) stored(task string, hits []hit) {
	t, _, ok := w.tasks.Get(task, time.Now())
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, h := range hits {
		t.fired[h.Trigger] = true
	}
	t.triggers = slices.DeleteFunc(slices.Clone(t.triggers), func(g *trigger) bool { return t.fired[g.ID] })
}

// A fire has the hits of a batch to store.
type fire struct {
	task, node string
	hits       []hit
}

// fireHits inserts the deliveries of lines that triggers search for, in the transaction that
// stores the lines. A trigger fires once for each task.
func fireHits(ctx context.Context, db *database.DB, fires []fire) error {
	slices.SortFunc(fires, func(a, b fire) int { return cmp.Compare(a.task, b.task) })
	for _, f := range fires {
		triggers, lines := make([]int, len(f.hits)), make([]string, len(f.hits))
		for i, h := range f.hits {
			triggers[i], lines[i] = h.Trigger, database.TextUpTo(h.Line, maxMatch)
		}
		err := db.Exec(ctx, `
			WITH m AS (SELECT w.id AS webhook, t.id AS trigger, k.workspace_id AS workspace, gen_random_uuid() AS event_id,
					jsonb_build_object('event_type', 'TASK_LOG', 'timestamp', extract(epoch FROM now())::bigint, 'condition', t.condition,
						'task_log', jsonb_build_object('task_id', `+trial.NewestPartID+`, 'node_name', $2::text, 'triggering_log', u.line, 'task_type', k.type,
							'experiment_id', coalesce(k.experiment_id, 0), 'trial_id', coalesce((SELECT r.id FROM trials r WHERE r.task_id = k.id), 0))) AS event
				FROM unnest($3::int[], $4::text[]) AS u(trigger, line) JOIN webhook_triggers t ON t.id = u.trigger JOIN webhooks w ON w.id = t.webhook_id
				JOIN tasks k ON k.id = $1 AND k.workspace_id IS NOT NULL FOR KEY SHARE OF w, t, k SKIP LOCKED),
			fired AS (INSERT INTO webhook_fired (trigger_id, task_id) SELECT trigger, $1 FROM m ORDER BY trigger ON CONFLICT DO NOTHING RETURNING trigger_id)
			`+webhook.PutEvents+` JOIN fired ON fired.trigger_id = m.trigger`, f.task, f.node, triggers, lines)
		if err != nil {
			return err
		}
	}
	return nil
}
