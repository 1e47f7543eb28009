package checkpoints

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/checkpoints/keep"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/models"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/task"
)

// A garbage collection (GC; a row of the table collections) is a task that removes files
// of an experiment: those of its checkpoints, all or some, and those that its
// TensorBoards read.

// Reasons for a garbage collection.
const (
	ByPolicy   = "policy"   // the policy does not keep the checkpoints
	ByRequest  = "asked"    // a user named the checkpoints
	ByDeletion = "deletion" // the experiment is deleted
)

// AllFiles is the pattern that matches all files of a checkpoint; clients use it too.
const AllFiles = "**/*"

// ExperimentFiles is an experiment with its checkpoints, for a decision about which to
// remove.
type ExperimentFiles struct {
	ID             int                `db:"id"`
	JobID          string             `db:"job_id"`
	State          string             `db:"state"`
	Desired        string             `db:"desired"`
	Live           bool               `db:"live"`    // a trial may still run
	Started        bool               `db:"started"` // a trial has started
	Busy           bool               `db:"busy"`    // a garbage collection of it runs
	Unmanaged      bool               `db:"unmanaged"`
	Pool           string             `db:"pool"`
	Priority       int                `db:"priority"`
	Config         json.RawMessage    `db:"config"`
	GCRequests     int                `db:"gc_requests"`
	DeleteRequests int                `db:"delete_requests"`
	Checkpoints    []StoredCheckpoint `db:"-"`
	Backends       map[int][]byte     `db:"-"` // storage id → configuration, for the storages of these checkpoints
	Used           map[string]string  `db:"-"` // checkpoint → which other experiment or version of a model needs it, in words
	Registered     map[string]string  `db:"-"` // likewise, the versions of models alone
}

// StoredCheckpoint is a checkpoint that may have files.
type StoredCheckpoint struct {
	UUID         string    `db:"uuid"`
	TrialID      int       `db:"trial_id"`
	Steps        int       `db:"steps"`
	ReportedAt   time.Time `db:"reported_at"`
	State        string    `db:"state"`
	Metric       *float64  `db:"metric"`
	Values       []byte    `db:"values"` // its metrics of a search with several; nil: none
	BeingRemoved bool      `db:"being_removed"`
	Kept         bool      `db:"kept"` // a folder that the runner keeps
	Logged       string    `db:"logged"`
	RunID        int       `db:"run_id"`
	Place        *int      `db:"place"`      // of its configuration among those that the search has trained again; nil: none
	StorageID    *int      `db:"storage_id"` // of the storage that its task reported; nil if it reported none
}

// ExperimentLives is true if a trial of experiment e may still run.
const ExperimentLives = `(e.state IN ('ACTIVE', 'PAUSED', 'STOPPING_COMPLETED', 'STOPPING_CANCELED', 'STOPPING_KILLED', 'STOPPING_ERROR')
	OR e.continues > e.continued)`

// BeingRemoved is true if all files of checkpoint k are being removed.
const BeingRemoved = `EXISTS (SELECT FROM removals r JOIN tasks g ON g.id = r.task_id
	WHERE r.checkpoint = k.uuid AND r.at IS NULL AND g.ended_at IS NULL AND '` + AllFiles + `' = ANY(r.globs))`

// FilesState is the state of the removal of a deleted experiment's files.
type FilesState string

// The states.
const (
	FilesUnplanned    FilesState = "unplanned" // the loop has not decided yet what to remove
	FilesBeingRemoved FilesState = "removing"
	FilesRemoved      FilesState = "removed"
	FilesStuck        FilesState = "stuck"
)

// GCRunning is true if a garbage collection of experiment e has not ended.
const GCRunning = `EXISTS (SELECT FROM collections c JOIN tasks k ON k.id = c.task_id WHERE c.experiment_id = e.id AND k.ended_at IS NULL)`

// DeletedFiles joins the FilesState of experiment e, as f.
const DeletedFiles = `LEFT JOIN LATERAL (
		SELECT CASE WHEN count(*) = 0 THEN NULL WHEN bool_or(k.ended_at IS NULL) THEN 'removing' WHEN bool_or(k.exit_status <> 'success' OR r.left) THEN 'stuck'
				WHEN bool_or(c.last) THEN 'removed' ELSE 'unplanned' END AS files,
			coalesce(min(r.why), min(nullif(c.events_error, '')), min(k.exit_status) FILTER (WHERE k.exit_status <> 'success')) AS why
		FROM collections c JOIN tasks k ON k.id = c.task_id CROSS JOIN LATERAL (
			SELECT count(*) FILTER (WHERE x.at IS NULL) > 0 OR c.events AND c.events_at IS NULL AS left, min(nullif(x.error, '')) AS why
			FROM removals x WHERE x.task_id = c.task_id) r
		WHERE e.state = 'DELETING' AND c.experiment_id = e.id AND c.deletion = e.delete_requests) f ON true`

// GCQueued is true if the decision about the files of experiment e is queued.
const GCQueued = `EXISTS (SELECT FROM work w WHERE w.kind = 'gc' AND w.subject = e.id::text)`

// FilesOfExperiment reads an experiment with all its checkpoints that may have files, in one
// snapshot.
func FilesOfExperiment(ctx context.Context, db *database.DB, experiment int) (ExperimentFiles, error) {
	return filesOfExperiment(ctx, db, experiment, `k.state <> 'DELETED'`)
}

// CountStored counts the checkpoints of an experiment that may have files.
func CountStored(ctx context.Context, db *database.DB, experiment int) (int, error) {
	return database.Scalar[int](ctx, db, `SELECT count(*) FROM checkpoints k JOIN trials t ON t.id = k.trial_id WHERE t.experiment_id = $1 AND k.state <> 'DELETED'`, experiment)
}

// FilesOfExperimentWith is ExperimentFiles with only these checkpoints, and those from which
// their trials would continue.
func FilesOfExperimentWith(ctx context.Context, db *database.DB, experiment int, ids []string) (ExperimentFiles, error) {
	return filesOfExperiment(ctx, db, experiment, `k.uuid = ANY(ARRAY(
		SELECT unnest($2::uuid[]) UNION SELECT n.uuid
		FROM (SELECT DISTINCT trial_id FROM checkpoints WHERE uuid = ANY($2::uuid[])) o CROSS JOIN LATERAL (
			(SELECT k.uuid FROM checkpoints k WHERE k.trial_id = o.trial_id AND NOT k.kept AND k.logged = '' AND k.state = 'COMPLETED' AND NOT `+BeingRemoved+`
			ORDER BY k.steps DESC, k.reported_at DESC, k.uuid DESC LIMIT 1)
			UNION ALL (SELECT k.uuid FROM checkpoints k WHERE k.trial_id = o.trial_id AND `+whole+` `+newestKept+`)) n))`, append([]string{}, ids...))
}

// filesOfExperiment reads an experiment with its checkpoints k that fulfil the condition
// `which`, whose arguments begin at $2.
func filesOfExperiment(ctx context.Context, db *database.DB, experiment int, which string, args ...any) (ExperimentFiles, error) {
	var s ExperimentFiles
	err := db.Snapshot(ctx, func(tx *database.DB) (err error) {
		s, err = database.Row[ExperimentFiles](ctx, tx, fmt.Sprintf("experiment %d", experiment), `
			SELECT e.id, e.job_id::text, e.state, e.desired, `+ExperimentLives+` AS live, e.unmanaged, e.pool, e.priority, e.config,
				e.gc_requests, e.delete_requests,
				`+GCRunning+` AS busy,
				EXISTS (SELECT FROM trials t JOIN allocations a ON a.task_id = t.task_id WHERE t.experiment_id = e.id AND a.submitted_at IS NOT NULL) AS started
			FROM experiments e WHERE e.id = $1`, experiment)
		if fault.Is(err, fault.NotFound) {
			return fault.New(fault.NotFound, "experiment %d not found", experiment)
		}
		if err != nil {
			return err
		}
		s.Checkpoints, err = database.Rows[StoredCheckpoint](ctx, tx, `
			SELECT k.uuid::text, k.trial_id, k.steps, k.reported_at, k.state, k.storage_id, k.kept, k.logged, k.run_id, `+BeingRemoved+` AS being_removed,
				`+database.FloatAt("vm.avg->e.metric")+` AS metric, `+objectiveValues+` AS values, rp.place::int
			FROM checkpoints k JOIN trials t ON t.id = k.trial_id JOIN experiments e ON e.id = t.experiment_id`+repeatPlaces("$1")+`
			LEFT JOIN LATERAL (SELECT avg FROM metrics m WHERE m.trial_id = k.trial_id AND m.group_name = 'validation' AND m.run_id <= k.run_id
				AND m.position = k.steps AND NOT m.archived ORDER BY m.run_id DESC LIMIT 1) vm ON true
			WHERE t.experiment_id = $1 AND `+which+` ORDER BY k.reported_at, k.uuid`, append([]any{experiment}, args...)...)
		if err != nil {
			return err
		}
		if s.Backends, err = storagesOf(ctx, tx, s.Checkpoints); err != nil {
			return err
		}
		ids := each.Of(s.Checkpoints, func(k StoredCheckpoint) string { return k.UUID })
		if s.Registered, err = models.Registered(ctx, tx, ids); err != nil {
			return err
		}
		if s.Used, err = usedElsewhere(ctx, tx, ids); err != nil {
			return err
		}
		maps.Copy(s.Used, s.Registered)
		return nil
	})
	return s, err
}

// storagesOf reads the configurations of the storages of checkpoints.
func storagesOf(ctx context.Context, db *database.DB, list []StoredCheckpoint) (map[int][]byte, error) {
	of := map[int][]byte{}
	for _, k := range list {
		if k.StorageID != nil {
			of[*k.StorageID] = nil
		}
	}
	found, err := database.Map[int, []byte](ctx, db, `SELECT id, config FROM storage_backends WHERE id = ANY($1)`, slices.Collect(maps.Keys(of)))
	maps.Copy(of, found)
	return of, err
}

// Keep returns the input of keep.Decide.
func (s ExperimentFiles) Keep(p keep.Policy) keep.Experiment {
	e := keep.Experiment{Live: s.Live, Policy: p, Used: s.Used}
	points := pointsOf(p.Objectives)
	for _, k := range s.Checkpoints {
		if k.Logged != "" { // no policy is about it
			continue
		}
		e.Checkpoints = append(e.Checkpoints, keep.Checkpoint{UUID: k.UUID, Trial: k.TrialID, Steps: k.Steps, Reported: k.ReportedAt, State: keep.State(k.State),
			Metric: k.Metric, Point: points(k.Values), BeingRemoved: k.BeingRemoved, Kept: k.Kept, Run: k.RunID, Place: optional.Value(k.Place)})
	}
	return e
}

// Elsewhere returns the checkpoints that their tasks stored in another storage than the
// experiment's configuration names. The master does not remove these, because a task could
// report any storage.
func (s ExperimentFiles) Elsewhere(storage expconf.CheckpointStorage) map[string]bool {
	strange := map[int]bool{}
	for id, config := range s.Backends {
		strange[id] = len(config) > 0 && !storage.Holds(config)
	}
	elsewhere := map[string]bool{}
	for _, k := range s.Checkpoints {
		if k.StorageID != nil && strange[*k.StorageID] {
			elsewhere[k.UUID] = true
		}
	}
	return elsewhere
}

// usedElsewhere returns the checkpoints of the list from which another experiment or task starts that has not ended.
// It omits the experiment's own trials, for which keep.Decide computes the checkpoints that they need.
func usedElsewhere(ctx context.Context, db *database.DB, ids []string) (map[string]string, error) {
	return database.Map[string, string](ctx, db, `
		SELECT t.warm_start::text AS uuid, format('trial %s of experiment %s, which is not over, starts from it', t.id, t.experiment_id) AS why
		FROM trials t WHERE t.ended_at IS NULL AND t.warm_start = ANY($1::uuid[])
		UNION ALL
		SELECT k.uuid::text, format('experiment %s, which is not over, starts from it', e.id)
		FROM experiments e JOIN checkpoints k ON k.uuid = e.warm_start WHERE `+ExperimentLives+` AND k.uuid = ANY($1::uuid[])
		ORDER BY uuid, why DESC`, ids)
}

// ExperimentsInUse returns, of these experiments, those with a checkpoint from which another experiment that is not over starts, with that in words.
func ExperimentsInUse(ctx context.Context, db *database.DB, ids []int) (map[int]string, error) {
	return database.Map[int, string](ctx, db, `
		WITH live AS (
			SELECT t.warm_start, t.experiment_id FROM trials t WHERE t.ended_at IS NULL AND t.warm_start IS NOT NULL
			UNION SELECT e.warm_start, e.id FROM experiments e WHERE e.warm_start IS NOT NULL AND `+ExperimentLives+`)
		SELECT s.experiment_id, min(format('experiment %s, which is not over, starts from its checkpoint %s', l.experiment_id, k.uuid)) AS why
		FROM live l JOIN checkpoints k ON k.uuid = l.warm_start JOIN trials s ON s.id = k.trial_id
		WHERE s.experiment_id = ANY($1) AND s.experiment_id <> l.experiment_id GROUP BY s.experiment_id`, append([]int{}, ids...))
}

// A NewGC is a garbage collection to create.
type NewGC struct {
	TaskID       string
	ExperimentID int
	Reason       string
	Pool         string
	Priority     int
	Removals     []Removal
	Events       bool        // also remove TensorBoard's files
	Sweep        *task.Sweep // of a sweep: what it removes
	Part         bool        // another garbage collection follows for the rest
	// Over is the result of a garbage collection that need not run: "success" if there is
	// nothing to remove, or why the files cannot be removed. "" for one that runs.
	Over string
	// The experiment as it was read for the decision; if it has changed since, this is stale.
	Saw     string // state of the experiment
	Live    bool   // a trial might still run
	Request int    // number of the request for a policy or a deletion
	Recheck bool   // checkpoints were spared: decide again later
}

// A Removal has the files of a checkpoint to remove: those that match one of the patterns,
// relative to its folder. Without patterns no file is removed, and the task only reports
// which files exist.
type Removal struct {
	UUID  string
	Globs []string
}

// GCTaskID names a new garbage collection of an experiment, as its other tasks are named.
func GCTaskID(experiment int) string { return fmt.Sprintf("%d.%s", experiment, uuid.New()) }

// A Owner is the owner of a checkpoint.
type Owner struct {
	UUID         string `db:"uuid"`
	TaskID       string `db:"task_id"`
	ExperimentID *int   `db:"experiment_id"`
	OwnerID      int    `db:"owner_id"`
	WorkspaceID  int    `db:"workspace_id"`
	Shared       []int  `db:"shared"` // as in Checkpoint
}

const ownersOfCheckpoints = `
	SELECT k.uuid::text, k.task_id, t.experiment_id, task.owner_id, task.workspace_id, ` + sharedIn + ` AS shared
	FROM checkpoints k JOIN tasks task ON task.id = k.task_id LEFT JOIN trials t ON t.id = k.trial_id `

// OwnerOf returns the owner of a checkpoint that CheckpointByUUID finds, without its files and metadata, which may be large.
func OwnerOf(ctx context.Context, db *database.DB, uuid string) (Owner, error) {
	return database.Row[Owner](ctx, db, "checkpoint "+uuid, ownersOfCheckpoints+`WHERE k.uuid = $1 AND k.uuid <> (SELECT id FROM cluster)`, uuid)
}

// Owners returns the owners of checkpoints; the result omits ids that do not exist.
func Owners(ctx context.Context, db *database.DB, ids []string) (map[string]Owner, error) {
	list, err := database.Rows[Owner](ctx, db, ownersOfCheckpoints+`WHERE k.uuid = ANY($1::uuid[])`, ids)
	return each.Keyed(list, func(k Owner) string { return k.UUID }), err
}

// MaxRemovals is the maximum number of checkpoints of one garbage collection: a statement of
// the leader may take three seconds.
const MaxRemovals = 5000

// recheckAfter is the time after which the policy is applied again to spared checkpoints.
const recheckAfter = 10 * time.Minute

// CreateGC inserts a garbage collection. It leaves out checkpoints that another experiment
// has begun to need. It fails with database.ErrStale if the experiment has changed since the
// decision. made is false if nothing was left to insert.
func CreateGC(ctx context.Context, db *database.DB, c NewGC) (made bool, err error) {
	saw, err := database.Row[struct {
		State   string `db:"state"`
		Asked   int    `db:"gc_requests"`
		Deletes int    `db:"delete_requests"`
		Live    bool   `db:"live"`
	}](ctx, db, fmt.Sprintf("experiment %d", c.ExperimentID), `
		SELECT state, gc_requests, delete_requests, `+ExperimentLives+` AS live FROM experiments e WHERE id = $1 FOR UPDATE`, c.ExperimentID)
	switch {
	case err != nil:
		return false, err
	case saw.Live && !c.Live, c.Reason == ByPolicy && (saw.State != c.Saw || saw.Asked != c.Request), c.Reason == ByDeletion && (saw.State != c.Saw || saw.Deletes != c.Request),
		c.Reason == BySweep && saw.State != c.Saw:
		return false, database.ErrStale
	}
	if c.Removals, err = lockUnused(ctx, db, c); err != nil {
		return false, err
	}
	if c.Reason == ByPolicy {
		err = db.Exec(ctx, `UPDATE experiments SET gc_applied = CASE WHEN $5 THEN gc_applied ELSE $2 END,
				gc_retry_at = CASE WHEN $3 AND NOT $5 THEN now() + $4::interval END WHERE id = $1`,
			c.ExperimentID, c.Request, c.Recheck, recheckAfter, c.Part)
		if err != nil {
			return false, err
		}
	}
	if c.Reason == BySweep {
		if err := recordSweep(ctx, db, c); err != nil {
			return false, err
		}
	}
	if len(c.Removals) == 0 && !c.Events && c.Sweep == nil && c.Over == "" {
		return false, nil
	}
	if c.Reason == ByRequest {
		if err := checkLiveRemovals(ctx, db, c.ExperimentID); err != nil {
			return false, err
		}
	}
	return true, insertGC(ctx, db, c)
}

// lockUnused locks the checkpoints, so that no experiment can begin to use one, and leaves
// out those that are in use.
func lockUnused(ctx context.Context, db *database.DB, c NewGC) ([]Removal, error) {
	ids := each.Of(c.Removals, func(r Removal) string { return r.UUID })
	if err := db.Exec(ctx, `SELECT 1 FROM checkpoints WHERE uuid = ANY($1::uuid[]) ORDER BY uuid FOR UPDATE`, ids); err != nil {
		return nil, err
	}
	used, err := usedElsewhere(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	registered, err := models.Registered(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	maps.Copy(used, registered)
	var list []Removal
	for _, r := range c.Removals {
		why, needed := used[r.UUID]
		switch {
		case !needed || len(r.Globs) == 0:
			list = append(list, r)
		case c.Reason != ByPolicy:
			return nil, fault.New(fault.Conflict, "checkpoint %s cannot be removed: %s", r.UUID, why)
		}
	}
	return list, nil
}

// Lock locks a checkpoint until the transaction has stored who starts from it, so
// that it is not removed meanwhile. It rejects a checkpoint whose removal has begun.
func Lock(ctx context.Context, db *database.DB, id *string) error {
	if id == nil {
		return nil
	}
	if err := db.Exec(ctx, `SELECT 1 FROM checkpoints WHERE uuid = $1 FOR SHARE`, *id); err != nil {
		return database.BadData(err)
	}
	leaves, err := database.Scalar[bool](ctx, db, `SELECT k.state = 'DELETED' OR `+BeingRemoved+` FROM checkpoints k WHERE k.uuid = $1`, *id)
	switch {
	case err != nil:
		return err
	case leaves:
		return fault.New(fault.Conflict, "checkpoint %s is being removed; no experiment can start from it", *id)
	}
	return nil
}

// LockAll is Lock for several checkpoints.
func LockAll(ctx context.Context, db *database.DB, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if err := db.Exec(ctx, `SELECT 1 FROM checkpoints WHERE uuid = ANY($1::uuid[]) ORDER BY uuid FOR SHARE`, ids); err != nil {
		return err
	}
	leaving, err := database.Scalars[string](ctx, db, `SELECT k.uuid::text FROM checkpoints k WHERE k.uuid = ANY($1::uuid[]) AND (k.state = 'DELETED' OR `+BeingRemoved+`) ORDER BY 1 LIMIT 1`, ids)
	if err == nil && len(leaving) > 0 {
		err = fault.New(fault.Conflict, "checkpoint %s is being removed; try again", leaving[0])
	}
	return err
}

// maxLiveRemovals is the number of tasks that remove files, of the experiments of a user, that have not ended when
// somebody asks for another one. What policies and deletions remove is limited by the experiments.
const maxLiveRemovals = 5000

// checkLiveRemovals fails if too many tasks remove files of experiments with the same owner.
func checkLiveRemovals(ctx context.Context, tx *database.DB, experiment int) error {
	n, err := database.Scalar[int](ctx, tx, `SELECT count(*) FROM tasks WHERE ended_at IS NULL AND type = 'CHECKPOINT_GC'
		AND owner_id = (SELECT owner_id FROM experiments WHERE id = $1)`, experiment)
	if err == nil && n >= maxLiveRemovals {
		err = fault.New(fault.TooMany, "%d tasks that remove files of the experiments of this user have not ended, and the limit is %d; try again when some have", n, maxLiveRemovals)
	}
	return err
}

func insertGC(ctx context.Context, db *database.DB, c NewGC) error {
	err := db.Exec(ctx, `
		INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, pool, slots, priority, ended_at, exit_status, session_epoch)
		SELECT @id, 'CHECKPOINT_GC', gen_random_uuid(), e.owner_id, p.workspace_id, e.id, format('Removal of files of experiment %s', e.id),
			@pool, 0, @priority, CASE WHEN @over <> '' THEN now() END, @over, e.session_epoch
		FROM experiments e JOIN projects p ON p.id = e.project_id WHERE e.id = @experiment`,
		database.Args{"id": c.TaskID, "pool": c.Pool, "priority": c.Priority, "over": c.Over, "experiment": c.ExperimentID})
	if err != nil {
		return err
	}
	var deletion *int
	if c.Reason == ByDeletion {
		deletion = &c.Request
	}
	var since, until *time.Time
	if c.Sweep != nil {
		since, until = &c.Sweep.Since, &c.Sweep.Until
	}
	err = db.Exec(ctx, `INSERT INTO collections (task_id, experiment_id, reason, deletion, events, last, sweep_since, sweep_until)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, c.TaskID, c.ExperimentID, c.Reason, deletion, c.Events, !c.Part, since, until)
	if err != nil {
		return err
	}
	ids, globs := make([]string, len(c.Removals)), make([]string, len(c.Removals))
	for i, r := range c.Removals {
		text, err := json.Marshal(append([]string{}, r.Globs...))
		if err != nil {
			return err
		}
		ids[i], globs[i] = r.UUID, string(text)
	}
	return db.Exec(ctx, `
		INSERT INTO removals (task_id, checkpoint, globs)
		SELECT $1, u.id::uuid, ARRAY(SELECT jsonb_array_elements_text(u.globs::jsonb)) FROM unnest($2::text[], $3::text[]) AS u (id, globs)`, c.TaskID, ids, globs)
}

// endOf is how a task ended; "" if it has not.
func endOf(ctx context.Context, db *database.DB, task string) (string, error) {
	return database.Scalar[string](ctx, db, `SELECT CASE WHEN ended_at IS NULL THEN '' ELSE coalesce(nullif(exit_status, ''), 'unknown') END FROM tasks WHERE id = $1`, task)
}

// A GC is a garbage collection as users see it.
type GC struct {
	TaskID      string     `db:"task_id"`
	Reason      string     `db:"reason"`
	CreatedAt   time.Time  `db:"created_at"`
	EndedAt     *time.Time `db:"ended_at"`
	ExitStatus  string     `db:"exit_status"`
	Checkpoints int        `db:"checkpoints"` // whose files it removes
	Done        int        `db:"done"`        // checkpoints that are done
	Files       int64      `db:"files"`       // removed files, TensorBoard's and those of a sweep among them
	Bytes       int64      `db:"bytes"`
	Error       string     `db:"error"` // the first one
}

// GCs lists the garbage collections of an experiment, the newest first.
func GCs(ctx context.Context, db *database.DB, experiment int) ([]GC, error) {
	return database.Rows[GC](ctx, db, `
		SELECT c.task_id, c.reason, k.created_at, k.ended_at, k.exit_status, r.checkpoints, r.done,
			`+database.Clamped("r.files + c.events_files")+` AS files, `+database.Clamped("r.bytes + c.events_bytes")+` AS bytes,
			coalesce(r.error, c.events_error) AS error
		FROM collections c JOIN tasks k ON k.id = c.task_id
		CROSS JOIN LATERAL (SELECT count(*) AS checkpoints, count(x.at) AS done, coalesce(sum(x.files), 0) AS files,
			coalesce(sum(x.bytes), 0) AS bytes, min(nullif(x.error, '')) AS error FROM removals x WHERE x.task_id = c.task_id) r
		WHERE c.experiment_id = $1 ORDER BY k.created_at DESC, c.task_id`, experiment)
}
