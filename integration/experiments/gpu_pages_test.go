package experiments

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/jobspecs"
)

// onNomadsPages tests that the page of a job in Nomad's UI names the job's owner and links to the
// master's pages.
func (g *gpuNode) onNomadsPages(t *testing.T) {
	node, chromium := rig.BrowserTools(t)
	id := g.train(t, "digits", 1)
	job := jobspecs.JobID(g.Trial(t, id).TaskID + ".1")
	pages, err := json.Marshal([]map[string]any{
		{"name": "job", "path": "/ui/jobs/" + job, "says": []string{"Owner: determined", "Trial " + strconv.Itoa(g.Trial(t, id).ID), "det_experiment"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	shots := os.Getenv("DETENT_NOMAD_SHOTS")
	if shots == "" {
		shots = t.TempDir()
	}
	script, err := filepath.Abs(filepath.Join("testdata", "nomad", "pages.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), node, script)
	cmd.Dir = filepath.Join(g.Root, "webui")
	cmd.Env = append(os.Environ(), "CHROMIUM="+chromium, "NOMAD="+g.NomadURL, "TOKEN="+g.NomadToken, "PAGES="+string(pages), "SHOTS="+shots)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("Nomad's pages: %v\n%s", err, out)
	}
	g.end(t, "digits")
	g.WaitState(t, id, "STATE_COMPLETED")
}
