package sender

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/webhook"
)

const (
	workers    = 16              // requests at once
	maxAgain   = 8               // of these, for webhooks whose first delivery has failed before
	maxOfOwner = 6               // of these, for the workspaces of one owner, however slowly their receivers answer
	lookEvery  = time.Second     // after a pass
	lookRarely = 5 * time.Second // while nothing is due; what others write wakes the sender at once
	together   = 50              // events that are spread in one transaction; fewer after one that took too long
	recordTime = 5 * time.Second // to store a result after the term has ended
)

// A term sends during one term of a leader. Each webhook has at most one request in flight,
// which keeps its events in order. Webhooks take turns. Those whose receivers fail use half
// of the workers, and those of one owner a part, so that they cannot delay other owners' requests.
type term struct {
	*Sender
	number  int64
	holds   func() bool    // the lease lasts long enough for a request
	freed   chan struct{}  // wakes Run: a request has ended, or there are more events
	spreads int            // events in the next transaction that spreads some; only Run's goroutine uses it
	apart   map[int]*apart // the owners whose events are spread apart; only Run's goroutine uses it
	all     sync.WaitGroup

	mu   sync.Mutex
	busy map[int]inFlight // the webhooks with a request in flight
}

type inFlight struct {
	again bool // it has failed before
	owner int
}

// Run sends until ctx ends, and waits for the requests in flight.
func (s *Sender) Run(ctx context.Context, number int64, holds func() bool) {
	t := &term{Sender: s, number: number, holds: holds, freed: make(chan struct{}, 1), spreads: together, apart: map[int]*apart{}, busy: map[int]inFlight{}}
	defer t.all.Wait()
	wake, cancel := s.bus.Subscribe(webhook.Topic)
	defer cancel()
	look := time.NewTimer(lookEvery)
	defer look.Stop()
	t.recount(ctx)
	for t.pass(ctx); ; {
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-t.freed:
		case <-look.C:
			if pause := t.pause(ctx); pause > 0 {
				look.Reset(pause)
				continue
			}
		}
		look.Reset(lookEvery)
		t.pass(ctx)
	}
}

// pause is how long nothing will be due, unless somebody wakes the sender: up to lookRarely. 0: something may be due.
func (t *term) pause(ctx context.Context) time.Duration {
	in, waits, err := webhook.NextDelivery(ctx, t.db)
	switch {
	case err != nil || waits && in == 0:
		return 0
	case !waits:
		return lookRarely
	}
	return min(in, lookRarely)
}

// recount corrects the numbers of waiting events, which nothing but a fault of the master could have made wrong.
func (t *term) recount(ctx context.Context) {
	if err := t.db.Fenced(ctx, t.number, func(tx *database.DB) error { return webhook.RecountWaiting(ctx, tx) }); err != nil && ctx.Err() == nil {
		t.log.Warn("could not count the waiting events of webhooks", "term", t.number, "error", err)
	}
}

// pass spreads events, and starts as many requests as there is room for.
func (t *term) pass(ctx context.Context) {
	t.spread(ctx)
	t.spreadApart(ctx)
	for _, again := range []bool{false, true} {
		room, busy := t.room(again)
		if room <= 0 || ctx.Err() != nil || !t.holds() {
			continue
		}
		list, err := webhook.DueDeliveries(ctx, t.db, again, busy, room)
		if err != nil {
			if ctx.Err() == nil && !fault.Is(err, fault.Unavailable) {
				t.log.Error("could not read the deliveries of webhooks", "term", t.number, "error", err)
			}
			return
		}
		for _, d := range list {
			t.start(ctx, d, again)
		}
	}
}

func (t *term) room(again bool) (room int, busy webhook.Busy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	failing := 0
	busy = webhook.Busy{Owners: map[int]int{}, MaxOfOwner: maxOfOwner}
	for id, f := range t.busy {
		busy.Webhooks = append(busy.Webhooks, id)
		busy.Owners[f.owner]++
		if f.again {
			failing++
		}
	}
	slices.Sort(busy.Webhooks)
	room = workers - len(t.busy)
	if again {
		room = min(room, maxAgain-failing)
	}
	return room, busy
}

func (t *term) start(ctx context.Context, d webhook.DueDelivery, again bool) {
	t.mu.Lock()
	t.busy[d.WebhookID] = inFlight{again, d.OwnerID}
	t.mu.Unlock()
	t.all.Go(func() {
		defer func() {
			t.mu.Lock()
			delete(t.busy, d.WebhookID)
			t.mu.Unlock()
			t.wake()
		}()
		t.deliver(ctx, d.Delivery)
	})
}

// deliver sends a delivery and stores the result. If it cannot store the result, the event
// is sent again, with the same id.
func (t *term) deliver(ctx context.Context, d webhook.Delivery) {
	o := t.safely(ctx, d)
	if ctx.Err() != nil && o.err != nil { // the end of the term interrupted the request
		return
	}
	r := o.result(d)
	if r.State == "FAILED" {
		t.log.Warn("an event could not be delivered to a webhook", "term", t.number, "webhook_id", d.WebhookID, "delivery_id", d.ID, "tries", d.Tries+1, "error", r.Error)
	}
	store, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	if err := t.record(store, r); err != nil && ctx.Err() == nil {
		t.log.Warn("could not store the result of a delivery; the event will be sent again", "term", t.number, "webhook_id", d.WebhookID, "delivery_id", d.ID, "error", err)
		select { // not at once: the database may be away
		case <-ctx.Done():
		case <-time.After(minDelay):
		}
	}
}

func (t *term) record(ctx context.Context, r webhook.DeliveryResult) error {
	return t.db.Fenced(ctx, t.number, func(tx *database.DB) error { return webhook.RecordDelivery(ctx, tx, r) })
}

// safely turns a panic into an outcome.
func (t *term) safely(ctx context.Context, d webhook.Delivery) (o outcome) {
	defer func() {
		if r := recover(); r != nil {
			t.log.Error("a delivery panicked", "delivery_id", d.ID, "error", r, "stack", string(debug.Stack()))
			o = outcome{err: errors.New(fmt.Sprint("the master failed to make the request: ", r))}
		}
	}()
	return t.send(ctx, d)
}
