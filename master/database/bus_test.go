package database

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

func TestBusWakesHereAndElsewhere(t *testing.T) {
	dsn := pgtest.Empty(t)
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	here, there := NewBus(dsn, slog.New(slog.DiscardHandler)), NewBus(dsn, slog.New(slog.DiscardHandler))
	for _, b := range []*Bus{here, there} {
		wg.Go(func() { b.Run(ctx) })
	}
	a, cancelA := here.Subscribe("x")
	defer cancelA()
	b, cancelB := there.Subscribe("x")
	defer cancelB()
	other, cancelOther := there.Subscribe("y")
	defer cancelOther()
	<-b // a new connection wakes all subscribers once
	<-other
	<-a
	here.Publish("x")
	for _, ch := range []<-chan struct{}{a, b} {
		select {
		case <-ch:
		case <-time.After(10 * time.Second):
			t.Fatal("no wake-up arrived")
		}
	}
	select {
	case <-other:
		t.Error("another topic woke")
	default:
	}
}
