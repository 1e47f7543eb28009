package expconf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
)

// TestNomadMounts: volumes and folders of environment.nomad are those of the pool.
func TestNomadMounts(t *testing.T) {
	reserved := func(target string) string {
		if strings.HasPrefix(target, "/alloc") {
			return "/alloc"
		}
		return ""
	}
	images := expconf.Capabilities{NomadOverlay: true, BindMounts: true, Volumes: []string{"datasets", "scratch"}, Limits: &expconf.ContainerLimits{HostPaths: []string{"/data/*"}, Reserved: reserved}}
	bare := expconf.Capabilities{NomadOverlay: true, BindMounts: true}
	chroot := expconf.Capabilities{NomadOverlay: true, Volumes: []string{"datasets"}}
	for _, c := range []struct {
		nomad string
		can   expconf.Capabilities
		want  string
	}{
		{"volumes: [{name: datasets, container_path: /d}], host_paths: [{host_path: /data/x, container_path: /x}]", images, ""},
		{"volumes: [{name: gone, container_path: /d}]", images, "environment.nomad.volumes[0].name: gone is not a volume of this resource pool"},
		{"volumes: [{name: gone, container_path: /d}]", bare, "this pool has none"},
		{"volumes: [{name: datasets, container_path: /alloc/x}]", images, "would hide /alloc"},
		{"volumes: [{name: datasets, container_path: /b/}]", images, "/b/ is already used by bind_mounts"},
		{"host_paths: [{host_path: /etc, container_path: /x}]", images, "environment.nomad.host_paths[0].host_path: /etc is not allowed"},
		{"host_paths: [{host_path: /data/../etc, container_path: /x}]", images, "is not allowed"},
		{"host_paths: [{host_path: /data/x, container_path: /b}]", images, "already used by bind_mounts"},
		{"host_paths: [{host_path: /etc, container_path: /x}]", bare, ""},
		{"host_paths: [{host_path: /etc, container_path: /x}]", chroot, "environment.nomad.host_paths[0]: is not available in this resource pool"},
		{"volumes: [{name: datasets, container_path: /d}]", chroot, ""},
		{"constraints: [{attribute: '${meta.x}', value: y}]", chroot, ""},
	} {
		text := "bind_mounts: [{host_path: /data/b, container_path: /b}]\nenvironment: {nomad: {" + c.nomad + "}}"
		raw, _, err := expconf.ParseCommand("x.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := expconf.CompleteCommand(raw, expconf.CommandDefaults{Description: "d"})
		if err != nil {
			t.Fatal(err)
		}
		if c.can.Limits == nil && !c.can.BindMounts {
			cfg.BindMounts = nil
		}
		err = cfg.Refused(c.can)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.nomad, err, c.want)
		}
		if mounts := cfg.Environment.Mounts(cfg.BindMounts); len(mounts) != len(cfg.BindMounts)+strings.Count(c.nomad, "host_path:") {
			t.Errorf("%s: mounts %v", c.nomad, mounts)
		}
	}
}

// TestNumberOfLogPolicies: each line is matched with each policy. The error names the place.
func TestNumberOfLogPolicies(t *testing.T) {
	for n, want := range map[int]string{50: "", 51: "x.yaml:3:3: log_policies: has 51 policies; at most 50 are allowed"} {
		text := "checkpoint_storage: {type: shared_fs, host_path: /x}\nlog_policies:\n"
		for i := range n {
			text += fmt.Sprintf("  - {name: n%d, pattern: p}\n", i)
		}
		raw, _, err := expconf.Parse("x.yaml", []byte(text+"name: x\nentrypoint: x\nsearcher: {name: single, metric: loss, max_length: 1}\n"))
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: "x"})
		if err == nil {
			err = cfg.Validate()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v, want %q", n, err, want)
		}
	}
}

// TestExpressionsOfConstraints: the leader compares each waiting task with each node, so their expressions are few and small.
func TestExpressionsOfConstraints(t *testing.T) {
	regexps := func(n int) string {
		return "environment: {nomad: {constraints: [" + strings.Repeat("{attribute: '${meta.x}', operator: regexp, value: a}, ", n) + "]}}"
	}
	for text, want := range map[string]string{
		regexps(10): "",
		regexps(11): "this is regular expression 11, and a task has at most 10",
		"environment: {nomad: {constraints: [{attribute: '${attr.nomad.version}', operator: version, value: '" + strings.Repeat(">0,", 10) + ">0'}]}}": "has 11 conditions, and 10 are possible",
		"environment: {nomad: {affinities: [{attribute: '${meta.x}', operator: semver, value: '" + strings.Repeat(">0,", 100) + ">0'}]}}":              "has 101 conditions, and 10 are possible",
		"environment: {nomad: {affinities: [{attribute: '${meta.x}', operator: regexp, value: '(.?){900}'}]}}":                                         "at most 200 are allowed",
	} {
		raw, _, err := expconf.ParseCommand("x.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := expconf.CompleteCommand(raw, expconf.CommandDefaults{Description: "d"})
		if err == nil {
			err = cfg.Validate(false)
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: %v, want %q", text, err, want)
		}
	}
}
