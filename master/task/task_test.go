package task

import (
	"testing"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
)

// completed is an experiment's configuration as a row has it.
func completed(t *testing.T, more string) []byte {
	t.Helper()
	raw, _, err := expconf.Parse("test", []byte("name: x\nentrypoint: [a]\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\n"+more))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := cfg.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func stored(t *testing.T, storage string) []byte { return completed(t, "checkpoint_storage: "+storage) }

const anyCommand = `{"description":"d","entrypoint":["true"],"resources":{"slots":0},"environment":{}}`

// read is the attempt of a row, to which it adds a configuration if the row has none.
func read(t *testing.T, row Row) Attempt {
	t.Helper()
	if row.Config == nil {
		row.Config = completed(t, "")
	}
	if row.TaskConfig == nil {
		row.TaskConfig = []byte(anyCommand)
	}
	a, err := Read(row)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// site is one with a Vault.
func site() Site {
	return Site{ClusterID: "6f3f0a4e-5f8e-4c5b-9d1e-2f7a3c1b0d9e", PublicURL: "http://m", TaskURLs: []string{"http://m:1"},
		Runner: Runner{SHA256: "aa", ArchiveSHA: "bb", Target: "linux-amd64"}, Capabilities: expconf.Everything(),
		SignIn: SignIn{Vault: Vault{Role: "det-task", Engine: "aws"}, Region: "eu"}}
}

func processes() *pool.Pool { return &pool.Pool{Name: "a", Driver: pool.RawExec} }
func images() *pool.Pool    { return &pool.Pool{Name: "a", Driver: pool.Docker} }

// TestMastersForRegions: the service of the masters is in the catalogue of their own region of Nomad, so tasks elsewhere get
// addresses only.
func TestMastersForRegions(t *testing.T) {
	s := site()
	s.ServiceName = "det-master"
	for region, want := range map[string]string{"": "det-master", "west": ""} {
		if got := s.masters(&pool.Pool{Region: region}); got.Service != want || len(got.URLs) != len(s.TaskURLs) {
			t.Errorf("in region %q: %+v", region, got)
		}
	}
}
