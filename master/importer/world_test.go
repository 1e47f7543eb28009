package importer_test

import (
	"context"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/importer"
	"github.com/detent-ml/detent/master/importer/importertest"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// A detent is a database into which tests import.
type detent struct {
	*rowtest.World
}

func newDetent(t testing.TB) detent { return detent{rowtest.New(t)} }

func newOld(t testing.TB) *rowtest.World { return importertest.Old(t, importertest.Small) }

// take imports, and returns what a person reads.
func (d detent) take(from *rowtest.World, change ...func(*importer.Options)) string {
	d.T.Helper()
	text, err := d.tries(d.T.Context(), from, change...)
	if err != nil {
		d.T.Fatalf("%v\n%s", err, text)
	}
	return text
}

func (d detent) tries(ctx context.Context, from *rowtest.World, change ...func(*importer.Options)) (string, error) {
	var out strings.Builder
	o := importer.Options{From: from.DSN, Out: &out, Lines: true, Verify: true, Logs: true,
		Fetch: func(context.Context, string) (importer.Fetched, error) {
			return importer.Fetched{Files: 2, Bytes: 1024, Whole: true}, nil
		}}
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
