package mlflow

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A program may log a metric of one model: log_metric(model_id=…). It is a metric of the run like any other, and the model has its newest
// value for each data set. A model of which nobody has logged a metric has those of its run.

const (
	maxModelValues    = 2000     // metrics of a model, with those of each data set
	maxRunValuesBytes = 32 << 20 // of the metrics of all models of a run; it suffices for more than 100,000
)

// modelValue is the newest value of a metric of a model.
type modelValue struct {
	ModelID string    `db:"model_id"`
	Name    string    `db:"name"`
	Dataset string    `db:"dataset"`
	Digest  string    `db:"digest"`
	Value   float64   `db:"value"`
	Step    int64     `db:"step"`
	At      time.Time `db:"at"`
	Run     int       `db:"run"`
}

// ofModels are the values of a request that are about single models, which the caller may change.
func (d Deps) ofModels(ctx context.Context, c *rest.Call, r Run, values []v1.MLflowMetric) (list []modelValue, err error) {
	may := map[string]bool{}
	for _, m := range values {
		if m.ModelID == "" {
			continue
		}
		if err := checkText("dataset_name", m.Dataset+m.Digest); err != nil {
			return nil, err
		}
		if len(m.Dataset) > 2*maxName || len(m.Digest) > maxName {
			return nil, fault.New(fault.Invalid, "dataset_name: %s is too long", fault.Clip(m.Dataset))
		}
		if !may[m.ModelID] {
			if err := d.mayMeasure(ctx, c, r, m.ModelID); err != nil {
				return nil, err
			}
			may[m.ModelID] = true
		}
		when, err := checkMetric(m)
		if err != nil {
			return nil, err
		}
		list = append(list, modelValue{m.ModelID, m.Key, m.Dataset, m.Digest, m.Value, int64(m.Step), when, r.ID})
	}
	return list, nil
}

// mayMeasure fails unless the caller may report about the run of a model, in whichever run it has measured the model.
func (d Deps) mayMeasure(ctx context.Context, c *rest.Call, r Run, id string) error {
	m, err := loggedModelByID(ctx, d.DB, id)
	if err == nil && m.DeletedAt != nil {
		err = noModel(id)
	}
	if err != nil || m.TrialID == r.ID {
		return err
	}
	of, err := runByID(ctx, d.DB, m.TrialID)
	if err == nil && !auth.Can(c.Who(), auth.View, of.object()) {
		err = noModel(id)
	}
	if err == nil {
		err = c.May(auth.Report, asReported(c.Who(), of))
	}
	return err
}

// storeModelValues stores values of metrics of models: the newest of each, by its time.
func storeModelValues(ctx context.Context, db *database.DB, list []modelValue) error {
	if len(list) == 0 {
		return nil
	}
	n := len(list)
	models, names, sets, digests := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	values, steps, times, runs := make([]float64, n), make([]int64, n), make([]time.Time, n), make([]int, n)
	for i, v := range list {
		models[i], names[i], sets[i], digests[i], values[i], steps[i], times[i], runs[i] = v.ModelID, v.Name, v.Dataset, v.Digest, v.Value, v.Step, v.At, v.Run
	}
	return db.Tx(ctx, func(tx *database.DB) error {
		more, err := database.Scalars[string](ctx, tx, `
			WITH stored AS (
				INSERT INTO mlflow_model_metrics AS m (model_id, name, dataset, digest, value, step, at, run)
				SELECT DISTINCT ON (model_id, name, dataset, digest) model_id, name, dataset, digest, value, step, at, run
				FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::float8[], $6::bigint[], $7::timestamptz[], $8::int[])
					WITH ORDINALITY AS u (model_id, name, dataset, digest, value, step, at, run, place)
				ORDER BY model_id, name, dataset, digest, at DESC, step DESC, place DESC
				ON CONFLICT (model_id, name, dataset, digest) DO UPDATE SET value = excluded.value, step = excluded.step, at = excluded.at, run = excluded.run
					WHERE (excluded.at, excluded.step) >= (m.at, m.step) RETURNING model_id, xmax = 0 AS fresh)
			SELECT DISTINCT model_id FROM stored WHERE fresh`, models, names, sets, digests, values, steps, times, runs)
		if err != nil {
			return database.BadData(err)
		}
		return countModelValues(ctx, tx, more)
	})
}

// countModelValues stores how much the metrics of models are that have got further ones, and fails if they are too many. It locks the models
// first, so that it counts what transactions beside it have stored.
func countModelValues(ctx context.Context, tx *database.DB, models []string) error {
	if len(models) == 0 {
		return nil
	}
	if err := tx.Exec(ctx, `SELECT FROM mlflow_models WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`, models); err != nil {
		return err
	}
	full, err := database.Scalars[string](ctx, tx, `
		UPDATE mlflow_models m SET values_bytes = x.bytes FROM (
			SELECT model_id, count(*) AS n, sum(200 + octet_length(name) + octet_length(dataset) + octet_length(digest)) AS bytes
			FROM mlflow_model_metrics WHERE model_id = ANY($1) GROUP BY 1) x
		WHERE m.id = x.model_id RETURNING CASE WHEN x.n > $2 THEN m.id ELSE '' END`, models, maxModelValues)
	if err != nil {
		return err
	}
	for _, id := range full {
		if id != "" {
			return fault.New(fault.Invalid, "model %s has more than %d metrics with those of each data set", id, maxModelValues)
		}
	}
	runs, err := database.Scalars[int](ctx, tx, `SELECT trial_id FROM mlflow_models WHERE trial_id IN (SELECT trial_id FROM mlflow_models WHERE id = ANY($1))
		GROUP BY 1 HAVING sum(values_bytes) > $2 LIMIT 1`, models, maxRunValuesBytes)
	if err == nil && len(runs) > 0 {
		err = fault.New(fault.Invalid, "the metrics of all models of run %d have more than %d MiB together; log fewer of them with model_id", runs[0], maxRunValuesBytes>>20)
	}
	return err
}

// valuesOfModels are the metrics that were logged about models, by their model.
func valuesOfModels(ctx context.Context, db *database.DB, models []string) (map[string][]modelValue, error) {
	list, err := database.Rows[modelValue](ctx, db, `SELECT model_id, name, dataset, digest, value, step, at, run FROM mlflow_model_metrics WHERE model_id = ANY($1)
		ORDER BY model_id, name, dataset, digest`, models)
	of := map[string][]modelValue{}
	for _, v := range list {
		of[v.ModelID] = append(of[v.ModelID], v)
	}
	return of, err
}

// onDatasets is SQL for whether value x is one of some data sets; "true" for no data sets: it may be of any.
func (s *statement) onDatasets(list []v1.MLflowModelDataset) string {
	if len(list) == 0 {
		return "true"
	}
	sql := "(false"
	for _, d := range list {
		sql += " OR x.dataset = " + s.arg(d.Dataset) + "::text"
		if d.Digest != "" {
			sql += " AND x.digest = " + s.arg(d.Digest) + "::text"
		}
	}
	return sql + ")"
}

// modelMetric is SQL for the newest value of a metric of model m: without data sets, that of its run if nobody has logged one of the model.
func (s *statement) modelMetric(name string, sets []v1.MLflowModelDataset) string {
	own := `(SELECT nullif(x.value, 'NaN') FROM mlflow_model_metrics x WHERE x.model_id = m.id AND x.name = ` + s.arg(name) + `::text AND ` + s.onDatasets(sets) + ` ORDER BY x.at DESC, x.step DESC LIMIT 1)`
	if len(sets) > 0 {
		return own
	}
	return `(CASE WHEN EXISTS (SELECT FROM mlflow_model_metrics x WHERE x.model_id = m.id) THEN ` + own + ` ELSE ` + s.metricColumn(name) + ` END)`
}
