package local

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/nomad/servers"
)

// The job files of ingresses parse in each variant, and their templates contain what the variant
// is about.
func TestJobFilesOfIngresses(t *testing.T) {
	nomad, err := servers.Ensure(t.Context(), "nomad", testReport(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file string
		vars []string
		want []string // in templates
		not  []string
	}{
		"Traefik": {"traefik", []string{"domain=tasks.example.com", "host=det.example.com"},
			[]string{"consulCatalog:", "HostRegexp(`^[a-z0-9-]+\\.tasks\\.example\\.com$`)", "Host(`det.example.com`)", "websecure:", `address: ":443"`, "certFile:", "insecureSkipVerify: true"}, []string{"nomad:\n"}},
		"Traefik without TLS and Consul": {"traefik", []string{"domain=d", "tls=false", "catalogue=nomad", "driver=raw_exec", "binary=/opt/traefik", "port=8000", `masters=["http://a:1","http://b:2"]`},
			[]string{"web:", `address: ":8000"`, "nomad:", `- url: "http://a:1"`, `- url: "http://b:2"`}, []string{"consulCatalog", "certFile", "tls:", "websecure", "det-masters:\n      rule"}},
		"Fabio":             {"fabio", nil, []string{"proxy.addr = :443;cs=det", "type=file", "glob.matching.disabled = false"}, nil},
		"Fabio without TLS": {"fabio", []string{"tls=false", "port=80", "driver=raw_exec"}, []string{"proxy.addr = :80\n"}, []string{"proxy.cs"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"job", "run", "-output"}
			for _, v := range c.vars {
				args = append(args, "-var="+v)
			}
			out, err := run(t.Context(), nomad.Path, append(args, filepath.Join("..", "ingress", c.file+".nomad.hcl"))...)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var rendered struct{ Job api.Job }
			if err := json.Unmarshal([]byte(out), &rendered); err != nil {
				t.Fatal(err)
			}
			text := ""
			for _, tmpl := range rendered.Job.TaskGroups[0].Tasks[0].Templates {
				text += *tmpl.EmbeddedTmpl
			}
			for _, want := range c.want {
				if !strings.Contains(text, want) {
					t.Errorf("there is no %q in:\n%s", want, text)
				}
			}
			for _, not := range c.not {
				if strings.Contains(text, not) {
					t.Errorf("there is %q in:\n%s", not, text)
				}
			}
		})
	}
}
