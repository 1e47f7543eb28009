//go:build linux

package attempt

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/detent-ml/detent/plugins/runner/regular"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
)

// torchrun passes a signal that ends it on to its workers, waits for them, and exits with code 1, as it does for each failure. The
// file that PyTorch's variable names says by which error it ended.
const (
	torchrunVariable = "TORCHELASTIC_ERROR_FILE"
	torchrunFile     = "torchrun.json" // below the run directory
)

var torchrunSignalled = regexp.MustCompile(`^SignalException: Process \d+ got signal: (\d+)$`)

// noteTorchrun lets a torchrun of the program note by which error it ends, unless the task wants the note elsewhere.
func noteTorchrun(l layout, env map[string]string) {
	if env[torchrunVariable] == "" {
		env[torchrunVariable] = l.inRun(torchrunFile)
	}
}

// ofTorchrun returns the end of the program. If it is a torchrun that ended by a signal, this is the end of a program that did.
func (l layout) ofTorchrun(exit sandbox.Exit) sandbox.Exit {
	if exit.Signal != 0 || exit.Code != 1 {
		return exit
	}
	var content []byte
	err := l.account.Do(func() (err error) {
		content, err = regular.Read(filepath.Join(l.physical, torchrunFile))
		return err
	})
	var note struct {
		Message struct {
			Message string `json:"message"`
		} `json:"message"`
	}
	if err != nil || json.Unmarshal(content, &note) != nil {
		return exit // no torchrun, or another error
	}
	if m := torchrunSignalled.FindStringSubmatch(note.Message.Message); m != nil {
		exit.Signal, _ = strconv.Atoi(m[1]) // 0 if it is no number of a signal
	}
	return exit
}
