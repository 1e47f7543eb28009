package servers

import "context"

// Start starts the server again on the same port, after Stop, Kill or a crash.
func (p *Postgres) Start(ctx context.Context) error {
	opts := p.opts
	opts.Port = p.Port
	again, err := StartPostgres(ctx, opts)
	if err != nil {
		return err
	}
	*p = *again
	return nil
}

// Restart stops the server and starts it on the same port.
func (p *Postgres) Restart(ctx context.Context) error {
	if err := p.Stop(ctx); err != nil {
		return err
	}
	return p.Start(ctx)
}

// Kill kills the server like a crash. The next start recovers from its write-ahead log.
func (p *Postgres) Kill(ctx context.Context) error { return p.id.Kill(ctx) }
