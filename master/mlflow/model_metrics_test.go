package mlflow

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/diskuse"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// modelsOf makes models of a run.
func modelsOf(w *rowtest.World, trial, n int) (ids []string) {
	w.T.Helper()
	for i := range n {
		id := fmt.Sprintf("m-%032x", trial*1000+i)
		w.Exec(`WITH c AS (INSERT INTO checkpoints (uuid, task_id, trial_id, state) SELECT gen_random_uuid(), task_id, id, 'COMPLETED' FROM trials WHERE id = $2 RETURNING uuid)
			INSERT INTO mlflow_models (id, trial_id, checkpoint, name) SELECT $1, $2, uuid, 'model' FROM c`, id, trial)
		ids = append(ids, id)
	}
	return ids
}

// someValues are n values of a model whose names have about a kilobyte each.
func someValues(model string, run, n int) (list []modelValue) {
	for i := range n {
		list = append(list, modelValue{model, fmt.Sprintf("m%d-%s", i, strings.Repeat("n", 200)), strings.Repeat("d", 400), strings.Repeat("e", 200), 1, 1, time.Now(), run})
	}
	return list
}

// TestMetricsOfModelsCount: what programs log about models counts for their owner, a page of models has as many as fit, and a run may have so many.
func TestMetricsOfModelsCount(t *testing.T) {
	w := rowtest.New(t)
	ctx := t.Context()
	exp := w.Experiment(rowtest.LossSearcher)
	owner := w.Int(`INSERT INTO users (username) VALUES ('modeller') RETURNING id`)
	w.Exec(`UPDATE experiments SET owner_id = $1`, owner)
	trial := w.Trial(exp, 0, 1)
	ids := modelsOf(w, trial, 8)
	before, err := diskuse.Of(ctx, w.DB, owner)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		for range 2 { // the second time they replace themselves
			if err := storeModelValues(ctx, w.DB, someValues(id, trial, 1000)); err != nil {
				t.Fatal(err)
			}
		}
	}
	const each = 1000 * 1000
	after, err := diskuse.Of(ctx, w.DB, owner)
	if grown := after.Records - before.Records; err != nil || grown < 8*each || grown > 9*each {
		t.Errorf("8,000 values of a kilobyte count as %d bytes, %v", grown, err)
	}
	list, more, err := searchLogged(ctx, w.DB, auth.Scope{All: true}, runSearch{page: page{limit: 100}})
	if fits := database.MaxPageBytes / each; err != nil || len(list) != fits || !more {
		t.Errorf("a page has %d models, want %d; more %t, %v", len(list), fits, more, err)
	}
	if err := storeModelValues(ctx, w.DB, someValues(ids[0], trial, maxModelValues+1)); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "2000 metrics") {
		t.Errorf("too many of a model: %v", err)
	}
	w.Exec(`UPDATE mlflow_models SET values_bytes = $2 WHERE id = $1`, ids[7], maxRunValuesBytes-7*each)
	if err := storeModelValues(ctx, w.DB, someValues(ids[0], trial, 1001)); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "32 MiB") {
		t.Errorf("too many of a run: %v", err)
	}
	if n := w.Int(`SELECT count(*) FROM mlflow_model_metrics WHERE model_id = $1`, ids[0]); n != 1000 {
		t.Errorf("a rejected request leaves %d metrics", n)
	}
}

// TestMetricsOfAModelBeside: requests that log metrics of one model at the same time leave the right sum.
func TestMetricsOfAModelBeside(t *testing.T) {
	w := rowtest.New(t)
	trial := w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	id := modelsOf(w, trial, 1)[0]
	list := someValues(id, trial, 80)
	failed := make(chan error)
	for i := range 8 {
		go func() { failed <- storeModelValues(t.Context(), w.DB, list[10*i:10*i+10]) }()
	}
	for range 8 {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	if n := w.Int(`SELECT values_bytes - (SELECT sum(200 + octet_length(name) + octet_length(dataset) + octet_length(digest)) FROM mlflow_model_metrics) FROM mlflow_models`); n != 0 {
		t.Errorf("the sum differs by %d", n)
	}
}
