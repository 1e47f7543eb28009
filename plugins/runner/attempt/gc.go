//go:build linux

package attempt

import (
	"path/filepath"

	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/gc"
)

// collectFile says to the program what to remove; it takes the file away.
const collectFile = "collect.json"

// ownProgram is the program of a task for which this executable has one: the SSH
// server of a shell, the removal of files. It is nil for all others.
func (r *run) ownProgram(t *task) ([]string, error) {
	if r.spec.Collect == nil {
		return r.shellServer(t)
	}
	c := gc.Config{TaskID: r.spec.TaskID, Collect: *r.spec.Collect}
	if sign := r.spec.Credentials; sign != nil && sign.By == v1.SignInByVault {
		c.KeysFile = filepath.Join(r.p.SecretsDir, s3KeysFile)
	}
	if err := c.Write(filepath.Join(t.layout.physical, collectFile)); err != nil {
		return nil, err
	}
	return []string{r.self, gc.Verb, t.layout.inRun(collectFile)}, nil
}
