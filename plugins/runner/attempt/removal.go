//go:build linux

package attempt

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	v1 "github.com/detent-ml/detent/master/v1"
)

// What tasks that remove files need: their program in the task's folder, where det-runner may
// always execute programs, and in the run directory the list of files. The program removes the
// list, which may contain a key.
const (
	removerFile = "det-remover"
	collectFile = "collect.json"
)

// fetchRemover fetches the program of a task that removes files.
func (r *run) fetchRemover() error {
	if r.spec.Collect == nil {
		return nil
	}
	target := runtime.GOOS + "-" + runtime.GOARCH
	sum := r.spec.Collect.Programs[target]
	if sum == "" {
		return fmt.Errorf("the master has no det-remover for %s: put det-remover-%[1]s into the folder of its det-runner", target)
	}
	file := r.p.local(removerFile)
	err := download(r.stop.ctx, r.masters, r.token, v1.DownloadRemover.At(sum, target), file)
	if err == nil {
		err = checkSum(file, sum)
	}
	if err == nil {
		err = os.Chmod(file, 0o755)
	}
	if err != nil {
		return fmt.Errorf("cannot fetch det-remover: %w", err)
	}
	return nil
}

// checkSum compares the SHA-256 of a file.
func checkSum(file, want string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("its checksum is %s, expected %s", got, want)
	}
	return nil
}

// ownProgram is the program of a task without a user's program: the SSH server of a shell, the
// remover of files. It is nil for all other tasks.
func (r *run) ownProgram(t *task) ([]string, error) {
	if r.spec.Collect == nil {
		return r.shellServer(t)
	}
	text, err := json.Marshal(r.spec.Collect)
	if err != nil {
		return nil, err
	}
	write := func() error { return os.WriteFile(filepath.Join(t.layout.physical, collectFile), text, 0o600) }
	if err := t.layout.account.Do(write); err != nil {
		return nil, fmt.Errorf("cannot write the list of files to remove: %w", err)
	}
	argv := []string{r.p.local(removerFile), t.layout.inRun(collectFile)}
	if t.layout.mountsOnly() {
		argv[0] = t.layout.inRun(removerFile)
	}
	if sign := r.spec.Credentials; sign != nil {
		switch {
		case sign.GCS:
			argv = append(argv, filepath.Join(t.layout.secrets, gcsKeysFile))
		case sign.Azure:
			argv = append(argv, filepath.Join(t.layout.secrets, azureKeysFile))
		case sign.By == v1.SignInByVault:
			argv = append(argv, filepath.Join(t.layout.secrets, s3KeysFile))
		}
	}
	return argv, nil
}
