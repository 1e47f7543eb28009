package mlflow

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/mlflow/filter"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A LoggedModel is a model that a run has logged.
type LoggedModel struct {
	ID         string     `db:"id"`
	TrialID    int        `db:"trial_id"`
	ProjectID  int        `db:"project_id"`
	Checkpoint string     `db:"checkpoint"`
	Name       string     `db:"name"`
	Type       string     `db:"type"`
	Status     string     `db:"status"`
	Params     []byte     `db:"params"`
	Tags       []byte     `db:"tags"`
	DeletedAt  *time.Time `db:"deleted_at"`
	CreatedAt  time.Time  `db:"created_at"`
	ModifiedAt time.Time  `db:"modified_at"`
	Metric     string     `db:"metric"` // of the searcher of its run
}

const loggedFrom = ` FROM mlflow_models m JOIN trials t ON t.id = m.trial_id JOIN experiments e ON e.id = t.experiment_id JOIN projects p ON p.id = e.project_id`

const loggedSelect = `SELECT m.id, m.trial_id, e.project_id, m.checkpoint::text, m.name, m.type, m.status, m.params, m.tags, m.deleted_at, m.created_at, m.modified_at,
	coalesce(e.metric, '') AS metric` + loggedFrom

func noModel(id string) error {
	return fault.New(fault.NotFound, "Logged model with ID '%s' not found.", fault.Clip(id))
}

func loggedModelByID(ctx context.Context, db *database.DB, id string) (LoggedModel, error) {
	if strings.IndexByte(id, 0) >= 0 {
		return LoggedModel{}, noModel(id)
	}
	m, err := database.Row[LoggedModel](ctx, db, "model", loggedSelect+` WHERE m.id = $1`, id)
	return m, database.Missing(err, noModel(id))
}

// maxModels is how many models a run may log.
const maxModels = 2000

// newLoggedModel creates a model of a run, with a checkpoint for its files.
func newLoggedModel(ctx context.Context, db *database.DB, run int, m LoggedModel) (id string, err error) {
	err = db.Tx(ctx, func(tx *database.DB) error {
		if m.Checkpoint, err = checkpoints.AddLoggedIn(ctx, tx, run, checkpoints.LoggedByModel); err != nil {
			return err
		}
		id, err = database.Scalar[string](ctx, tx, `INSERT INTO mlflow_models (id, trial_id, checkpoint, name, type, params, tags)
			SELECT 'm-' || replace(gen_random_uuid()::text, '-', ''), $1, $2, $3, $4, $5::text::jsonb, $6::text::jsonb
			WHERE (SELECT count(*) FROM mlflow_models WHERE trial_id = $1) < $7 RETURNING id`, run, m.Checkpoint, m.Name, m.Type, string(m.Params), string(m.Tags), maxModels)
		return err
	})
	return id, database.Missing(database.BadData(err), fault.New(fault.Invalid, "run %d has logged %d models, and no more are allowed", run, maxModels))
}

// changeLoggedModel adds parameters and tags, removes a tag, and sets the status if it is given.
func changeLoggedModel(ctx context.Context, db *database.DB, id string, params, tags map[string]string, drop, status string) error {
	p, err := json.Marshal(nonNil(params))
	if err != nil {
		return err
	}
	t, err := json.Marshal(nonNil(tags))
	if err != nil {
		return err
	}
	return db.Tx(ctx, func(tx *database.DB) error {
		full, err := database.Scalar[bool](ctx, tx, `UPDATE mlflow_models SET params = params || $2::text::jsonb, tags = (tags || $3::text::jsonb) - $4::text,
				status = coalesce(nullif($5, ''), status), modified_at = now() WHERE id = $1 AND deleted_at IS NULL
			RETURNING octet_length(params::text) > $6 OR octet_length(tags::text) > $6`, id, string(p), string(t), drop, status, maxMarks)
		if err == nil && full {
			err = fault.New(fault.Invalid, "the parameters or the tags of model %s have more than %d KB", id, maxMarks>>10)
		}
		return database.Missing(database.BadData(err), noModel(id))
	})
}

func nonNil(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func deleteLoggedModel(ctx context.Context, db *database.DB, id string) error {
	return db.Exec(ctx, `UPDATE mlflow_models SET deleted_at = now(), modified_at = now() WHERE id = $1 AND deleted_at IS NULL`, id)
}

// setOutputs stores which models are outputs of a run.
func setOutputs(ctx context.Context, db *database.DB, run int, list []v1.MLflowModelOutput) error {
	// In this order requests about the same models wait for each other, and not in a circle.
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b v1.MLflowModelOutput) int { return strings.Compare(a.ID, b.ID) })
	return db.Tx(ctx, func(tx *database.DB) error {
		for _, o := range list {
			if err := tx.Change(ctx, noModel(o.ID), `UPDATE mlflow_models SET step = $3 WHERE id = $1 AND trial_id = $2`, o.ID, run, int64(o.Step)); err != nil {
				return database.BadData(err)
			}
		}
		return nil
	})
}

type outputRow struct {
	TrialID int    `db:"trial_id"`
	ID      string `db:"id"`
	Step    int64  `db:"step"`
}

// outputsOf lists the models that are outputs of runs.
func outputsOf(ctx context.Context, db *database.DB, runs []int) (map[int][]v1.MLflowModelOutput, error) {
	rows, err := database.Rows[outputRow](ctx, db, `SELECT trial_id, id, step FROM mlflow_models WHERE trial_id = ANY($1) AND step IS NOT NULL AND deleted_at IS NULL ORDER BY created_at, id`, runs)
	out := map[int][]v1.MLflowModelOutput{}
	for _, r := range rows {
		out[r.TrialID] = append(out[r.TrialID], v1.MLflowModelOutput{ID: r.ID, Step: v1.Bare(r.Step)})
	}
	return out, err
}

// loggedColumn is SQL for what a search of models compares or sorts by; its metrics are those of some data sets.
func loggedColumn(sets []v1.MLflowModelDataset) func(s *statement, kind filter.Kind, name string) (string, bool, error) {
	return func(s *statement, kind filter.Kind, name string) (string, bool, error) {
		if kind == filter.Metric {
			return s.modelMetric(name, sets), true, nil
		}
		return s.modelAttribute(kind, name)
	}
}

func (s *statement) modelAttribute(kind filter.Kind, name string) (string, bool, error) {
	switch kind {
	case filter.Param:
		return "(m.params ->> " + s.arg(name) + "::text)", false, nil
	case filter.Tag:
		return "(m.tags ->> " + s.arg(name) + "::text)", false, nil
	}
	texts := map[string]string{"name": "m.name", "model_id": "m.id", "model_type": "m.type", "status": "m.status", "source_run_id": "t.id::text", "experiment_id": "e.project_id::text"}
	numbers := map[string]string{"creation_timestamp": "m.created_at", "creation_timestamp_ms": "m.created_at", "creation_time": "m.created_at",
		"last_updated_timestamp": "m.modified_at", "last_updated_timestamp_ms": "m.modified_at", "last_updated_time": "m.modified_at"}
	if sql := texts[name]; kind == filter.Attribute && sql != "" {
		return sql, false, nil
	}
	if sql := numbers[name]; kind == filter.Attribute && sql != "" {
		return millisSQL(sql), true, nil
	}
	return "", false, fault.New(fault.Invalid, "a model has no %s %q; it has name, model_id, model_type, status, source_run_id, creation_timestamp, last_updated_timestamp, metrics, params and tags", kind, fault.Clip(name))
}

// searchLogged lists a page of the models that a search finds; more is true if it finds further ones.
func searchLogged(ctx context.Context, db *database.DB, in auth.Scope, q runSearch) (list []LoggedModel, more bool, err error) {
	s := &statement{args: database.Args{}, column: loggedColumn(q.datasets), where: []string{"m.deleted_at IS NULL"}}
	if len(q.datasets) > 0 {
		s.where = append(s.where, "EXISTS (SELECT FROM mlflow_model_metrics x WHERE x.model_id = m.id AND "+s.onDatasets(q.datasets)+")")
	}
	if len(q.projects) > 0 {
		s.where = append(s.where, "e.project_id = ANY("+s.arg(q.projects)+"::int[])")
	}
	if !in.All {
		s.where = append(s.where, "p.workspace_id = ANY("+s.arg(in.Only())+"::int[])")
	}
	for _, c := range q.filter {
		if c.Kind == filter.Dataset {
			return nil, false, fault.New(fault.Invalid, "filter: a model has no data sets")
		}
		if err := s.compare(c); err != nil {
			return nil, false, err
		}
	}
	var keys []sortKey
	for i, o := range q.order {
		s.column = loggedColumn(q.ordersOn[i])
		key, err := s.keys([]filter.Order{o})
		if err != nil {
			return nil, false, err
		}
		keys = append(keys, key...)
	}
	keys = append(keys, sortKey{"m.created_at", " DESC"}, sortKey{"m.id", ""})
	ids, err := database.Scalars[string](ctx, db, s.with()+`SELECT m.id`+loggedFrom+s.joins(-1)+` WHERE `+strings.Join(s.where, " AND ")+
		` ORDER BY `+sorted(keys)+` LIMIT `+s.arg(q.limit+1)+` OFFSET `+s.arg(q.offset), s.args)
	if err != nil {
		return nil, false, database.BadData(err)
	}
	found := len(ids)
	if ids, err = database.FirstThatFit(ctx, db, ids[:min(found, q.limit)], `
		SELECT p.place, octet_length(m.params::text) + octet_length(m.tags::text) + m.values_bytes + `+summaryBytes+` AS size
		FROM unnest($1::text[]) WITH ORDINALITY AS p(id, place) JOIN mlflow_models m ON m.id = p.id LEFT JOIN trial_summaries s ON s.trial_id = m.trial_id`); err != nil {
		return nil, false, err
	}
	list, err = database.Rows[LoggedModel](ctx, db, loggedSelect+` JOIN unnest($1::text[]) WITH ORDINALITY AS o(id, place) ON o.id = m.id ORDER BY o.place`, ids)
	return list, len(ids) < found, err
}
