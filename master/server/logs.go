package server

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/control"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/logs/sink"
	"github.com/detent-ml/detent/master/queue/recording"
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

// LogSinkConfig is a system that receives copies of log lines.
type LogSinkConfig struct {
	// Name under which the database knows how far the sink is. Required and unique. A new name begins with the lines of that moment.
	Name string `yaml:"name"`
	// Where the receiver is: `https://host:4318/v1/logs` (or `http`) for OTLP, `tls://host:6514`, `tcp://host:601` or
	// `udp://host:514` for syslog.
	Address string `yaml:"address"`
	// What is sent: `tasks`, the lines of tasks; `masters`, those of the masters. By default both.
	Lines []string `yaml:"lines"`
	// Token that OTLP sends as `Authorization: Bearer`.
	Token string `yaml:"token"`
	// File with the token. The master reads it before each request.
	TokenFile string `yaml:"token_file"`
	// File with further headers for OTLP, a line `Name: value` for each. The master reads it before each request.
	HeadersFile string `yaml:"headers_file"`
	// File with the certificate authority of the receiver, PEM.
	CAFile string `yaml:"ca_file"`
	// File with the master's certificate for the receiver, PEM.
	CertFile string `yaml:"cert_file"`
	// File with the key of that certificate, PEM.
	KeyFile string `yaml:"key_file"`
}

// The kinds of lines that a sink receives.
const (
	sinkTasks   = "tasks"
	sinkMasters = "masters"
)

const maxLogSinks = 4

func (c *Config) checkLogSinks(k *checker) {
	if n := len(c.LogSinks); n > maxLogSinks {
		k.fail("log_sinks", "expected at most %d, found %d", maxLogSinks, n)
		return
	}
	seen := map[string]bool{}
	for i, s := range c.LogSinks {
		at := fmt.Sprintf("log_sinks[%d]", i)
		if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`).MatchString(s.Name) || seen[s.Name] {
			k.fail(at+".name", "expected a unique name of letters, digits, dots, dashes and underscores, up to 64; found %.100q", s.Name)
		}
		seen[s.Name] = true
		for _, kind := range s.Lines {
			k.oneOf(at+".lines", kind, sinkTasks, sinkMasters)
		}
		if err := s.target().Check(); err != nil {
			key, problem, found := strings.Cut(err.Error(), ": ")
			if !found || strings.Contains(key, " ") {
				key, problem = "", err.Error()
			} else {
				key = "." + key
			}
			k.fail(at+key, "%s", problem)
		}
	}
}

func (s LogSinkConfig) target() sink.Target {
	return sink.Target{Address: s.Address, Token: s.Token, TokenFile: s.TokenFile, HeadersFile: s.HeadersFile, CAFile: s.CAFile, CertFile: s.CertFile, KeyFile: s.KeyFile}
}

// sinks are the settings of all sinks.
func (c *Config) sinks() []sink.Config {
	var list []sink.Config
	for _, s := range c.LogSinks {
		sends := func(kind string) bool { return len(s.Lines) == 0 || slices.Contains(s.Lines, kind) }
		list = append(list, sink.Config{Name: s.Name, Cluster: c.ClusterName, Tasks: sends(sinkTasks), Masters: sends(sinkMasters), Target: s.target()})
	}
	return list
}

// newSinks returns what sends copies of log lines.
func (m *master) newSinks() ([]*sink.Sink, error) {
	store := logs.NewStore(m.db, m.bus, m.cfg.logSettings())
	var list []*sink.Sink
	for _, c := range m.cfg.sinks() {
		s, err := sink.New(c, m.db, store, m.log)
		if err != nil {
			return nil, fmt.Errorf("log_sinks: %s: %w", c.Name, err)
		}
		list = append(list, s)
	}
	return list, nil
}

// QueueRecordingConfig says how much of the recording of the queue is kept.
type QueueRecordingConfig struct {
	// Days for which the master keeps what it was asked and what it decided when it planned the queue, for
	// `det queue replay`; 0 records nothing.
	Days int `yaml:"days"`
	// Megabytes of the recording at most: the oldest part is deleted first. An attempt takes about half a kilobyte.
	// They are counted as text; with its indexes the table takes up to twice as much of the disk (28 million frames
	// of 150 bytes: 4,200 MB of text, 7,934 MB on disk).
	MaxMB int `yaml:"max_mb"`
}

const (
	maxRecordingDays = 3_650
	maxRecordingMB   = 1 << 20
)

func (c QueueRecordingConfig) check(k *checker) {
	if c.Days < 0 || c.Days > maxRecordingDays {
		k.fail("queue_recording.days", "expected 0 (no recording) to %d, found %d", maxRecordingDays, c.Days)
	}
	if c.MaxMB < 1 || c.MaxMB > maxRecordingMB {
		k.fail("queue_recording.max_mb", "expected 1 to %d, found %d", maxRecordingMB, c.MaxMB)
	}
}

func (c QueueRecordingConfig) limits() recording.Limits {
	return recording.Limits{Days: c.Days, MaxMB: c.MaxMB}
}
