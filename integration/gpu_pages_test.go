package integration

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/plugins/gpu/simulated"
)

// onNomadsPages: who looks at Nomad in a browser reads on the page of the node which
// GPU is out of use and why, and on that of the job whose it is and where to read on.
func (g *gpuNode) onNomadsPages(t *testing.T) {
	node, chromium := uiTools(t)
	id := g.train(t, "digits", 1)
	held := g.sees(t, id)[0]
	sick := slices.IndexFunc(g.state.GPUs, func(x simulated.GPU) bool { return x.ID != held })
	g.write(t, func(all []simulated.GPU) { all[sick].Uncorrected = 2 })
	words := "1 of 4 GPUs is out of use: " + g.id(sick) + " (" + simulated.Model + "): 2 memory errors beyond repair since the last reset"
	g.bulletin(t, false, words)
	c, err := g.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	stubs, _, err := c.Nodes().List(nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(stubs, func(n *api.NodeListStub) bool { return n.Name == g.name && n.Status == api.NodeStatusReady })
	if i < 0 {
		t.Fatalf("no node %s", g.name)
	}
	job := jobspecs.JobID(*g.trial(t, id).TaskID + ".1")
	pages, err := json.Marshal([]map[string]any{
		{"name": "client", "path": "/ui/clients/" + stubs[i].ID, "top": "Client Events", "says": []string{words, "1 of 4 drivers unhealthy"}, "open": "details", "shows": words},
		{"name": "job", "path": "/ui/jobs/" + job, "says": []string{"Owner: determined", "Trial " + itoa(g.trial(t, id).ID), "det_experiment"}},
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
	cmd.Dir = filepath.Join(g.root, "webui")
	cmd.Env = append(os.Environ(), "CHROMIUM="+chromium, "NOMAD="+g.NomadURL, "TOKEN="+g.NomadToken, "PAGES="+string(pages), "SHOTS="+shots)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("Nomad's pages: %v\n%s", err, out)
	}
	g.write(t, func([]simulated.GPU) {})
	g.offers(t, 4)
	g.end(t, "digits")
	g.waitState(t, id, "STATE_COMPLETED")
}
