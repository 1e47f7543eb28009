package store

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/master/fault"
)

// maxUserSettings bounds what one person may keep.
const maxUserSettings = 5000

// UserSetting is what somebody's page or program keeps under a key.
type UserSetting struct {
	StoragePath string `db:"storage_path"`
	Key         string `db:"key"`
	Value       string `db:"value"`
}

// UserSettings lists what a user keeps.
func (db *DB) UserSettings(ctx context.Context, user int) ([]UserSetting, error) {
	return rows[UserSetting](ctx, db, `SELECT storage_path, key, value FROM user_settings WHERE user_id = $1 ORDER BY storage_path, key`, user)
}

// SetUserSettings stores settings over those that a user has. An empty value
// removes one.
func (db *DB) SetUserSettings(ctx context.Context, user int, list []UserSetting) error {
	return db.Tx(ctx, func(tx *DB) error {
		b := &pgx.Batch{}
		for _, s := range list {
			if s.Value == "" {
				b.Queue(`DELETE FROM user_settings WHERE user_id = $1 AND storage_path = $2 AND key = $3`, user, s.StoragePath, s.Key)
				continue
			}
			b.Queue(`INSERT INTO user_settings (user_id, storage_path, key, value) VALUES ($1, $2, $3, $4)
				ON CONFLICT (user_id, storage_path, key) DO UPDATE SET value = excluded.value`, user, s.StoragePath, s.Key, s.Value)
		}
		if err := asFault(tx.SendBatch(ctx, b).Close()); err != nil {
			return err
		}
		n, err := scalar[int](ctx, tx, `SELECT count(*) FROM user_settings WHERE user_id = $1`, user)
		if err == nil && n > maxUserSettings {
			return fault.New(fault.TooLarge, "settings: %d are over the limit of %d; reset them, or store an empty value where one is not needed", n, maxUserSettings)
		}
		return err
	})
}

// ResetUserSettings removes what a user keeps.
func (db *DB) ResetUserSettings(ctx context.Context, user int) error {
	_, err := db.exec(ctx, `DELETE FROM user_settings WHERE user_id = $1`, user)
	return err
}
