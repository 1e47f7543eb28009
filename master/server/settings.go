package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/detent-ml/detent/master/about"
	"github.com/detent-ml/detent/master/sleep"
)

// settingsInterval is how often a master reads the settings without a wake-up.
const settingsInterval = 30 * time.Second

// logShape is how this master writes its log. The configuration sets it when the master starts;
// afterwards administrators may change it for all masters (det master config set).
type logShape struct {
	since time.Time // the database's time of this master's start
	level slog.LevelVar
	color atomic.Bool

	mu   sync.Mutex
	name string // of the level
}

func newLogShape(level string) *logShape {
	s := &logShape{}
	s.setLevel(level)
	return s
}

// newLog is the log of a master that starts.
func (c *Config) newLog(to io.Writer) (*logShape, *slog.Logger) {
	s := newLogShape(c.LogLevel)
	return s, slog.New(s.handler(to))
}

// levels are the levels of the log by their names. Nothing is logged as critical, so that a master
// with this level logs nothing.
var levels = map[string]slog.Level{"trace": slog.LevelDebug, "debug": slog.LevelDebug, "info": slog.LevelInfo,
	"warning": slog.LevelWarn, "error": slog.LevelError, "critical": slog.LevelError + 4}

func (s *logShape) setLevel(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name = name
	s.level.Set(levels[name])
}

// apply applies settings that are newer than this master's start, and reports whether one changed
// anything.
func (s *logShape) apply(settings []about.Setting) (changed bool) {
	for _, set := range settings {
		switch _, known := levels[set.Value]; {
		case set.Name == about.SettingLogLevel && known:
			if set.Value != s.shown()["level"] {
				s.setLevel(set.Value)
				changed = true
			}
		case set.Name == about.SettingLogColor:
			on := set.Value == "true"
			changed = s.color.Swap(on) != on || changed
		}
	}
	return changed
}

func (s *logShape) shown() map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]any{"level": s.name, "color": s.color.Load()}
}

func (s *logShape) handler(out io.Writer) slog.Handler {
	return slog.NewTextHandler(colored{out, &s.color}, &slog.HandlerOptions{Level: &s.level})
}

// colored writes each line with the color of its level on terminals, if colors are on. slog writes a
// line in one call, and quotes escape sequences in values, so that no value can colour a line.
type colored struct {
	out io.Writer
	on  *atomic.Bool
}

var colors = []struct{ level, painted []byte }{
	{[]byte(" level=ERROR "), []byte(" level=\x1b[31mERROR\x1b[0m ")},
	{[]byte(" level=WARN "), []byte(" level=\x1b[33mWARN\x1b[0m ")},
	{[]byte(" level=INFO "), []byte(" level=\x1b[36mINFO\x1b[0m ")},
	{[]byte(" level=DEBUG "), []byte(" level=\x1b[90mDEBUG\x1b[0m ")},
}

// Write implements io.Writer.
func (c colored) Write(line []byte) (int, error) {
	if !c.on.Load() {
		return c.out.Write(line)
	}
	painted := line
	if at := bytes.IndexByte(line, ' '); at > 0 { // after the time
		for _, col := range colors {
			if rest, found := bytes.CutPrefix(line[at:], col.level); found {
				painted = bytes.Join([][]byte{line[:at], col.painted, rest}, nil)
				break
			}
		}
	}
	if _, err := c.out.Write(painted); err != nil {
		return 0, err
	}
	return len(line), nil
}

// applySettings applies settings that administrators changed since this master started.
func (m *master) applySettings(ctx context.Context) {
	settings, err := about.SettingsSince(ctx, m.db, m.shape.since)
	if err != nil {
		if ctx.Err() == nil {
			m.log.Warn("could not read the settings of administrators; trying again", "error", err)
		}
		return
	}
	if m.shape.apply(settings) {
		now := m.shape.shown()
		m.log.Info("an administrator changed the level or the colors of this log", "level", now["level"], "color", now["color"])
	}
}

// followSettings applies settings until ctx ends.
func (m *master) followSettings(ctx context.Context) {
	wake, stop := m.bus.Subscribe(about.TopicSettings)
	defer stop()
	for ctx.Err() == nil {
		m.applySettings(ctx)
		sleep.UntilWoken(ctx, wake, settingsInterval)
	}
}
