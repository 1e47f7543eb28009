//go:build linux

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

// TestDetInTasks: det is on the PATH of a program, is fetched from the master at its first use, and
// must have the right checksum.
func TestDetInTasks(t *testing.T) {
	const program = "#!/bin/sh\necho \"det $1 at $DET_MASTER with $DET_USER_TOKEN\"\n"
	sum := sha256.Sum256([]byte(program))
	path := "/cli/" + hex.EncodeToString(sum[:]) + "/linux-amd64"
	for name, content := range map[string]string{"as it is": program, "another": program + "#"} {
		t.Run(name, func(t *testing.T) {
			spec := sh("det first; det second; echo $DET_MASTER; echo done")
			spec.Env["DET_CLI_URL"] = path
			r := newRig(t, spec)
			r.state.ServeAnybody(path, []byte(content))
			r.run(0)
			got := r.printed()
			if name == "another" {
				if !strings.Contains(strings.Join(got, "\n"), "its checksum is") || strings.Contains(strings.Join(got, "\n"), "det first at") {
					t.Errorf("printed %q", got)
				}
				return
			}
			if len(got) != 4 || got[0] != "det first at "+got[2]+" with det.user" || !strings.HasPrefix(got[1], "det second") {
				t.Errorf("printed %q", got)
			}
		})
	}
}
