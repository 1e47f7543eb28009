package mlflow

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/metrics/report"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A Run is a run with what MLflow's clients see of it.
type Run struct {
	ID           int        `db:"id"`
	RunID        int        `db:"run_id"` // of its newest attempt
	ExperimentID int        `db:"experiment_id"`
	ProjectID    int        `db:"project_id"`
	WorkspaceID  int        `db:"workspace_id"`
	TaskID       string     `db:"task_id"`
	OwnerID      int        `db:"owner_id"`
	Owner        string     `db:"username"`
	RunName      string     `db:"run_name"`
	Unmanaged    bool       `db:"unmanaged"`
	ParentID     *int       `db:"parent_id"` // the experiment within which it runs
	Shown        string     `db:"shown"`
	StartedAt    time.Time  `db:"started_at"`
	EndedAt      *time.Time `db:"ended_at"`
	Archived     bool       `db:"archived"`
	HParams      []byte     `db:"hparams"`
	Metadata     []byte     `db:"metadata"`
	Metric       string     `db:"metric"` // the searcher's
}

// runName is SQL for the name of a run: what its program calls it, or its experiment's name, with its number if there are several.
const runName = `coalesce(t.metadata #>> '{mlflow,tags,mlflow.runName}', e.name || CASE WHEN e.unmanaged OR e.searcher = 'single' THEN '' ELSE ' ' || t.number + 1 END)`

const runArchived = `(t.archived OR e.archived)`

const (
	runPlaces = ` JOIN experiments e ON e.id = t.experiment_id JOIN projects p ON p.id = e.project_id`
	runOwners = ` JOIN users u ON u.id = e.owner_id`
	runFrom   = ` FROM trials t` + runPlaces + runOwners
)

const runSelect = `SELECT t.id, t.run_id, t.experiment_id, e.project_id, p.workspace_id, t.task_id, e.owner_id, u.username, ` + runName + ` AS run_name,
	e.unmanaged, e.parent_id, ` + experiments.ShownTrial + ` AS shown, t.started_at, t.ended_at, ` + runArchived + ` AS archived, t.hparams, t.metadata, coalesce(e.metric, '') AS metric`

func runByID(ctx context.Context, db *database.DB, id int) (Run, error) {
	r, err := database.Row[Run](ctx, db, "run", runSelect+runFrom+` WHERE t.id = $1`, id)
	return r, database.Missing(err, fault.New(fault.NotFound, "Run with id=%d not found", id))
}

// isID reports whether a request names the run with a number.
func isID(id, uuid string, run int) bool {
	want := strconv.Itoa(run)
	return id == want || id == "" && uuid == want
}

// onlyRun is the run of an unmanaged experiment of this room.
func onlyRun(ctx context.Context, db *database.DB, experiment int) (Run, error) {
	return database.Row[Run](ctx, db, "run", runSelect+runFrom+` WHERE t.experiment_id = $1 ORDER BY t.number LIMIT 1`, experiment)
}

// newRun makes the trial of the unmanaged experiment of a run, and begins it.
func newRun(ctx context.Context, tx *database.DB, experiment int, started time.Time, tags map[string]string) error {
	id, err := experiments.CreateUnmanagedTrialIn(ctx, tx, experiments.NewUnmanagedTrial{ExperimentID: experiment, HParams: json.RawMessage("{}")})
	if err != nil {
		return err
	}
	if err := storeMarks(ctx, tx, id, marks{Tags: tags}); err != nil {
		return err
	}
	if _, err := experiments.StartUnmanagedTrialIn(ctx, tx, id, false); err != nil || started.IsZero() {
		return err
	}
	return tx.Exec(ctx, `WITH t AS (UPDATE trials SET started_at = $2 WHERE id = $1 RETURNING experiment_id)
		UPDATE experiments e SET started_at = $2 FROM t WHERE e.id = t.experiment_id`, id, started)
}

// archive archives a run, or unarchives it, with its experiment if the program of the run is elsewhere: then it is the only run.
func archive(ctx context.Context, db *database.DB, id int, archived bool) error {
	return db.Exec(ctx, `WITH t AS (UPDATE trials SET archived = $2 WHERE id = $1 RETURNING experiment_id)
		UPDATE experiments e SET archived = $2 FROM t WHERE e.id = t.experiment_id AND e.unmanaged AND ($2 = false OR e.ended_at IS NOT NULL)`, id, archived)
}

// marked is a locked run whose marks change.
type marked struct {
	RunID    int    `db:"run_id"`
	Metadata []byte `db:"metadata"`
}

func lockMarks(ctx context.Context, tx *database.DB, run int) (marked, error) {
	return database.Row[marked](ctx, tx, "run", `SELECT run_id, metadata FROM trials WHERE id = $1 FOR NO KEY UPDATE`, run)
}

// storeMarks stores the marks of a run. The parameters of a run elsewhere are its hyperparameters too.
func storeMarks(ctx context.Context, db *database.DB, run int, m marks) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	hparams, err := json.Marshal(m.asHParams())
	if err != nil {
		return err
	}
	return database.BadData(db.Exec(ctx, `
		UPDATE trials t SET metadata = coalesce(CASE jsonb_typeof(t.metadata) WHEN 'object' THEN t.metadata END, '{}') || jsonb_build_object('mlflow', $2::text::jsonb),
			hparams = CASE WHEN e.unmanaged THEN t.hparams || $3::text::jsonb ELSE t.hparams END
		FROM experiments e WHERE t.id = $1 AND e.id = t.experiment_id`, run, string(b), string(hparams)))
}

// newestRows is how many reports of a group are read for the steps and times of the newest values.
const newestRows = 100

type newestRow struct {
	Group      string          `db:"group_name"`
	Steps      *int            `db:"steps"`
	ReportedAt time.Time       `db:"reported_at"`
	Metrics    json.RawMessage `db:"avg"`
}

// addNewest adds steps and times to the newest values of a run's metrics, as far as the last reports of each group have them.
func addNewest(ctx context.Context, db *database.DB, r Run, values map[string]v1.MLflowMetric) error {
	const bytes = 4 << 20
	seen := map[string]bool{}
	for _, group := range []string{report.Validation, report.Training, systemGroup} {
		rows, _, err := database.RowsUpTo[newestRow](ctx, db, bytes, `SELECT group_name, steps, reported_at, avg FROM metrics
			WHERE trial_id = $1 AND group_name = $2 AND NOT archived ORDER BY position DESC, run_id DESC LIMIT $3`, r.ID, group, newestRows)
		if err != nil {
			return err
		}
		for _, row := range rows {
			var list map[string]json.RawMessage
			if err := json.Unmarshal(row.Metrics, &list); err != nil {
				continue
			}
			for name, raw := range list {
				v, ok := report.Float(raw)
				if !ok || seen[name] || group != groupOf(name, r.Metric) {
					continue
				}
				seen[name] = true
				m := v1.MLflowMetric{Key: name, Value: v, Timestamp: millis(row.ReportedAt)}
				if row.Steps != nil {
					m.Step = v1.Bare(*row.Steps)
				}
				values[name] = m
			}
		}
	}
	return nil
}
