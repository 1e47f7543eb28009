// Package wandb reads the files in which W&B stores a run that it has not sent (wandb/offline-run-*/run-*.wandb): a log with checksums
// (records.go), whose records are messages of protocol buffers (run.go). It is pure, and needs nothing of W&B's. A damaged file costs no more
// than its size, and what stands before the damage is read.
package wandb

import (
	"encoding/json"
	"io"
	"math"
	"strings"
	"time"

	"github.com/detent-ml/detent/cli/internal/wire"
)

// A Run is what a file says of its run.
type Run struct {
	ID, Entity, Project, Group, JobType, Name, Notes, Host string
	Tags                                                   []string
	Config                                                 map[string]any // as JSON decodes it
	Summary                                                map[string]any
	ExitCode                                               *int64 // nil: the run has not ended
}

// A Row has the numbers that a program logged together.
type Row struct {
	Step   int64
	Time   time.Time
	Values map[string]float64
}

// Read reads a file, and gives each row to rows, with the place of its record. It returns the run and the place after the last record, also
// with an error.
func Read(in io.Reader, rows func(at int64, r Row) error) (run Run, end int64, err error) {
	f := &file{rows: rows, run: Run{Config: map[string]any{}, Summary: map[string]any{}}}
	end, err = eachRecord(in, f.record)
	return f.run, end, err
}

type file struct {
	run  Run
	rows func(at int64, r Row) error
}

// The fields of Record that are read, by their numbers.
const (
	recordHistory, recordSummary, recordConfig, recordRun, recordExit = 2, 3, 5, 17, 18
)

func (f *file) record(at int64, message []byte) error {
	return wire.Each(message, func(x wire.Field) error {
		switch x.Number {
		case recordHistory:
			return f.history(at, x.Text)
		case recordSummary:
			return update(f.run.Summary, x.Text)
		case recordConfig:
			return update(f.run.Config, x.Text)
		case recordRun:
			return f.about(x.Text)
		case recordExit:
			code := int64(0)
			err := wire.Each(x.Text, func(y wire.Field) error {
				if y.Number == 1 {
					code = int64(int32(y.Int()))
				}
				return nil
			})
			f.run.ExitCode = &code
			return err
		}
		return nil
	})
}

func (f *file) about(message []byte) error {
	tags := f.run.Tags[:0]
	texts := map[int]*string{1: &f.run.ID, 2: &f.run.Entity, 3: &f.run.Project, 6: &f.run.Group, 7: &f.run.JobType, 8: &f.run.Name, 9: &f.run.Notes, 13: &f.run.Host}
	const config, summary, tag, maxTags = 4, 5, 10, 1000
	err := wire.Each(message, func(x wire.Field) error {
		switch x.Number {
		case config:
			return update(f.run.Config, x.Text)
		case summary:
			return update(f.run.Summary, x.Text)
		case tag:
			if len(tags) < maxTags {
				tags = append(tags, string(x.Text))
			}
		default:
			if to := texts[x.Number]; to != nil {
				*to = string(x.Text)
			}
		}
		return nil
	})
	f.run.Tags = tags
	return err
}

// history reads a row, in which a step is a number in a message of its own, and a value of the row too.
func (f *file) history(at int64, message []byte) error {
	const item, step, num = 1, 2, 1
	row := Row{Values: map[string]float64{}}
	err := wire.Each(message, func(x wire.Field) error {
		switch x.Number {
		case step:
			return wire.Each(x.Text, func(y wire.Field) error {
				if y.Number == num {
					row.Step = y.Int()
				}
				return nil
			})
		case item:
			i, err := itemOf(x.Text)
			if err == nil {
				row.add(i.name(), i.value, 0)
			}
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	if at, ok := row.Values["_timestamp"]; ok && at > 0 && at < 1<<34 {
		seconds, part := math.Modf(at)
		row.Time = time.Unix(int64(seconds), int64(part*1e9)).UTC()
	}
	if step, ok := row.Values["_step"]; ok && step >= 0 && step < 1<<53 {
		row.Step = int64(step)
	}
	for name := range row.Values {
		if strings.HasPrefix(name, "_") {
			delete(row.Values, name)
		}
	}
	return f.rows(at, row)
}

// maxDepth bounds how deep objects in a row are looked into.
const maxDepth = 4

// add puts the numbers of a value into the row: objects give several, under names with dots. Texts, lists and media have no curve.
func (r Row) add(name string, value any, depth int) {
	switch v := value.(type) {
	case float64:
		r.Values[name] = v
	case bool:
		r.Values[name] = map[bool]float64{true: 1}[v]
	case map[string]any:
		if _, media := v["_type"]; media || depth == maxDepth {
			return
		}
		for key, below := range v {
			r.add(name+"."+key, below, depth+1)
		}
	}
}

// update changes values by a message with those that were set and those that were removed.
func update(values map[string]any, message []byte) error {
	const set, removed, maxKeys = 1, 2, 50_000
	return wire.Each(message, func(x wire.Field) error {
		if x.Number != set && x.Number != removed {
			return nil
		}
		i, err := itemOf(x.Text)
		if err != nil || len(i.path) == 0 || i.path[0] == "_wandb" {
			return err
		}
		if x.Number == removed {
			place(values, i.path, nil, true)
		} else if len(values) < maxKeys {
			place(values, i.path, i.value, false)
		}
		return nil
	})
}

// place sets or removes a value at a path, and makes the objects above it.
func place(values map[string]any, path []string, value any, remove bool) {
	for ; len(path) > 1; path = path[1:] {
		below, ok := values[path[0]].(map[string]any)
		if !ok {
			if remove {
				return
			}
			below = map[string]any{}
			values[path[0]] = below
		}
		values = below
	}
	if remove {
		delete(values, path[0])
		return
	}
	values[path[0]] = value
}

// item is a name with a value.
type item struct {
	path  []string
	value any
}

func (i item) name() string { return strings.Join(i.path, ".") }

// itemOf reads an item: its value is JSON, and in newer releases a number, a text or a truth value.
func itemOf(message []byte) (i item, err error) {
	const key, nested, none, truth, whole, number, text, tree, asJSON = 1, 2, 3, 4, 5, 6, 7, 8, 16
	err = wire.Each(message, func(x wire.Field) error {
		switch x.Number {
		case key:
			i.path = []string{string(x.Text)}
		case nested:
			if len(i.path) < 64 {
				i.path = append(i.path, string(x.Text))
			}
		case truth:
			i.value = x.True()
		case whole: // zigzag
			i.value = float64(int64(x.Bits>>1) ^ -int64(x.Bits&1))
		case number:
			i.value = x.Float()
		case text:
			i.value = string(x.Text)
		case tree, asJSON:
			i.value = decode(x.Text)
		}
		return nil
	})
	return i, err
}

// decode decodes JSON with the numbers that Python writes and JSON does not have. What is no JSON is nil.
func decode(text []byte) (v any) {
	switch string(text) {
	case "NaN":
		return math.NaN()
	case "Infinity":
		return math.Inf(1)
	case "-Infinity":
		return math.Inf(-1)
	}
	if json.Unmarshal(text, &v) != nil {
		return nil
	}
	return v
}
