package accounts

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// Limits of one user's settings, because a request reads all of them.
const (
	maxUserSettings     = 5000
	maxUserSettingBytes = 1 << 20
)

// UserSetting is a value that a page or program stores for a user under a key.
type UserSetting struct {
	StoragePath string `db:"storage_path"`
	Key         string `db:"key"`
	Value       string `db:"value"`
}

// UserSettings lists the settings of a user.
func UserSettings(ctx context.Context, db *database.DB, user int) ([]UserSetting, error) {
	return database.Rows[UserSetting](ctx, db, `SELECT storage_path, key, value FROM user_settings WHERE user_id = $1 ORDER BY storage_path, key`, user)
}

// settingsSize is the number and size of a user's settings.
type settingsSize struct {
	Count int `db:"count"`
	Bytes int `db:"bytes"`
}

func sizeOfSettings(ctx context.Context, db *database.DB, user int) (settingsSize, error) {
	return database.Row[settingsSize](ctx, db, "settings", `
		SELECT count(*)::int AS count, coalesce(sum(octet_length(storage_path) + octet_length(key) + octet_length(value)), 0)::int AS bytes
		FROM user_settings WHERE user_id = $1`, user)
}

// SetUserSettings adds or replaces settings of a user. An empty value removes a setting.
func SetUserSettings(ctx context.Context, db *database.DB, user int, list []UserSetting) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		// Lock the user, so that parallel calls do not exceed the limits together.
		if err := tx.Exec(ctx, `SELECT FROM users WHERE id = $1 FOR NO KEY UPDATE`, user); err != nil {
			return err
		}
		before, err := sizeOfSettings(ctx, tx, user)
		if err != nil {
			return err
		}
		b := &database.Batch{}
		for _, s := range list {
			if s.Value == "" {
				b.Queue(`DELETE FROM user_settings WHERE user_id = $1 AND storage_path = $2 AND key = $3`, user, s.StoragePath, s.Key)
				continue
			}
			b.Queue(`INSERT INTO user_settings (user_id, storage_path, key, value) VALUES ($1, $2, $3, $4)
				ON CONFLICT (user_id, storage_path, key) DO UPDATE SET value = excluded.value`, user, s.StoragePath, s.Key, s.Value)
		}
		if err := tx.Send(ctx, b); err != nil {
			return err
		}
		after, err := sizeOfSettings(ctx, tx, user)
		if err != nil {
			return err
		}
		return before.checkGrowth(after)
	})
}

// checkGrowth rejects settings over a limit, unless they are fewer than before, so that a
// user with more than the limit can remove settings one by one.
func (k settingsSize) checkGrowth(after settingsSize) error {
	const hint = "reset them, or store an empty value where one is not needed"
	if after.Count > maxUserSettings && after.Count > k.Count {
		return fault.New(fault.TooLarge, "settings: %d settings exceed the limit of %d; "+hint, after.Count, maxUserSettings)
	}
	if after.Bytes > maxUserSettingBytes && after.Bytes > k.Bytes {
		return fault.New(fault.TooLarge, "settings: names and values have %d bytes, and the limit is %d; "+hint, after.Bytes, maxUserSettingBytes)
	}
	return nil
}

// ResetUserSettings removes all settings of a user.
func ResetUserSettings(ctx context.Context, db *database.DB, user int) error {
	return db.Exec(ctx, `DELETE FROM user_settings WHERE user_id = $1`, user)
}
