package database

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/detent-ml/detent/master/fault"
)

// migrationLock is the key of the advisory lock that lets one master migrate at a time. It
// must never change.
const migrationLock = 0x64_65_74_65_6e_74 // "detent"

type migration struct {
	version int
	name    string
	sql     string
}

// migrations lists the migrations of this program, oldest first.
func migrations(files fs.FS) ([]migration, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, err
	}
	var list []migration
	for i, e := range entries {
		num, _, _ := strings.Cut(e.Name(), "_")
		version, err := strconv.Atoi(num)
		if err != nil || version != i+1 {
			return nil, fmt.Errorf("migration %s is out of order: expected number %04d", e.Name(), i+1)
		}
		sql, err := fs.ReadFile(files, e.Name())
		if err != nil {
			return nil, err
		}
		list = append(list, migration{version, e.Name(), string(sql)})
	}
	return list, nil
}

// SchemaHash identifies the schema after all migrations. Tests copy one migrated database
// for each hash.
func SchemaHash(files fs.FS) string {
	list, err := migrations(files)
	if err != nil {
		panic(err) // cannot happen: the files are embedded, and a test reads them
	}
	h := sha256.New()
	for _, m := range list {
		fmt.Fprintf(h, "%s %d\n%s", m.name, len(m.sql), m.sql)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Migrate migrates the database at dsn to this program's version, on a connection of its
// own without the pool's statement timeout. The files are named 0001_name.sql and so on. It accepts a newer schema if the minimum
// version that the schema states allows this program.
func Migrate(ctx context.Context, dsn string, files fs.FS) error {
	list, err := migrations(files)
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return AsFault(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(migrationLock)); err != nil {
		return AsFault(err)
	}
	_, err = conn.Exec(ctx, `CREATE TABLE IF NOT EXISTS schema_versions (
		version int PRIMARY KEY,
		name text NOT NULL,
		minimum int NOT NULL, -- the oldest program version that still works with this schema
		applied_at timestamptz NOT NULL DEFAULT now())`)
	if err != nil {
		return AsFault(err)
	}
	var current, minimum int
	err = conn.QueryRow(ctx, "SELECT coalesce(max(version), 0), coalesce(max(minimum), 0) FROM schema_versions").Scan(&current, &minimum)
	if err != nil {
		return AsFault(err)
	}
	if minimum > len(list) {
		return fault.New(fault.Conflict,
			"the database's schema is version %d and needs a master that knows version %d or later; this one knows %d: install a newer det-master",
			current, minimum, len(list))
	}
	if err := sameMigrations(ctx, conn, list); err != nil {
		return err
	}
	for _, m := range list[min(current, len(list)):] {
		if err := apply(ctx, conn, m); err != nil {
			return fmt.Errorf("migration %s: %w", m.name, AsFault(err))
		}
	}
	return nil
}

// sameMigrations fails if the database has another migration with the number of one of the list: then it is of a
// development version, and its tables are not those of this program.
func sameMigrations(ctx context.Context, conn *pgx.Conn, list []migration) error {
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = m.name
	}
	var theirs, ours string
	err := conn.QueryRow(ctx, `SELECT v.name, m.name FROM schema_versions v JOIN unnest($1::text[]) WITH ORDINALITY AS m (name, version) ON m.version = v.version
		WHERE v.name <> m.name ORDER BY v.version LIMIT 1`, names).Scan(&theirs, &ours)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil
	case err != nil:
		return AsFault(err)
	}
	return fault.New(fault.Conflict, "the database was made by a development version of det-master: its schema has the migration %s instead of %s; use an empty database; of a local cluster, `det deploy local reset` removes the old one", theirs, ours)
}

// apply runs one migration in its own transaction. If earlier programs cannot use the
// migrated schema, the migration's first line is "-- minimum: N", with the lowest version
// that can.
func apply(ctx context.Context, conn *pgx.Conn, m migration) error {
	minimum := 1
	if rest, ok := strings.CutPrefix(m.sql, "-- minimum: "); ok {
		line, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return fmt.Errorf("the minimum %q is not a number", line)
		}
		minimum = n
	}
	once := func() error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, m.sql); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "INSERT INTO schema_versions (version, name, minimum) VALUES ($1, $2, $3)", m.version, m.name, minimum)
			return err
		})
	}
	err := once()
	for tries := 1; tries < migrateTries && isDeadlock(err); tries++ {
		err = once()
	}
	return err
}

// migrateTries is how often a migration is tried if a master that runs meanwhile reads the tables in another order.
const migrateTries = 5

func isDeadlock(err error) bool {
	pg, is := errors.AsType[*pgconn.PgError](err)
	return is && pg.Code == "40P01"
}
