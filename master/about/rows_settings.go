package about

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
)

// The names of settings, as Determined names them in a field mask.
const (
	SettingLogLevel = "log.level" // a level of the master's configuration, or critical
	SettingLogColor = "log.color" // true or false
)

// A Setting is a part of the masters' configuration that an administrator changed while they ran.
type Setting struct {
	Name  string    `db:"name"`
	Value string    `db:"value"`
	SetAt time.Time `db:"set_at"`
}

// TopicSettings wakes the masters after an administrator has changed their settings.
const TopicSettings = "settings"

// SettingsSince lists the settings that were set after a time, by the database's clock.
func SettingsSince(ctx context.Context, db *database.DB, since time.Time) ([]Setting, error) {
	return database.Rows[Setting](ctx, db, `SELECT name, value, set_at FROM settings WHERE set_at > $1 ORDER BY name`, since)
}

// ChangeSettings stores settings, all at the same time.
func ChangeSettings(ctx context.Context, db *database.DB, user int, names, values []string) error {
	_, err := db.Exec(ctx, `INSERT INTO settings (name, value, user_id) SELECT name, value, $3 FROM unnest($1::text[], $2::text[]) AS s(name, value)
		ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value, user_id = EXCLUDED.user_id, set_at = now()`, names, values, user)
	return err
}
