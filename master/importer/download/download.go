// Package download copies what the REST API of a Determined cluster tells into Determined's own tables, in a schema of Detent's database. The importer
// reads these tables as it reads the database of a cluster, so both ways have the same rules for what becomes of a row.
//
// A download can be interrupted anywhere and repeated. It reads the lists again, and of trials whose record has not changed it keeps the reports, the attempts
// and the log that are there. Reports and code are fetched once for each trial and experiment.
//
//	download.go     the steps
//	old.go          the old master, and who asks
//	sight.go        how much of the old cluster the user sees who asks
//	lists.go        its lists, which may change while they are read
//	bounds.go       what it may answer at most
//	tables.sql      Determined's tables
//	put.go          rows of these tables
//	people.go       users, groups and roles
//	places.go       workspaces, projects, templates, bindings, policies, webhooks and models
//	experiments.go  experiments with their trials and checkpoints
//	trials.go       reports, attempts and logs of trials
//	usage.go        attempts of notebooks and other tasks
//
// The API does not have: passwords, the seeds of trials, settings of people's pages, pins, what nodes reported about themselves, from which checkpoint a trial
// of another program began, earlier names of runs, and the secrets of storages.
package download

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
)

// Schema is the schema of Detent's database with the copied tables.
const Schema = "determined_import"

//go:embed tables.sql
var tables string

// form changes when tables.sql or the table form does.
const form = 2

// migration is that of the schema of Determined 0.38.1, which the tables have.
const migration = 20241024164947

// Options say what is fetched.
type Options struct {
	Access
	Light bool // only what has few rows: no reports, no code and no lines
	Logs  bool
	// Partial accepts that the user who asks sees only a part of the old cluster. Tell says at once what this part is.
	Partial bool
	Tell    func(text string)
	// May is asked before anything is copied of a cluster; as is the user who asks, if they see only a part of it.
	May func(ctx context.Context, cluster, as string) error
	// Begin and Add tell somebody how far a step is.
	Begin func(step string, total int64)
	Add   func(n int64)
	Note  func(text string)
	// transport replaces the network's limits in tests.
	transport *bounded
}

// A copying is one download.
type copying struct {
	Options
	db   *database.DB
	c    *client.Client
	part bool       // the user who asks sees only a part of the old cluster
	as   string     // this user, then; else ""
	mu   sync.Mutex // of what Options tells
}

func (d *copying) lists() lists { return lists{d.c, maxRecords, d.note} }

// Run fetches everything that the old master tells and that is not in the schema yet.
func Run(ctx context.Context, db *database.DB, o Options) error {
	if o.transport == nil {
		o.transport = newBounded()
	}
	defer o.transport.CloseIdleConnections()
	c, master, me, err := connect(ctx, o.Access, o.transport)
	if err != nil {
		return err
	}
	d := &copying{Options: o, db: db, c: c}
	if err := d.look(ctx, master, me); err != nil {
		return err
	}
	if d.part {
		d.as = me.Username
	}
	if o.May != nil {
		if err := o.May(ctx, master.ClusterID, d.as); err != nil {
			return err
		}
	}
	if err := d.prepare(ctx, master.ClusterID); err != nil {
		return err
	}
	return d.all(ctx, master.RbacEnabled)
}

// all fetches the parts one after another.
func (d *copying) all(ctx context.Context, roles bool) error {
	d.Begin("download", 0)
	for _, step := range []func(context.Context) error{
		d.people, func(ctx context.Context) error { return d.roles(ctx, roles) }, d.places, d.models, d.experiments, d.usage,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if d.Light {
		return nil
	}
	return d.trials(ctx)
}

// prepare makes the tables, if they are not those of this cluster already.
func (d *copying) prepare(ctx context.Context, cluster string) error {
	return d.db.Alone(ctx, func(tx *database.DB) error {
		there, err := database.Scalar[bool](ctx, tx, `SELECT to_regclass('`+Schema+`.form') IS NOT NULL`)
		if err != nil {
			return err
		}
		if there {
			same, err := database.Scalar[bool](ctx, tx, `SELECT EXISTS (SELECT FROM `+Schema+`.form WHERE form = $1)`, form)
			if err != nil {
				return err
			}
			if same {
				other, err := database.Scalar[string](ctx, tx, `SELECT coalesce(max(cluster_id), '') FROM `+Schema+`.cluster_id WHERE cluster_id <> $1`, cluster)
				if err == nil && other != "" {
					err = fault.New(fault.Conflict, "Detent's database has a copy of cluster %s in the schema %s, whose import has not ended: end it, or remove the copy (DROP SCHEMA %s CASCADE)", fault.Clip(other), Schema, Schema)
				}
				if err == nil {
					err = d.keeps(ctx, tx)
				}
				return err
			}
		}
		if err := tx.Exec(ctx, fmt.Sprintf(`DROP SCHEMA IF EXISTS %[1]s CASCADE; CREATE SCHEMA %[1]s; SET LOCAL search_path = %[1]s; CREATE TABLE form (form int, asked_as text NOT NULL); %[2]s`, Schema, tables)); err != nil {
			return err
		}
		return errors.Join(tx.Exec(ctx, `INSERT INTO form VALUES ($1, $2)`, form, database.Text(d.as)), tx.Exec(ctx, `INSERT INTO gopg_migrations VALUES ($1)`, int64(migration)),
			tx.Exec(ctx, `INSERT INTO cluster_id VALUES ($1)`, database.Text(cluster)))
	})
}

// keeps fails if the copy that is there has what the user who asks now does not see: it would be removed.
func (d *copying) keeps(ctx context.Context, tx *database.DB) error {
	as, err := database.Scalar[string](ctx, tx, `SELECT asked_as FROM `+Schema+`.form`)
	switch {
	case err != nil || as == d.as:
		return err
	case d.as == "":
		return tx.Exec(ctx, `UPDATE `+Schema+`.form SET asked_as = ''`)
	case as == "":
		as = "somebody who sees everything"
	}
	return fault.New(fault.Conflict, "Detent's database has a copy of the old cluster that was fetched as %s; what %s does not see of it would be lost: ask as %[1]s, or remove the copy (DROP SCHEMA %s CASCADE)", fault.Clip(as), d.as, Schema)
}

// Drop removes the copy.
func Drop(ctx context.Context, db *database.DB) error {
	return db.Alone(ctx, func(tx *database.DB) error { return tx.Exec(ctx, `DROP SCHEMA IF EXISTS `+Schema+` CASCADE`) })
}

// tell counts records that were fetched.
func (d *copying) tell(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Add(n)
}

func (d *copying) note(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Note(text)
}

// atOnce is the number of requests at once.
const atOnce = 4

// parallel calls do for each item, some at once, and stops at the first error.
func parallel[T any](ctx context.Context, items []T, do func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan T)
	var all sync.WaitGroup
	for range min(atOnce, len(items)) {
		all.Go(func() {
			for item := range next {
				if err := do(ctx, item); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
feed:
	for _, item := range items {
		select {
		case next <- item:
		case <-ctx.Done():
			break feed
		}
	}
	close(next)
	all.Wait()
	return context.Cause(ctx)
}
