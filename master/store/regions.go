package store

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// Alarm returns why the loop does not trust the state of Nomad, of any region; "" if it does.
func (db *DB) Alarm(ctx context.Context) (string, error) {
	return database.Scalar[string](ctx, db.DB, `
		SELECT concat_ws('; ', NULLIF(alarm, ''), (SELECT string_agg('Nomad region ' || name || ': ' || alarm, '; ' ORDER BY name) FROM regions WHERE alarm <> ''))
		FROM cluster`)
}

// TrustNomad stores that an operator has confirmed the loss: jobs that Nomad lacks are lost, in the
// master's own region and in the others that have an alarm.
func (db *DB) TrustNomad(ctx context.Context) error {
	return db.Tx(ctx, func(tx *DB) error {
		if _, err := tx.Exec(ctx, "UPDATE cluster SET trust = true"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE regions SET trust = true WHERE alarm <> ''")
		return err
	})
}

// RegionOfNode returns the region of a node; "" for the master's own, and for a node that is not there.
func (db *DB) RegionOfNode(ctx context.Context, id string) (string, error) {
	return database.Scalar[string](ctx, db.DB, `SELECT coalesce((SELECT region FROM nodes WHERE id = $1), '')`, id)
}
