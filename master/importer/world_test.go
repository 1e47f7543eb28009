package importer_test

import (
	"context"
	"crypto/sha512"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/importer"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// The tables of Determined, and rows for them.
var (
	//go:embed testdata/determined.sql
	determinedSchema string
	//go:embed testdata/history.sql
	history string
)

// A shape is the size of the invented cluster.
type shape struct{ experiments, trials, steps, lines int }

var small = shape{60, 4, 120, 8}

// adasPassword is the password of everybody who has one.
const adasPassword = "Secret-ada-1"

// oldHash is Determined's hash of the password, with bcrypt's smallest cost.
func oldHash(t testing.TB) string {
	t.Helper()
	sum := sha512.Sum512([]byte("GubPEmmotfiK9TMD6Zdw" + adasPassword))
	hash, err := bcrypt.GenerateFromPassword([]byte(hex.EncodeToString(sum[:])[:72]), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return string(hash)
}

// old is the database of an invented cluster of Determined.
type old struct {
	*rowtest.World
}

// newOld makes such a cluster. Tests of one shape copy one database.
func newOld(t testing.TB, s shape) old {
	t.Helper()
	name := fmt.Sprintf("determined-%d-%d-%d-%d-%d", s.experiments, s.trials, s.steps, s.lines, len(determinedSchema)+len(history))
	hash := oldHash(t)
	dsn := pgtest.New(t, name, func(ctx context.Context, dsn string) error {
		db, err := database.Open(ctx, dsn, database.Options{MaxConns: 1})
		if err != nil {
			return err
		}
		defer db.Close()
		settings := fmt.Sprintf(`SET import.experiments = '%d'; SET import.trials = '%d'; SET import.steps = '%d'; SET import.lines = '%d'; SET import.password = '%s'; SET statement_timeout = 0;`,
			s.experiments, s.trials, s.steps, s.lines, hash)
		return db.Exec(ctx, settings+determinedSchema+history+`; ANALYZE`)
	})
	w := &rowtest.World{T: t, DSN: dsn}
	w.DB = w.Open(2)
	return old{w}
}

// a detent is a database into which tests import.
type detent struct {
	*rowtest.World
}

func newDetent(t testing.TB) detent { return detent{rowtest.New(t)} }

// take imports, and returns what a person reads.
func (d detent) take(from old, change ...func(*importer.Options)) string {
	d.T.Helper()
	text, err := d.tries(d.T.Context(), from, change...)
	if err != nil {
		d.T.Fatalf("%v\n%s", err, text)
	}
	return text
}

func (d detent) tries(ctx context.Context, from old, change ...func(*importer.Options)) (string, error) {
	var out strings.Builder
	o := importer.Options{From: from.DSN, Out: io.Writer(&out), Lines: true, Verify: true, Logs: true}
	for _, c := range change {
		c(&o)
	}
	err := importer.Run(ctx, d.DB, o)
	return out.String(), err
}

// sum is the checksum of everything that an import writes, but for times of its own.
func (d detent) sum() string {
	d.T.Helper()
	sums := []string{}
	for _, table := range []string{"users", "groups", "group_members", "role_assignments", "user_settings", "workspaces", "workspace_pins", "projects", "templates", "pool_bindings",
		"config_policies", "contexts", "context_parts", "experiments", "tasks", "trials", "trial_summaries", "task_parts", "allocations", "usage", "checkpoints", "models", "model_versions",
		"trial_sources", "metrics", "import_trials", "log_tasks"} {
		sums = append(sums, d.Text(`SELECT $1 || ' ' || count(*) || ' ' || coalesce(sum(hashtextextended((to_jsonb(x) - '{id,created_at,modified_at,seq,swept_at,ended_at,comm_key,gateway_secret,since,version,row,owner_id,storage_id,rows}'::text[])::text, 0)::numeric), 0)
			FROM `+table+` x`, table))
	}
	return strings.Join(sums, "\n")
}
