package importer

import (
	"context"
	"fmt"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// A Fetched is what was read of a checkpoint's files.
type Fetched struct {
	Files int
	Bytes int64
	Whole bool // every byte was read; false: of large files only the beginning
}

// A sample is a checkpoint of a storage.
type sample struct {
	Storage string `db:"storage"`
	UUID    string `db:"uuid"`
}

// Limits of what a verification reads: the time for one storage, and the number of storages.
const (
	sampleWait = 5 * time.Minute
	maxSamples = 100
)

// samples finds the newest checkpoint of each storage.
func (p *pass) samples(ctx context.Context) (list []sample, err error) {
	err = p.db.Alone(ctx, func(tx *database.DB) (err error) {
		list, err = database.Rows[sample](ctx, tx, `
			WITH places AS MATERIALIZED (SELECT e.id, e.config->'checkpoint_storage' AS c FROM import_numbers n JOIN experiments e ON e.id = n.new WHERE n.import_id = $1 AND n.kind = 'experiment'),
			found AS (SELECT DISTINCT ON (coalesce(b.config, x.c)) coalesce(b.config, x.c) AS c, k.uuid::text AS uuid, k.reported_at, k.resources = '{}' AS bare FROM places x JOIN trials t ON t.experiment_id = x.id JOIN checkpoints k ON k.trial_id = t.id
				LEFT JOIN storage_backends b ON b.id = k.storage_id WHERE k.state = 'COMPLETED' ORDER BY coalesce(b.config, x.c), k.resources = '{}', k.reported_at DESC)
			SELECT DISTINCT ON (s.storage) s.storage, f.uuid FROM found f
				CROSS JOIN LATERAL (SELECT concat_ws(' ', f.c->>'type', coalesce(f.c->>'bucket', f.c->>'container', f.c->>'host_path', f.c->>'container_path'), coalesce(f.c->>'prefix', f.c->>'storage_path')) AS storage) s
			ORDER BY s.storage, f.bare, f.reported_at DESC`, p.id)
		return err
	})
	return list, err
}

// fetchSamples reads the newest checkpoint of each storage. A storage from which this master may not read is named, with the command that reads it
// elsewhere; one from which it should be able to read, and cannot, is an error.
func (p *pass) fetchSamples(ctx context.Context) error {
	list, err := p.samples(ctx)
	if err != nil || len(list) == 0 || p.Fetch == nil {
		return err
	}
	fmt.Fprintln(p.Out, "the newest checkpoint of each storage:")
	failed, unread := 0, 0
	for _, l := range list[:min(len(list), maxSamples)] {
		got, err := p.fetch(ctx, l.UUID)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && got.Whole:
			fmt.Fprintf(p.Out, "  %s: read %s, %d files, %s\n", l.Storage, l.UUID, got.Files, size(got.Bytes))
		case err == nil:
			fmt.Fprintf(p.Out, "  %s: read the beginning of the %d files of %s\n", l.Storage, got.Files, l.UUID)
		case fault.Is(err, fault.Forbidden), fault.Is(err, fault.Unimplemented):
			unread++
			fmt.Fprintf(p.Out, "  %s: NOT READ: %v\n    where it can be read: det checkpoint download %s\n", l.Storage, err, l.UUID)
		default:
			failed++
			fmt.Fprintf(p.Out, "  %s: FAILED: %v\n", l.Storage, err)
		}
	}
	if left := len(list) - maxSamples; left > 0 {
		p.notes.add(fmt.Sprintf("%d further storages were not read", left), 0)
	}
	if unread > 0 {
		p.notes.add(fmt.Sprintf("%d of %d storages cannot be read with this configuration, so nobody has seen their files", unread, len(list)), 0)
	}
	if failed > 0 {
		return fault.New(fault.NotFound, "%d of %d storages do not have the checkpoint that they should have, or do not answer", failed, len(list))
	}
	return nil
}

func (p *pass) fetch(ctx context.Context, uuid string) (Fetched, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, sampleWait, fault.New(fault.Unavailable, "the storage did not send the checkpoint within %s", sampleWait))
	defer cancel()
	got, err := p.Fetch(ctx, uuid)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return got, err
}
