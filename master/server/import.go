package server

import (
	"context"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/importer"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/schema"
)

// Import copies the database of a Determined cluster into that of a configuration, whose masters may run meanwhile.
func Import(ctx context.Context, cfg Config, o importer.Options) error {
	log := slog.Default()
	if err := migrate(ctx, cfg.Database, log); err != nil {
		return err
	}
	db, err := database.Open(ctx, cfg.Database, database.Options{MaxConns: 4})
	if err != nil {
		return err
	}
	defer db.Close()
	if err := oldHost(cfg, &o); err != nil {
		return err
	}
	if o.Fetch, err = fetchesCheckpoints(ctx, cfg, db, log); err != nil {
		return err
	}
	return importer.Run(ctx, db, o)
}

// fetchesCheckpoints returns a function that reads the files of a checkpoint, from the storages from which a master of the configuration reads.
func fetchesCheckpoints(ctx context.Context, cfg Config, db *database.DB, log *slog.Logger) (func(context.Context, string) (importer.Fetched, error), error) {
	id, err := schema.ClusterID(ctx, db)
	if err != nil {
		return nil, err
	}
	m := &master{cfg: cfg, log: log, db: db, clusterID: id, bus: database.NewBus("", slog.New(slog.DiscardHandler))}
	if m.vault, err = m.newVault(); err != nil {
		return nil, err
	}
	d := checkpoints.Deps{DB: db, Log: log, Bucket: m.bucket}
	if d.Roots, err = cfg.checkpointRoots(); err != nil {
		return nil, err
	}
	return func(ctx context.Context, uuid string) (importer.Fetched, error) {
		p, err := d.Probe(ctx, uuid)
		return importer.Fetched(p), err
	}, nil
}

// oldHost checks the name of the old master: links at this name are told from new ones, which have public_url.
func oldHost(cfg Config, o *importer.Options) error {
	if o.Host == "" {
		return nil
	}
	o.Host = rest.BareHost(o.Host)
	own, err := url.Parse(cfg.PublicURL)
	if err != nil || own.Host == "" || o.Host == "" || strings.Contains(o.Host, "/") || slices.ContainsFunc(cfg.hosts(), func(host string) bool { return rest.BareHost(host) == o.Host }) || net.ParseIP(rest.BareHost(own.Host)).IsLoopback() {
		return fault.New(fault.Invalid, "--old-host: links of the old master are told from new ones by its host name, as in det.example.org, so public_url must be set in the configuration, and no address of this master may have that name; public_url is %q", cfg.PublicURL)
	}
	return nil
}
