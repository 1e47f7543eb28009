package server

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/about"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/schema"

	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// settled is a master that follows the settings in a database, and its log.
func settled(t *testing.T, dsn, level string) (m *master, wrote *lockedBuffer) {
	t.Helper()
	db, err := database.Open(t.Context(), dsn, database.Options{MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	shape := newLogShape(level)
	if shape.since, err = db.Now(t.Context()); err != nil {
		t.Fatal(err)
	}
	wrote = &lockedBuffer{}
	log := slog.New(shape.handler(wrote))
	m = &master{log: log, shape: shape, db: db, bus: database.NewBus(dsn, slog.New(slog.DiscardHandler))}
	ctx, stop := context.WithCancel(t.Context())
	var parts sync.WaitGroup
	parts.Go(func() { m.bus.Run(ctx) })
	parts.Go(func() { m.followSettings(ctx) })
	t.Cleanup(func() { stop(); parts.Wait() })
	return m, wrote
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (m *master) waitFor(t *testing.T, level string, color bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; <-time.After(20 * time.Millisecond) {
		got := m.shape.shown()
		if got["level"] == level && got["color"] == color {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the log has the shape %v, want %s and colour %t", got, level, color)
		}
	}
}

// TestSettingsOfAllMasters: all running masters apply a setting of an administrator, and a master that
// starts afterwards uses its configuration.
func TestSettingsOfAllMasters(t *testing.T) {
	dsn := pgtest.New(t, schema.Hash(), schema.Migrate)
	first, wrote := settled(t, dsn, "info")
	second, _ := settled(t, dsn, "warning")
	set := func(names, values []string) {
		t.Helper()
		if err := about.ChangeSettings(t.Context(), first.db, 1, names, values); err != nil {
			t.Fatal(err)
		}
		first.bus.Publish(about.TopicSettings)
	}
	first.log.Debug("before")
	set([]string{about.SettingLogLevel}, []string{"debug"})
	first.waitFor(t, "debug", false)
	second.waitFor(t, "debug", false)
	first.log.Debug("after", "value", "\x1b[31m")
	if got := wrote.String(); strings.Contains(got, "before") || !strings.Contains(got, `level=DEBUG msg=after value="\x1b[31m"`) {
		t.Errorf("the log has %q", got)
	}

	third, _ := settled(t, dsn, "error")
	set([]string{about.SettingLogColor}, []string{"true"})
	first.waitFor(t, "debug", true)
	second.waitFor(t, "debug", true)
	third.waitFor(t, "error", true)
	first.log.Error("red", "about", " level=INFO ")
	if got := wrote.String(); !strings.Contains(got, " level=\x1b[31mERROR\x1b[0m msg=red about=\" level=INFO \"") {
		t.Errorf("the log has %q", got)
	}

	set([]string{about.SettingLogColor, about.SettingLogLevel}, []string{"false", "critical"})
	for _, m := range []*master{first, second, third} {
		m.waitFor(t, "critical", false)
	}
	first.log.Error("nobody reads this")
	if strings.Contains(wrote.String(), "nobody") {
		t.Error("with the level critical an error is logged")
	}
}
