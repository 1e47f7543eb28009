package rows

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// A Region is what the loop knows of a region of Nomad. The name of the master's own region is "".
type Region struct {
	Alarm string `json:"alarm"` // why the loop does not trust this Nomad; "" if it does
	Trust bool   `json:"trust"` // an operator has confirmed the loss (det master trust-nomad)
}

// KeepRegions stores which regions there are besides the master's own, and removes what is known of
// others: a region that is in no configuration any more has no nodes and no alarm.
func KeepRegions(ctx context.Context, db *database.DB, names []string) error {
	for _, change := range []string{
		`DELETE FROM nodes WHERE region <> '' AND NOT (region = ANY($1))`,
		`DELETE FROM orphans WHERE region <> '' AND NOT (region = ANY($1))`,
		`DELETE FROM regions WHERE NOT (name = ANY($1))`,
		`INSERT INTO regions (name) SELECT unnest($1::text[]) ON CONFLICT (name) DO NOTHING`,
	} {
		if err := db.Exec(ctx, change, names); err != nil {
			return err
		}
	}
	return nil
}

// SetAlarm stores the alarm of a region for operators, and reports whether it changed.
func SetAlarm(ctx context.Context, db *database.DB, region, alarm string) (changed bool, err error) {
	var n int64
	if region == "" {
		n, err = db.Affect(ctx, "UPDATE cluster SET alarm = $1 WHERE alarm <> $1", alarm)
	} else {
		n, err = db.Affect(ctx, "UPDATE regions SET alarm = $2 WHERE name = $1 AND alarm <> $2", region, alarm)
	}
	return n > 0, err
}

// NomadIndex returns the highest Nomad index of a stored observation of a region.
func NomadIndex(ctx context.Context, db *database.DB, region string) (int64, error) {
	if region == "" {
		return database.Scalar[int64](ctx, db, "SELECT nomad_index FROM cluster")
	}
	return database.Scalar[int64](ctx, db, "SELECT coalesce(max(nomad_index), 0) FROM regions WHERE name = $1", region)
}

// SetNomadIndex stores the Nomad index of an observation of a region without an alarm. trusted means
// that an operator has confirmed the loss (TrustNomad). That ends now, and live members with a
// higher index get the index 0, so that the lower indexes of the new Nomad count. Members of other
// regions are among them: their facts are stored a second time, unchanged.
func SetNomadIndex(ctx context.Context, db *database.DB, region string, index int64, trusted bool) error {
	if trusted {
		err := db.Exec(ctx, `UPDATE members m SET nomad_index = 0 FROM allocations a
			WHERE a.id = m.allocation_id AND a.state <> 'TERMINATED' AND m.nomad_index > $1`, index)
		if err != nil {
			return err
		}
	}
	var err error
	if region == "" {
		err = db.Exec(ctx, `UPDATE cluster SET nomad_index = $1, trust = trust AND NOT $2
			WHERE nomad_index <> $1 OR trust AND $2`, index, trusted)
	} else {
		err = db.Exec(ctx, `UPDATE regions SET nomad_index = $1, trust = trust AND NOT $2
			WHERE name = $3 AND (nomad_index <> $1 OR trust AND $2)`, index, trusted, region)
	}
	return err
}

// PoolsOf returns the pools of attempts, of those that there are.
func PoolsOf(ctx context.Context, db *database.DB, attempts []string) (map[string]string, error) {
	return database.Map[string, string](ctx, db, `SELECT id, pool FROM allocations WHERE id = ANY($1)`, attempts)
}
