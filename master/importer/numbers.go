package importer

import (
	"context"

	"github.com/detent-ml/detent/master/database"
)

// Objects that have a name of their own in a cluster get a number in import_numbers: that of an object with the same name, where they
// become the same one; else their old number, if they come into an empty Detent and it is free; else a new one. Experiments, trials,
// models and versions of models keep their numbers, or have them shifted all by the same.

// numbered is SQL that gives the rows of an old table their numbers; same finds the object here that an old row d becomes.
func numbered(kind, from, table, same string) string {
	return `
	INSERT INTO import_numbers (import_id, kind, old, new)
	SELECT @import, '` + kind + `', d.id, coalesce((` + same + `), CASE WHEN @prefix = '' AND NOT EXISTS (SELECT FROM ` + table + ` x WHERE x.id = d.id) THEN d.id
		ELSE nextval(pg_get_serial_sequence('` + table + `', 'id'))::int END)
	FROM ` + from + ` d ON CONFLICT (import_id, kind, old) DO NOTHING`
}

// number is SQL for the number here of an old one.
func number(kind, old string) string {
	return `(SELECT new FROM import_numbers WHERE import_id = @import AND kind = '` + kind + `' AND old = ` + old + `)`
}

// owner is SQL for the number of a user; what belonged to nobody is admin's.
func owner(old string) string {
	return `coalesce(` + number("user", old) + `, (SELECT id FROM users WHERE username = 'admin'))`
}

// numbersOf are the tables whose numbers an import sets.
var numbersOf = []string{"users", "groups", "workspaces", "projects", "experiments", "trials", "models", "model_versions", "webhooks"}

// continueNumbers lets the next object of each table have the number after the largest.
func (p *pass) continueNumbers(ctx context.Context, tx *database.DB) error {
	for _, table := range numbersOf {
		if err := tx.Exec(ctx, `SELECT setval(pg_get_serial_sequence('`+table+`', 'id'), greatest((SELECT coalesce(max(id), 1) FROM `+table+`),
			(SELECT last_value FROM `+table+`_id_seq)))`); err != nil {
			return err
		}
	}
	return nil
}
