package checkpoints

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/jsontext"
	"github.com/detent-ml/detent/master/trial"
)

// Checkpoint is a checkpoint with data of its trial, experiment and storage.
type Checkpoint struct {
	UUID         string           `db:"uuid"`
	TaskID       string           `db:"task_id"`
	Part         int              `db:"part"` // of the task
	AllocationID *string          `db:"allocation_id"`
	TrialID      *int             `db:"trial_id"`
	RunID        int              `db:"run_id"`
	Steps        int              `db:"steps"`
	State        string           `db:"state"`
	ReportedAt   time.Time        `db:"reported_at"`
	Resources    map[string]int64 `db:"resources"`
	Metadata     json.RawMessage  `db:"metadata"`
	Size         int64            `db:"size"`
	StorageID    *int             `db:"storage_id"`
	Kept         bool             `db:"kept"`   // a folder that the runner keeps
	Logged       string           `db:"logged"` // the files that a run or a model logs (logged.go); else ""
	// Of its trial and experiment; nil if it has none.
	ExperimentID *int            `db:"experiment_id"`
	OwnerID      int             `db:"owner_id"`
	WorkspaceID  int             `db:"workspace_id"`
	Shared       []int           `db:"shared"` // the workspaces of models that have it as a version; nil in lists
	Config       json.RawMessage `db:"config"`
	HParams      json.RawMessage `db:"hparams"`
	Storage      json.RawMessage `db:"storage"` // configuration of the storage that its task reported; nil if it reported none
	// The metrics that its trial reported at its steps.
	Training       json.RawMessage `db:"training"`
	Validation     json.RawMessage `db:"validation"`
	SearcherMetric *float64        `db:"searcher_metric"`
}

// checkpointQuery reads checkpoints with all fields, listedQuery without the experiment's
// configuration, which many share, and the workspaces of models. A caller appends conditions and
// an order; k is the checkpoint, t its trial, e its experiment.
var checkpointQuery, listedQuery = checkpointsWith("e.config", sharedIn), checkpointsWith("NULL::jsonb", "NULL::int[]")

// sharedIn has the workspaces of the models that have checkpoint k as a version.
const sharedIn = `ARRAY(SELECT DISTINCT m.workspace_id FROM model_versions v JOIN models m ON m.id = v.model_id WHERE v.checkpoint = k.uuid)`

func checkpointsWith(config, shared string) string {
	return `
	SELECT k.uuid::text, k.task_id, ` + trial.PartOfRun("k.task_id", "k.run_id") + ` AS part, k.allocation_id, k.trial_id, k.run_id, k.steps, k.state, k.reported_at, ` + FilesSQL + ` AS resources, k.metadata,
		k.size, k.storage_id, k.kept, k.logged, e.id AS experiment_id, task.owner_id, task.workspace_id, ` + shared + ` AS shared, ` + config + ` AS config, t.hparams, s.config AS storage,
		tm.avg AS training, vm.avg AS validation,
		` + database.FloatAt("vm.avg->e.metric") + ` AS searcher_metric
	FROM checkpoints k
	JOIN tasks task ON task.id = k.task_id
	LEFT JOIN trials t ON t.id = k.trial_id
	LEFT JOIN experiments e ON e.id = t.experiment_id
	LEFT JOIN storage_backends s ON s.id = k.storage_id
	LEFT JOIN LATERAL (SELECT avg FROM metrics m WHERE m.trial_id = k.trial_id AND m.group_name = 'training' AND k.logged = '' AND m.run_id <= k.run_id
		AND m.position = k.steps AND NOT m.archived ORDER BY m.run_id DESC LIMIT 1) tm ON true
	LEFT JOIN LATERAL (SELECT avg FROM metrics m WHERE m.trial_id = k.trial_id AND m.group_name = 'validation' AND k.logged = '' AND m.run_id <= k.run_id
		AND m.position = k.steps AND NOT m.archived ORDER BY m.run_id DESC LIMIT 1) vm ON true `
}

// Get finds a checkpoint.
func Get(ctx context.Context, db *database.DB, uuid string) (Checkpoint, error) {
	return database.Row[Checkpoint](ctx, db, "checkpoint "+uuid, checkpointQuery+`WHERE k.uuid = $1`, uuid)
}

// Total counts a trial's checkpoints that still exist.
type Total struct {
	TrialID int   `db:"trial_id"`
	Count   int   `db:"count"`
	Size    int64 `db:"size"`
}

// Totals adds up the checkpoints of trials. The result omits trials without any.
func Totals(ctx context.Context, db *database.DB, trials []int) (map[int]Total, error) {
	list, err := database.Rows[Total](ctx, db, `
		SELECT trial_id, count(*) AS count, `+database.SumOf("size")+` AS size FROM checkpoints
		WHERE trial_id = ANY($1) AND state IN ('COMPLETED', 'PARTIALLY_DELETED') GROUP BY trial_id`, trials)
	return each.Keyed(list, func(c Total) int { return c.TrialID }), err
}

// A Best is the checkpoint of a trial with the best validation.
type Best struct {
	TrialID    int       `db:"trial_id"`
	UUID       string    `db:"uuid"`
	State      string    `db:"state"`
	Steps      int       `db:"steps"`
	ReportedAt time.Time `db:"reported_at"`
	Resources  []byte    `db:"resources"`
	Metadata   []byte    `db:"metadata"`
}

// BestOf finds the checkpoint of each trial with the best value of the searcher's
// metric; of equal values, the latest. The result omits trials without one, and checkpoints of the common past of a branch that are outside of the scope.
func BestOf(ctx context.Context, db *database.DB, in auth.Scope, trials []int, most int) (map[int]Best, error) {
	list, err := database.Rows[Best](ctx, db, `
		WITH best AS (SELECT DISTINCT ON (t.id) t.id, k.uuid
		FROM trials t JOIN checkpoints k ON k.trial_id = `+trial.ReportsOf("t")+` AND k.run_id <= `+trial.PastRun("t")+` JOIN experiments e ON e.id = t.experiment_id
		JOIN LATERAL (SELECT `+database.FloatAt("m.avg->e.metric")+` AS value
			FROM metrics m WHERE m.trial_id = k.trial_id AND m.group_name = 'validation' AND m.position = k.steps AND m.run_id <= `+trial.PastRun("t")+` AND NOT m.archived
			ORDER BY m.run_id DESC LIMIT 1) v ON v.value IS NOT NULL
		WHERE t.id = ANY($1) AND (k.trial_id = t.id OR $3::int[] IS NULL OR k.task_id IN (SELECT id FROM tasks WHERE workspace_id = ANY($3))) AND k.state = 'COMPLETED' AND NOT k.kept AND k.logged = ''
		ORDER BY t.id, CASE WHEN e.smaller_is_better THEN v.value ELSE -v.value END, k.steps DESC)
		SELECT best.id AS trial_id, k.uuid::text, k.state, k.steps, k.reported_at,
			CASE WHEN octet_length(k.resources::text) <= $2 THEN k.resources END AS resources,
			CASE WHEN octet_length(k.metadata::text) <= $2 THEN k.metadata ELSE '{}' END AS metadata
		FROM best JOIN checkpoints k ON k.uuid = best.uuid`, trials, most, in.Only())
	return each.Keyed(list, func(b Best) int { return b.TrialID }), err
}

// New is a checkpoint as a task reports it.
type New struct {
	UUID         string
	TaskID       string
	AllocationID string // "" if the trial is unmanaged
	RunID        int    // of the attempt that reports
	State        string
	ReportedAt   *time.Time // the task's clock, if it sent a time
	Resources    map[string]int64
	Metadata     json.RawMessage
	Steps        int
	StorageID    *int
	Kept         bool // a folder that the runner keeps; the time of its report is the master's
}

// checkName returns the name of a checkpoint in its usual form. The name becomes a folder of the storage, so it must be random: nobody
// can then name the folder of something else, or the next checkpoint of somebody else. The cluster's id is random too, and public; its folder
// has the TensorBoard files of all experiments.
func checkName(ctx context.Context, db *database.DB, name string) (string, error) {
	id, err := uuid.Parse(name)
	if err != nil || id.Version() != 4 || id.Variant() != uuid.RFC4122 {
		return "", fault.New(fault.Invalid, "uuid: %q is not a random UUID, as uuid.uuid4() makes it; every checkpoint needs one of its own", fault.Clip(name))
	}
	cluster, err := database.Scalar[string](ctx, db, `SELECT id::text FROM cluster`)
	if err == nil && cluster == id.String() {
		err = fault.New(fault.Invalid, "uuid: %s is the id of this cluster, whose folder has the TensorBoard files of all experiments; make another with uuid.uuid4()", cluster)
	}
	return id.String(), err
}

// Add stores a checkpoint. A repeated report changes nothing. AddCheckpoint
// rejects a different report with the same id, and a report of a run that is not the newest.
func Add(ctx context.Context, db *database.DB, c New) error {
	if c.Resources == nil {
		c.Resources = map[string]int64{}
	}
	size, err := bytesOf(c.Resources)
	if err != nil {
		return err
	}
	if err := boundMetadata(c.Metadata); err != nil {
		return err
	}
	if c.UUID, err = checkName(ctx, db, c.UUID); err != nil {
		return err
	}
	return db.Tx(ctx, func(tx *database.DB) error {
		if err := lockRun(ctx, tx, c.TaskID, c.RunID); err != nil {
			return err
		}
		n, err := tx.Affect(ctx, `
			INSERT INTO checkpoints (uuid, task_id, allocation_id, trial_id, run_id, steps, state, reported_at, resources, metadata, size, storage_id, kept)
			VALUES ($1, $2, nullif($3, ''), (SELECT id FROM trials WHERE task_id = $2), $4, $5, $6, CASE WHEN $12 THEN now() ELSE coalesce($7, now()) END, $8, $9::text::jsonb, $10, $11, $12)
			ON CONFLICT (uuid) DO NOTHING`,
			c.UUID, c.TaskID, c.AllocationID, c.RunID, c.Steps, c.State, c.ReportedAt, c.Resources, string(c.Metadata), size, c.StorageID, c.Kept)
		if err != nil {
			return database.BadData(err)
		}
		if n == 1 {
			return boundTask(ctx, tx, c.TaskID)
		}
		old, err := Get(ctx, tx, c.UUID)
		if err != nil {
			return err
		}
		if old.TaskID != c.TaskID { // whose it is may be none of the caller's business
			return fault.New(fault.Conflict, "checkpoint %s was reported before by another task; every checkpoint needs a UUID of its own", c.UUID)
		}
		same, err := old.reportedAs(c)
		if err == nil && !same {
			err = fault.New(fault.Conflict, "checkpoint %s was reported before with other contents", c.UUID)
		}
		return err
	})
}

// lockRun rejects a report of a run that is not the newest, and delays the claim of a new
// run until the report is stored.
func lockRun(ctx context.Context, db *database.DB, task string, run int) error {
	newest, err := database.Scalar[int](ctx, db, `SELECT run_id FROM trials WHERE task_id = $1 FOR KEY SHARE`, task)
	if fault.Is(err, fault.NotFound) {
		newest, err = database.Scalar[int](ctx, db, `SELECT coalesce(max(run_id), 0) FROM allocations WHERE task_id = $1`, task)
	}
	if err == nil && newest > run {
		return fault.New(fault.Conflict, "run %d of task %s has ended and run %d has replaced it: reports of run %[1]d are rejected", run, task, newest)
	}
	return err
}

// reportedAs reports whether a stored checkpoint equals the report.
func (k Checkpoint) reportedAs(c New) (bool, error) {
	if k.State != c.State || k.Kept != c.Kept || k.Steps != c.Steps || len(k.Resources) != len(c.Resources) {
		return false, nil
	}
	for path, size := range c.Resources {
		if got, ok := k.Resources[path]; !ok || got != size {
			return false, nil
		}
	}
	return jsontext.Same(k.Metadata, c.Metadata)
}

// Files lists the files of a checkpoint that remain after a removal.
type Files struct {
	UUID      string
	Resources map[string]int64
}

// SetFiles records the remaining files of checkpoints. A checkpoint without files is DELETED, and keeps the list of those that it
// had; one with other files than before is PARTIALLY_DELETED, except that a metadata.json may be added. DELETED stays.
func SetFiles(ctx context.Context, db *database.DB, list []Files) error {
	return db.Tx(ctx, func(tx *database.DB) error { return setFiles(ctx, tx, list) })
}

func setFiles(ctx context.Context, db *database.DB, list []Files) error {
	for _, f := range list {
		size, err := bytesOf(f.Resources)
		if err != nil {
			return err
		}
		if f.Resources == nil {
			f.Resources = map[string]int64{}
		}
		n, err := db.Affect(ctx, `
			WITH rows AS (DELETE FROM logged_files WHERE checkpoint = $1 RETURNING name, size),
			a AS (SELECT k.uuid, k.resources || coalesce((SELECT jsonb_object_agg(name, size) FROM rows), '{}') AS files FROM checkpoints k WHERE k.uuid = $1)
			UPDATE checkpoints k SET resources = CASE WHEN $2 = '{}'::jsonb THEN a.files ELSE $2 END, size = $3, logged_files = 0, logged_names = 0,
				state = CASE WHEN $2 = '{}'::jsonb THEN 'DELETED' WHEN $2 = a.files OR $2 - 'metadata.json' = a.files THEN k.state ELSE 'PARTIALLY_DELETED' END
			FROM a WHERE k.uuid = a.uuid`, f.UUID, f.Resources, size)
		if err != nil {
			return database.BadData(err)
		}
		if n == 0 {
			return fault.New(fault.NotFound, "checkpoint %s not found", f.UUID)
		}
	}
	return nil
}

// SetMetadata replaces the metadata that users wrote about a checkpoint.
func SetMetadata(ctx context.Context, db *database.DB, uuid string, metadata json.RawMessage) error {
	if err := boundMetadata(metadata); err != nil {
		return err
	}
	return db.Tx(ctx, func(tx *database.DB) error {
		task, err := database.Scalar[string](ctx, tx, `UPDATE checkpoints SET metadata = $2::text::jsonb WHERE uuid = $1 RETURNING task_id`, uuid, string(metadata))
		if fault.Is(err, fault.NotFound) {
			return fault.New(fault.NotFound, "checkpoint %s not found", uuid)
		}
		if err != nil {
			return database.BadData(err)
		}
		return boundTask(ctx, tx, task)
	})
}

// Limits for the storages that programs name: a configuration of a storage has some hundred bytes, and a trial uses one.
const (
	maxStorageBytes = 8 << 10
	maxNewStorages  = 16 // of one trial
)

// StorageID returns the number of the checkpoint storage that a trial names, and stores the storage if it is new.
func StorageID(ctx context.Context, db *database.DB, trial, owner int, config json.RawMessage) (int, error) {
	if len(config) > maxStorageBytes {
		return 0, fault.New(fault.Invalid, "checkpointStorage: has %d bytes; a storage may have %d", len(config), maxStorageBytes)
	}
	find := func() (int, error) {
		return database.Scalar[int](ctx, db, `SELECT id FROM storage_backends WHERE digest = md5(($1::text::jsonb)::text)`, string(config))
	}
	id, err := find()
	if !fault.Is(err, fault.NotFound) {
		return id, database.BadData(err)
	}
	err = db.Tx(ctx, func(tx *database.DB) error {
		if err := tx.Change(ctx, fault.New(fault.Conflict, "trial %d has named %d storages for checkpoints; use one of them", trial, maxNewStorages), `UPDATE trials SET storages = storages + 1 WHERE id = $1 AND storages < $2`, trial, maxNewStorages); err != nil {
			return err
		}
		id, err = database.Scalar[int](ctx, tx, `INSERT INTO storage_backends (config, owner_id) VALUES ($1::text::jsonb, $2) ON CONFLICT DO NOTHING RETURNING id`, string(config), owner)
		return err
	})
	if fault.Is(err, fault.NotFound) { // another request has just added it
		id, err = find()
	}
	return id, database.BadData(err)
}
