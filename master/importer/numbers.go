package importer

import (
	"context"
	"fmt"
	"strings"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// Objects that have a name of their own in a cluster get a number in import_numbers: that of an object with the same name, where they
// become the same one; else their old number, if they come into an empty Detent and it is free; else a new one. Experiments, trials,
// models and versions of models keep their numbers, or have them shifted all by the same.

// numbered is SQL that gives the rows of an old table their numbers; same finds the object x here that an old row d becomes, unless another one has become it
// already. Numbers that are made come after all old ones, so no two objects get the same.
func numbered(kind, from, table, same string) []string {
	sequence := `pg_get_serial_sequence('` + table + `', 'id')`
	return []string{
		`SELECT setval(` + sequence + `, greatest((SELECT last_value FROM ` + table + `_id_seq), (SELECT coalesce(max(id), 1) FROM ` + table + `), (SELECT coalesce(max(d.id), 1) FROM ` + from + ` d)))`,
		`INSERT INTO import_numbers (import_id, kind, old, new, made)
		SELECT @import, '` + kind + `', d.id, coalesce(f.id, CASE WHEN @prefix = '' AND NOT EXISTS (SELECT FROM ` + table + ` x WHERE x.id = d.id) THEN d.id ELSE nextval(` + sequence + `)::int END), f.id IS NULL
		FROM ` + from + ` d LEFT JOIN LATERAL (SELECT x.id FROM ` + table + ` x WHERE (` + same + `)
			AND NOT EXISTS (SELECT FROM import_numbers n WHERE n.kind = '` + kind + `' AND n.new = x.id AND n.import_id = @import) ORDER BY x.id LIMIT 1) f ON true
		WHERE NOT EXISTS (SELECT FROM import_numbers n WHERE n.import_id = @import AND n.kind = '` + kind + `' AND n.old = d.id)`,
	}
}

// number is SQL for the number here of an old one.
func number(kind, old string) string {
	return `(SELECT new FROM import_numbers WHERE import_id = @import AND kind = '` + kind + `' AND old = ` + old + `)`
}

// owner is SQL for the number of a user; what belonged to nobody is admin's.
func owner(old string) string {
	return `coalesce(` + number("user", old) + `, (SELECT id FROM users WHERE username = 'admin'))`
}

// made is SQL that is true if the import made the object with a number here, or if everything here is of the old cluster.
func made(kind, here string) string {
	return `(@prefix = '' OR EXISTS (SELECT FROM import_numbers n WHERE n.import_id = @import AND n.kind = '` + kind + `' AND n.new = ` + here + ` AND n.made))`
}

// freeNames is SQL that gives objects whose name changes a name that nobody has, until they get their new one: two of them may have swapped theirs.
func freeNames(kind, table, column, from, name string) string {
	return `
	UPDATE ` + table + ` x SET ` + column + ` = 'import-' || md5(x.id || x.` + column + `) FROM ` + from + ` d JOIN import_numbers n ON n.import_id = @import AND n.kind = '` + kind + `' AND n.old = d.id
	WHERE n.new = x.id AND n.made AND x.` + column + ` IS DISTINCT FROM ` + name
}

// A shifted table keeps the order of its numbers.
type shifted struct {
	kind, old, table, noun string
	comes                  string // which old rows d are imported
}

var shiftedTables = []shifted{
	{"experiment", "old_experiments", "experiments", "experiment", "true"},
	{"trial", "old_runs", "trials", "trial", "EXISTS (SELECT FROM old_run_tasks t WHERE t.run_id = d.id)"},
	{"model", "old_models", "models", "model", "true"},
	{"version", "old_model_versions", "model_versions", "version of a model", "EXISTS (SELECT FROM old_checkpoints k JOIN old_runs r ON r.id = k.run_id WHERE k.uuid = d.checkpoint_uuid)"},
}

// reserve is how many numbers are kept free for what the old cluster makes between two passes, beside existing work.
const reserve = 1_000_000

// takeNumbers records the numbers of shifted tables. It fails if something else has one of them, and leaves out of this pass what has been deleted here.
func (p *pass) takeNumbers(ctx context.Context, tx *database.DB) error {
	for _, t := range shiftedTables {
		taken, err := database.Scalars[int](ctx, tx, `SELECT d.id FROM `+t.old+` d JOIN `+t.table+` x ON x.id = d.id + @shift
			WHERE NOT EXISTS (SELECT FROM import_numbers n WHERE n.import_id = @import AND n.kind = '`+t.kind+`' AND n.old = d.id) ORDER BY 1 LIMIT 5`, p.args())
		if err != nil {
			return err
		}
		if len(taken) > 0 {
			return fault.New(fault.Conflict, "the old cluster has %ss %s, and others have their numbers here (%d …), which were made here since the import began: delete these, or begin again with an empty database; nobody may work here before the last pass",
				t.noun, strings.Trim(fmt.Sprint(taken), "[]"), taken[0]+p.shift)
		}
		err = p.put(ctx, tx,
			`DELETE FROM `+t.old+` d USING import_numbers n WHERE n.import_id = @import AND n.kind = '`+t.kind+`' AND n.old = d.id AND NOT EXISTS (SELECT FROM `+t.table+` x WHERE x.id = n.new)`,
			`INSERT INTO import_numbers (import_id, kind, old, new, made) SELECT @import, '`+t.kind+`', d.id, d.id + @shift, true FROM `+t.old+` d WHERE `+t.comes+` ON CONFLICT (import_id, kind, old) DO NOTHING`)
		if err != nil {
			return err
		}
	}
	return nil
}

// continueNumbers lets the next object of each table have the number after the largest, or after those that are reserved.
func (p *pass) continueNumbers(ctx context.Context, tx *database.DB) error {
	for _, table := range []string{"users", "groups", "workspaces", "projects", "experiments", "trials", "models", "model_versions", "webhooks"} {
		if err := tx.Exec(ctx, `SELECT setval(pg_get_serial_sequence('`+table+`', 'id'), greatest((SELECT coalesce(max(id), 1) FROM `+table+`), (SELECT last_value FROM `+table+`_id_seq)))`); err != nil {
			return err
		}
	}
	return nil
}

// reserveNumbers keeps the numbers of shifted tables free, for an import beside existing work.
func (p *pass) reserveNumbers(ctx context.Context, tx *database.DB) error {
	for _, t := range shiftedTables {
		if err := tx.Exec(ctx, `SELECT setval(pg_get_serial_sequence('`+t.table+`', 'id'), greatest((SELECT last_value FROM `+t.table+`_id_seq), $1::bigint))`, p.shift+p.facts.Largest+reserve); err != nil {
			return err
		}
	}
	return nil
}
