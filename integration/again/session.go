package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// sessionVar names the folder of the run to the programs of its parts. It does not begin with DETENT_: a master that a test starts rejects such
// variables if it does not know them.
const sessionVar = "AGAIN_SESSION"

// maxOutput is how much of the output of one failure is kept: its end.
const maxOutput = 4 << 20

// A failure is a test that failed, with all that a repeat needs.
type failure struct {
	Runner  string    `json:"runner"`  // go, pytest or vitest
	Package string    `json:"package"` // the import path, or the folder in the checkout
	Test    string    `json:"test"`    // "": the whole package
	Tests   []string  `json:"tests"`   // of pytest: all that one call repeats
	Why     string    `json:"why"`     // of a whole package: why it has no results
	Dir     string    `json:"dir"`     // where the command runs
	Command []string  `json:"command"` // repeats it
	Env     []string  `json:"env"`     // in addition to the caller's
	Time    time.Time `json:"time"`
	Output  string    `json:"output"` // the file with the output of the failure
}

func (f failure) name() string {
	if f.Test == "" {
		return f.Package + " (the whole package: " + f.Why + ")"
	}
	return f.Package + " " + f.Test
}

// same reports whether two failures are of the same test.
func (f failure) same(other failure) bool {
	return f.Runner == other.Runner && f.Package == other.Package && f.Test == other.Test && slices.Equal(f.Command, other.Command)
}

// A session is the folder with the records of one run.
type session struct{ dir string }

// joined returns the session of the run that this program is part of.
func joined() (session, bool) {
	dir := os.Getenv(sessionVar)
	return session{dir}, dir != ""
}

// record writes a failure and its output into the session. The parts of a run write at the same time, so
// each record has a file of its own.
func (s session) record(f failure, output []byte) error {
	out, err := os.CreateTemp(s.dir, fileName(f)+"-*.log")
	if err != nil {
		return fmt.Errorf("cannot keep the failure of %s: %w", f.name(), err)
	}
	_, err = out.Write(lastOf(output, maxOutput))
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("cannot keep the failure of %s: %w", f.name(), err)
	}
	f.Output, f.Time = out.Name(), time.Now()
	return f.write()
}

// write stores the record beside its output.
func (f failure) write() error {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(f.recordFile(), text, 0o600)
}

func (f failure) recordFile() string { return strings.TrimSuffix(f.Output, ".log") + ".json" }

// forget removes a record and its output.
func (f failure) forget() {
	_ = os.Remove(f.recordFile())
	_ = os.Remove(f.Output)
}

// failures reads the records, the oldest first.
func (s session) failures() ([]failure, error) {
	files, err := filepath.Glob(filepath.Join(s.dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []failure
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var f failure
		if err := json.Unmarshal(text, &f); err != nil {
			return nil, fmt.Errorf("%s is no record of a failed test: %w; remove it", file, err)
		}
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b failure) int { return a.Time.Compare(b.Time) })
	return all, nil
}

var unfit = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// fileName makes a file's name from the name of a test.
func fileName(f failure) string {
	name := unfit.ReplaceAllString(strings.Trim(filepath.Base(f.Package)+"-"+f.Test, "-"), "_")
	return name[:min(len(name), 100)]
}

// lastOf returns the last n bytes.
func lastOf(b []byte, n int) []byte { return b[max(0, len(b)-n):] }

// A tail is a writer that keeps the end of what was written.
type tail struct{ kept []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.kept = append(t.kept, b...)
	if len(t.kept) > 2*maxOutput {
		t.kept = slices.Clone(lastOf(t.kept, maxOutput))
	}
	return len(b), nil
}

// Outputs are where a runner prints.
type outputs struct{ out, err io.Writer }
