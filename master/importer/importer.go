// Package importer copies the database of a Determined cluster into Detent's: det-master import. Whoever ran Determined keeps the
// history of the team, with the numbers that links, scripts and notes contain.
//
// An import is one pass or several. The first runs while the old cluster still works, and takes most of the time; the last one,
// after the old master was stopped, copies what has changed since. A pass reads one snapshot of the old database, and has these steps:
//
//	code     the model definitions, each once
//	rows     everything that has few rows: people in a short transaction; places, experiments, trials, checkpoints, models and history in one
//	metrics  the reports, some trials in each transaction
//	logs     the lines of trials, where somebody asks for them
//
// Every step can be interrupted anywhere and repeated: code is found by its hash, rows by their numbers, and of a trial with metrics
// the importer keeps a mark (import_trials) that changes when the old trial does. Then it copies all the trial's metrics again.
//
// Where nobody can reach the old database, the package download fetches what the old master's REST API tells, into tables like those of the old database.
//
// The files, in the order in which one reads them:
//
//	importer.go     the steps of a pass
//	source.go       the old database: which schemas are known, and how much there is
//	stage.go        the old tables with few rows, as temporary tables beside ours
//	numbers.go      which number each of the old cluster's objects has here
//	people.go       users, groups and roles
//	places.go       workspaces, projects, templates, bindings and policies
//	experiments.go  experiments with their configurations, trials and their tasks
//	configs.go      configurations that older releases of Determined accepted
//	checkpoints.go  checkpoints, and the models that have them as versions
//	history.go      the attempts of the past, for the accounts of who used how much
//	lost.go         what is not imported, which is counted
//	fork.go         who may use which pool in the public fork, and its pools
//	code.go         model definitions
//	metrics.go      the reports of trials
//	logs.go         the lines of trials
//	verify.go       both sides compared, experiment by experiment
//	samples.go      a checkpoint of each storage, read where it is
//	report.go       what a person reads
//
// Files of checkpoints stay where they are: a stored configuration names the folder of its experiment's checkpoints, and an imported one
// names Determined's.
package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/importer/download"
)

// Options say what is imported.
type Options struct {
	From string          // the address of the old database, or, if that cannot be reached, of the old master
	Who  download.Access // who asks the old master
	// Partial accepts that whoever asks the old master sees only a part of it.
	Partial bool
	Prefix  string // of the names of its workspaces, models and templates; "": into an empty Detent, where all numbers stay
	DryRun  bool   // only say what there is
	// Host is the name of the old master, which leads here after the import: its links are told from new ones by this name. "": none.
	Host   string
	Logs   bool // copy the lines of trials too
	Verify bool // compare both sides at the end, and read a checkpoint of each storage
	// Fetch reads the files of a checkpoint for Verify; nil: no files are read.
	Fetch func(ctx context.Context, uuid string) (Fetched, error)
	Out   io.Writer
	// Lines is how progress is shown: a line now and then, instead of one that changes.
	Lines bool
}

// A pass is one import from one snapshot.
type pass struct {
	Options
	db     *database.DB
	source *database.Foreign
	facts  facts
	id     int // of the row in imports
	shift  int
	show   *progress
	notes  notes
	api    bool // the source is a copy of what the old master tells
	part   bool // of which the user who asked it sees only a part:
	as     string

	fetched bool // the old master has told something
}

// importLock is the key of the lock that lets one import run at a time.
const importLock = 0x64_65_74_69_6d_70 // "detimp"

// Run imports, and reports to o.Out.
func Run(ctx context.Context, db *database.DB, o Options) error {
	p := &pass{Options: o, db: db, show: newProgress(o.Out, o.Lines), api: download.Is(o.From)}
	if o.Host != "" && o.Prefix == "" {
		return fault.New(fault.Invalid, "--old-host is for an import with --workspace-prefix: without one all numbers stay, and old links are true as they are")
	}
	return db.Exclusively(ctx, importLock, fault.New(fault.Conflict, "another import into this Detent is running"), func() error {
		err := p.open(ctx)
		if err != nil {
			return err
		}
		if o.DryRun {
			err = p.preview(ctx)
		} else {
			err = p.run(ctx)
		}
		err = errors.Join(err, p.source.Close(ctx))
		if err == nil && p.api && o.Verify && !o.DryRun {
			err = download.Drop(ctx, db)
		}
		return err
	})
}

// open begins a snapshot of the old database, or of the tables into which the old master's answers are copied first.
func (p *pass) open(ctx context.Context) (err error) {
	if p.api {
		if err := p.download(ctx); err != nil {
			if p.fetched && (fault.Is(err, fault.Unavailable) || ctx.Err() != nil) {
				return fmt.Errorf("%w (what was fetched stays; the same command continues)", err)
			}
			return err
		}
		p.source, err = p.db.OpenSchema(ctx, download.Schema)
	} else if scheme, _, found := strings.Cut(p.From, "://"); found && scheme != "postgres" && scheme != "postgresql" {
		return fault.New(fault.Invalid, "--from: %s:// is neither PostgreSQL's database of an old master (postgres://user@old-db/determined) nor the old master itself (https://old-master:8080)", fault.Clip(scheme))
	} else {
		p.source, err = database.OpenForeign(ctx, p.From)
	}
	if err != nil {
		return err
	}
	if p.facts, err = readFacts(ctx, p.source); err == nil && p.api {
		err = p.facts.ofAPI(ctx, p.source)
	}
	if err != nil && !p.api {
		err = ofOldDatabase(err)
	}
	if err != nil {
		return errors.Join(err, p.source.Close(ctx))
	}
	p.facts.print(p.Out)
	return nil
}

// ofOldDatabase says that an error is of the old database, and what its user lacks.
func ofOldDatabase(err error) error {
	if database.RejectionOf(err).Code == "42501" { // insufficient_privilege
		return fmt.Errorf("the old database: %w; its user must read all tables: GRANT pg_read_all_data TO that user, in PostgreSQL 14 or later, or take the user of the old master", err)
	}
	return fmt.Errorf("the old database: %w", err)
}

// download copies what the old master tells into tables as those of its database.
func (p *pass) download(ctx context.Context) error {
	o := download.Options{Access: p.Who, Light: p.DryRun, Logs: p.Logs, Partial: p.Partial, Begin: p.show.next,
		Add:  func(n int64) { p.fetched = p.fetched || n > 0; p.show.add(n) },
		Note: func(text string) { p.notes.once(text) }, Tell: func(text string) { fmt.Fprintln(p.Out, text) }}
	o.Master = p.From
	o.May = func(ctx context.Context, cluster, as string) error {
		p.facts.ClusterID, p.as, p.part = cluster, as, as != ""
		_, err := p.find(ctx, p.db)
		return err
	}
	err := download.Run(ctx, p.db, o)
	p.show.close()
	return err
}

func (p *pass) run(ctx context.Context) error {
	began := time.Now()
	if err := p.begin(ctx); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		run  func(context.Context) error
		skip bool
	}{
		{"code", p.copyCode, false},
		{"rows", p.copyRows, false},
		{"metrics", p.copyMetrics, false},
		{"logs", p.copyLogs, !p.Logs},
		{"verification", p.verify, !p.Verify},
	} {
		if step.skip {
			continue
		}
		if err := step.run(ctx); err != nil {
			p.show.close()
			p.notes.print(p.Out)
			if fault.Is(err, fault.Unavailable) || ctx.Err() != nil {
				return fmt.Errorf("%s: %w (what was copied stays; the same command continues)", step.name, err)
			}
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	if err := cmp.Or(p.takeName(ctx), p.takeHost(ctx)); err != nil {
		return err
	}
	if err := p.db.Exec(ctx, `UPDATE imports SET ended_at = now() WHERE id = $1`, p.id); err != nil {
		return err
	}
	p.notes.print(p.Out)
	fmt.Fprintf(p.Out, "imported cluster %s in %s\n", p.facts.ClusterID, time.Since(began).Round(time.Second/10))
	return nil
}

// begin finds or makes the row of this import, and chooses the numbers of a new one.
func (p *pass) begin(ctx context.Context) error {
	return p.db.Tx(ctx, func(tx *database.DB) error {
		own, err := p.find(ctx, tx)
		switch {
		case err != nil:
			return err
		case p.id != 0:
			return tx.Exec(ctx, `UPDATE imports SET partial = $2, asked_as = $3 WHERE id = $1`, p.id, p.part, p.as)
		}
		if p.Prefix != "" {
			p.shift = (own/1000 + 1) * 1000 // an old number is easily read in a new one
		}
		p.id, err = database.Scalar[int](ctx, tx, `INSERT INTO imports (cluster_id, prefix, shift, partial, asked_as) VALUES ($1, $2, $3, $4, $5) RETURNING id`, p.facts.ClusterID, p.Prefix, p.shift, p.part, p.as)
		if err == nil && p.Prefix != "" {
			err = p.reserveNumbers(ctx, tx)
		}
		return err
	})
}

// find takes the row of this import, if an earlier pass has made one. If not, it returns the largest number that is taken here, or why nothing can be imported.
func (p *pass) find(ctx context.Context, tx *database.DB) (own int, err error) {
	p.id, p.shift = 0, 0 // a transaction may be repeated
	known, err := database.Rows[struct {
		ID      int    `db:"id"`
		Cluster string `db:"cluster_id"`
		Prefix  string `db:"prefix"`
		Shift   int    `db:"shift"`
		Partial bool   `db:"partial"`
		As      string `db:"asked_as"`
	}](ctx, tx, `SELECT id, cluster_id, prefix, shift, partial, asked_as FROM imports`)
	if err != nil {
		return 0, err
	}
	for _, k := range known {
		switch {
		case k.Cluster == p.facts.ClusterID && k.Prefix == p.Prefix && p.part && !k.Partial:
			return 0, fault.New(fault.Conflict, "the whole of cluster %s was imported before: a pass that sees only a part of it would take away rights, templates and bindings that it "+
				"does not see; import as somebody who sees everything", k.Cluster)
		case k.Cluster == p.facts.ClusterID && k.Prefix == p.Prefix && p.part && k.As != "" && k.As != p.as:
			return 0, fault.New(fault.Conflict, "what %s sees of cluster %s was imported before: a pass that sees another part of it would take away rights, templates and bindings; "+
				"import as %[1]s, or as somebody who sees everything", fault.Clip(k.As), k.Cluster)
		case k.Cluster == p.facts.ClusterID && k.Prefix == p.Prefix:
			p.id, p.shift = k.ID, k.Shift
			return 0, nil
		case k.Cluster == p.facts.ClusterID && k.Prefix == "":
			return 0, fault.New(fault.Conflict, "cluster %s was imported before without --workspace-prefix; the same import continues only without one", k.Cluster)
		case k.Cluster == p.facts.ClusterID:
			return 0, fault.New(fault.Conflict, "cluster %s was imported before with --workspace-prefix %q; the same import continues only with the same prefix", k.Cluster, k.Prefix)
		case k.Prefix == p.Prefix && k.Prefix == "":
			return 0, fault.New(fault.Conflict, "cluster %s was imported before, and has its numbers here; import this one beside it with --workspace-prefix NAME", k.Cluster)
		case k.Prefix == p.Prefix:
			return 0, fault.New(fault.Conflict, "cluster %s was imported with --workspace-prefix %q before; choose another prefix for this one", k.Cluster, k.Prefix)
		}
	}
	own, err = database.Scalar[int](ctx, tx, `SELECT greatest((SELECT coalesce(max(id), 0) FROM experiments), (SELECT coalesce(max(id), 0) FROM trials),
		(SELECT coalesce(max(id), 0) FROM models), (SELECT coalesce(max(id), 0) FROM model_versions))`)
	if err == nil && p.Prefix == "" && own > 0 {
		err = fault.New(fault.Conflict, "this Detent has experiments or models of its own, so those of the old cluster cannot keep their numbers: "+
			"import into an empty database, or beside what is here with --workspace-prefix NAME, which gives them new numbers")
	}
	return own, err
}

// copyRows copies everything that has few rows: people in a short transaction, so that they can sign in meanwhile, and the others in one, which is there as a whole or
// not at all.
func (p *pass) copyRows(ctx context.Context) error {
	p.show.begin("rows", 0)
	for _, steps := range [][]func(context.Context, *database.DB) error{
		{p.stagePeople, p.putPeople},
		{p.stage, p.takeNumbers, p.noteLost, p.noteFork, p.putPlaces, p.putExperiments, p.putTrials, p.putEarlierNames, p.putCheckpoints, p.putModels, p.putHistory, p.continueNumbers},
	} {
		err := p.db.Alone(ctx, func(tx *database.DB) error {
			for _, step := range steps {
				if err := step(ctx, tx); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	p.show.end()
	return analyze(ctx, p.db, "experiments", "tasks", "trials", "checkpoints", "import_numbers", "allocations")
}

// analyze lets PostgreSQL count tables that have just become large.
func analyze(ctx context.Context, db *database.DB, tables ...string) error {
	return db.Alone(ctx, func(tx *database.DB) error { return tx.Exec(ctx, "ANALYZE "+strings.Join(tables, ", ")) })
}

// takeName gives a new cluster the id of the old one, which is in the paths of TensorBoard's files.
func (p *pass) takeName(ctx context.Context) error {
	if p.Prefix != "" {
		return nil
	}
	n, err := p.db.Affect(ctx, `UPDATE cluster SET id = $1::text::uuid WHERE id::text <> $1 AND $1 ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'`, p.facts.ClusterID)
	if n > 0 {
		fmt.Fprintln(p.Out, "this Detent has the id of the old cluster now: restart its masters, if they run")
	}
	return err
}

// takeHost stores the name of the old master.
func (p *pass) takeHost(ctx context.Context) error {
	if p.Host == "" {
		return nil
	}
	n, err := p.db.Affect(ctx, `INSERT INTO import_hosts (host, import_id) VALUES ($1, $2) ON CONFLICT (host) DO UPDATE SET import_id = excluded.import_id WHERE import_hosts.import_id = excluded.import_id`, p.Host, p.id)
	if err == nil && n == 0 {
		err = fault.New(fault.Conflict, "--old-host: %s is the name of another imported cluster", p.Host)
	}
	return err
}

// args are the named arguments of the statements of a pass.
func (p *pass) args() database.Args {
	return database.Args{"import": p.id, "shift": p.shift, "prefix": p.Prefix}
}

// put runs statements one after another.
func (p *pass) put(ctx context.Context, tx *database.DB, statements ...string) error {
	for _, sql := range statements {
		if err := tx.Exec(ctx, sql, p.args()); err != nil {
			return fmt.Errorf("%w (%s)", err, firstLine(sql))
		}
	}
	return nil
}
