package importer_test

import (
	"testing"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/importer"
	"github.com/detent-ml/detent/master/importer/importertest"
)

// BenchmarkImport imports a million reports of 2,000 trials, beside a bare copy of the same reports from one database into the other: a table
// with the same unique index, without anything made of the rows.
func BenchmarkImport(b *testing.B) {
	from := importertest.Old(b, importertest.Shape{Experiments: 1000, Trials: 4, Steps: 500})
	reports := from.Int(`SELECT (SELECT count(*) FROM raw_steps) + (SELECT count(*) FROM raw_validations) + (SELECT count(*) FROM generic_metrics) + (SELECT count(*) FROM system_metrics)`)
	for b.Loop() {
		d := newDetent(b)
		began := time.Now()
		d.take(from, func(o *importer.Options) { o.Verify, o.Logs = false, false })
		took := time.Since(began)
		source, err := database.OpenForeign(b.Context(), from.DSN)
		if err != nil {
			b.Fatal(err)
		}
		began = time.Now()
		columns := []string{"trial_id", "trial_run_id", "total_batches", "end_time", "archived", "metrics"}
		err = d.DB.Alone(b.Context(), func(tx *database.DB) error {
			if err := tx.Exec(b.Context(), `CREATE TABLE bare (trial_id int, trial_run_id int, total_batches int, end_time timestamptz, archived boolean, metrics jsonb); CREATE UNIQUE INDEX ON bare (trial_id, total_batches, trial_run_id)`); err != nil {
				return err
			}
			_, err := tx.Receive(b.Context(), source, `SELECT trial_id, trial_run_id, total_batches, end_time, archived, metrics FROM raw_steps`, "bare", columns)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		bare := time.Since(began)
		if err := source.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		copied := from.Int(`SELECT count(*) FROM raw_steps`)
		rate, yardstick := float64(reports)/took.Seconds(), float64(copied)/bare.Seconds()
		b.ReportMetric(rate, "reports/s")
		b.ReportMetric(yardstick, "bare-rows/s")
		b.ReportMetric(rate/yardstick, "ratio")
	}
}
