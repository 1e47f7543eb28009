package nodes

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// Alarm returns why the loop does not trust the state of Nomad, of any region; "" if it does.
func Alarm(ctx context.Context, db *database.DB) (string, error) {
	return database.Scalar[string](ctx, db, `
		SELECT concat_ws('; ', NULLIF(alarm, ''), (SELECT string_agg('Nomad region ' || name || ': ' || alarm, '; ' ORDER BY name) FROM regions WHERE alarm <> ''))
		FROM cluster`)
}

// Trust stores that an operator has confirmed the loss: jobs that Nomad lacks are lost, in the
// master's own region and in the others that have an alarm.
func Trust(ctx context.Context, db *database.DB) error {
	return db.Tx(ctx, func(tx *database.DB) error {
		if err := tx.Exec(ctx, "UPDATE cluster SET trust = true"); err != nil {
			return err
		}
		return tx.Exec(ctx, "UPDATE regions SET trust = true WHERE alarm <> ''")
	})
}
