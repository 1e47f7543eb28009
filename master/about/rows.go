package about

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// A Message is what administrators tell everybody.
type Message struct {
	Message   string     `db:"message"`
	StartTime time.Time  `db:"start_time"`
	EndTime   *time.Time `db:"end_time"` // nil: it is shown until it is cleared
	CreatedAt time.Time  `db:"created_at"`
}

// currentMessage reads the message, also before and after the time in which it is shown; nil if there is none.
func currentMessage(ctx context.Context, db *database.DB) (*Message, error) {
	m, err := database.Row[Message](ctx, db, "cluster message", `SELECT message, start_time, end_time, created_at FROM cluster_message`)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return &m, err
}

// setMessage replaces the message.
func setMessage(ctx context.Context, db *database.DB, user int, m Message) error {
	return db.Exec(ctx, `INSERT INTO cluster_message (message, start_time, end_time, user_id) VALUES (@message, @start, @end, @user)
		ON CONFLICT (one) DO UPDATE SET message = @message, start_time = @start, end_time = @end, user_id = @user, created_at = now()`,
		database.Args{"message": m.Message, "start": m.StartTime, "end": m.EndTime, "user": user})
}

// clearMessage removes the message, if there is one.
func clearMessage(ctx context.Context, db *database.DB) error {
	return db.Exec(ctx, `DELETE FROM cluster_message`)
}

// The names of settings, as Determined names them in a field mask.
const (
	SettingLogLevel = "log.level" // a level of the master's configuration, or critical
	SettingLogColor = "log.color" // true or false
)

// A Setting is a part of the masters' configuration that an administrator changed while they ran.
type Setting struct {
	Name  string `db:"name"`
	Value string `db:"value"`
}

// TopicSettings wakes the masters after an administrator has changed their settings.
const TopicSettings = "settings"

// SettingsSince lists the settings that were set after a time, by the database's clock.
func SettingsSince(ctx context.Context, db *database.DB, since time.Time) ([]Setting, error) {
	return database.Rows[Setting](ctx, db, `SELECT name, value FROM settings WHERE set_at > $1 ORDER BY name`, since)
}

// ChangeSettings stores settings, all at the same time.
func ChangeSettings(ctx context.Context, db *database.DB, user int, names, values []string) error {
	return db.Exec(ctx, `INSERT INTO settings (name, value, user_id) SELECT name, value, $3 FROM unnest($1::text[], $2::text[]) AS s(name, value)
		ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value, user_id = EXCLUDED.user_id, set_at = now()`, names, values, user)
}

// logSink is how far a system is that receives copies of log lines.
type logSink struct {
	Name     string  `db:"name"`
	Sent     int64   `db:"sent"`
	Lost     int64   `db:"lost"`
	Rejected int64   `db:"rejected"`
	Waiting  int64   `db:"waiting"`
	Failing  float64 `db:"failing"` // seconds; 0: it takes lines
}

// logSinks lists the sinks; those of package logs/sink write the rows.
func logSinks(ctx context.Context, db *database.DB) ([]logSink, error) {
	return database.Rows[logSink](ctx, db, `SELECT name, sent, lost, rejected, waiting, coalesce(extract(epoch FROM now() - failing_since), 0)::float8 AS failing FROM log_sinks ORDER BY name`)
}
