package server

import (
	"github.com/detent-ml/detent/master/diskuse"
)

// DatabaseLimitsConfig limits what users store in PostgreSQL.
type DatabaseLimitsConfig struct {
	// Megabytes that one user may store: code, logs, metrics, and configurations and metadata. Beyond them the
	// master rejects what the user submits; running tasks continue. 0 is no limit, as for the other two keys.
	UserMB int `yaml:"user_mb"`
	// Megabytes of the log of one task, compressed. Further lines are not stored.
	TaskLogMB int `yaml:"task_log_mb"`
	// Megabytes of the reports of one trial. The master rejects further reports, and the trial fails; those about its
	// nodes may take half of it, and their rejection does not end the training.
	TrialMetricsMB int `yaml:"trial_metrics_mb"`
}

// maxDatabaseMB is about an exabyte.
const maxDatabaseMB = 1 << 40

func (c DatabaseLimitsConfig) check(k *checker) {
	for _, n := range []struct {
		key   string
		value int
	}{{"user_mb", c.UserMB}, {"task_log_mb", c.TaskLogMB}, {"trial_metrics_mb", c.TrialMetricsMB}} {
		if n.value < 0 || n.value > maxDatabaseMB {
			k.fail("database_limits."+n.key, "expected 0 (no limit) to %d, found %d", maxDatabaseMB, n.value)
		}
	}
}

// limits are those of the store.
func (c DatabaseLimitsConfig) limits() diskuse.Limits {
	return diskuse.Limits{Owner: int64(c.UserMB) << 20, Metrics: int64(c.TrialMetricsMB) << 20}
}
