package server

import (
	"github.com/detent-ml/detent/master/control"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/server/internal/schedule"
)

// RetentionConfig says for how long the logs of tasks are kept.
type RetentionConfig struct {
	// Days after the end of a task, for tasks whose experiment or trial says nothing else;
	// -1 is for ever, 0 deletes the lines at the next pass.
	LogDays int `yaml:"log_retention_days"`
	// When the leading master deletes the lines whose days have ended: a duration such as `24h`, or a
	// cron expression of five fields in UTC, such as `30 2 * * *`.
	Schedule string `yaml:"schedule"`
}

func (c *Config) checkRetention(k *checker) {
	if r := c.Retention; r.LogDays < logs.Forever || r.LogDays > logs.MaxDays {
		k.fail("retention_policy.log_retention_days", "expected a number from %d (for ever) to %d, found %d", logs.Forever, logs.MaxDays, r.LogDays)
	}
	if _, err := schedule.Parse(c.Retention.Schedule); err != nil {
		k.fail("retention_policy.schedule", "%v", err)
	}
}

// logSettings are what the configuration says of all logs.
func (c *Config) logSettings() logs.Settings {
	return logs.Settings{Days: c.Retention.LogDays, MaxBytes: int64(c.DatabaseLimits.TaskLogMB) << 20}
}

// retention is what the loop does with logs. The configuration was checked.
func (c *Config) retention() control.LogRetention {
	r := control.LogRetention{Days: c.Retention.LogDays}
	if s, err := schedule.Parse(c.Retention.Schedule); err == nil {
		r.Next = s.Next
	}
	return r
}
