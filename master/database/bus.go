package database

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/master/sleep"
)

const (
	busChannel   = "det"
	busInterval  = 10 * time.Millisecond // between two notifications of one master
	busPayload   = 7900                  // bytes; PostgreSQL rejects 8000 bytes and more
	busReconnect = time.Second
)

// Bus sends wake-ups between masters with PostgreSQL's LISTEN and NOTIFY, on connections of
// its own (LISTEN does not work through a transaction pooler). Within this master a wake-up
// is immediate and does not use the database. After a lost connection the bus wakes all
// subscribers once, because it may have missed wake-ups.
type Bus struct {
	dsn string
	log *slog.Logger

	mu      sync.Mutex
	subs    map[string]map[*subscription]struct{}
	pending map[string]struct{} // topics to send to the other masters
	kick    chan struct{}
}

type subscription struct{ ch chan struct{} }

// NewBus returns a bus; Run sends and receives its messages.
func NewBus(dsn string, log *slog.Logger) *Bus {
	return &Bus{dsn: dsn, log: log, subs: map[string]map[*subscription]struct{}{},
		pending: map[string]struct{}{}, kick: make(chan struct{}, 1)}
}

// Log returns the logger of the bus.
func (b *Bus) Log() *slog.Logger { return b.log }

// Subscribe returns a channel that receives if the topic was published since the last
// receive. Call cancel when done.
func (b *Bus) Subscribe(topic string) (wake <-chan struct{}, cancel func()) {
	s := &subscription{ch: make(chan struct{}, 1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subs[topic] == nil {
		b.subs[topic] = map[*subscription]struct{}{}
	}
	b.subs[topic][s] = struct{}{}
	return s.ch, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subs[topic], s)
		if len(b.subs[topic]) == 0 {
			delete(b.subs, topic)
		}
	}
}

// Publish wakes the subscribers of the topics here now, and on the other masters
// within milliseconds. Call it after the commit.
func (b *Bus) Publish(topics ...string) {
	b.mu.Lock()
	for _, t := range topics {
		b.wake(t)
		b.pending[t] = struct{}{}
	}
	b.mu.Unlock()
	select {
	case b.kick <- struct{}{}:
	default:
	}
}

// wake wakes the subscribers of this master. The caller holds the lock.
func (b *Bus) wake(topic string) {
	for s := range b.subs[topic] {
		select {
		case s.ch <- struct{}{}:
		default:
		}
	}
}

func (b *Bus) wakeAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for t := range b.subs {
		b.wake(t)
	}
}

// Run sends and receives until ctx ends.
func (b *Bus) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, side := range []func(context.Context, *pgx.Conn) error{b.send, b.receive} {
		wg.Go(func() {
			for ctx.Err() == nil {
				b.connected(ctx, side)
			}
		})
	}
	wg.Wait()
}

func (b *Bus) connected(ctx context.Context, side func(context.Context, *pgx.Conn) error) {
	conn, err := pgx.Connect(ctx, b.dsn)
	if err == nil {
		err = side(ctx, conn)
		_ = conn.Close(context.WithoutCancel(ctx))
	}
	if ctx.Err() != nil {
		return
	}
	b.log.Warn("the connection for wake-ups between masters is interrupted", "error", err)
	_ = sleep.For(ctx, busReconnect)
}

func (b *Bus) receive(ctx context.Context, conn *pgx.Conn) error {
	if _, err := conn.Exec(ctx, "LISTEN "+busChannel); err != nil {
		return err
	}
	b.wakeAll()
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if n.PID == 0 {
			continue
		}
		b.mu.Lock()
		for topic := range strings.SplitSeq(n.Payload, "\n") {
			b.wake(topic)
		}
		b.mu.Unlock()
	}
}

func (b *Bus) send(ctx context.Context, conn *pgx.Conn) error {
	pace := time.NewTicker(busInterval)
	defer pace.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-b.kick:
		}
		for _, payload := range b.take() {
			if _, err := conn.Exec(ctx, "SELECT pg_notify($1, $2)", busChannel, payload); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pace.C:
		}
	}
}

// take returns the pending topics as payloads of at most busPayload bytes, and clears them.
func (b *Bus) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var payloads []string
	var cur strings.Builder
	for t := range b.pending {
		if cur.Len() > 0 && cur.Len()+1+len(t) > busPayload {
			payloads = append(payloads, cur.String())
			cur.Reset()
		}
		if cur.Len() > 0 {
			cur.WriteByte('\n')
		}
		cur.WriteString(t)
	}
	if cur.Len() > 0 {
		payloads = append(payloads, cur.String())
	}
	clear(b.pending)
	return payloads
}
