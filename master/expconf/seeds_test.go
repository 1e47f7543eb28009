package expconf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/document"

	"github.com/cockroachdb/datadriven"
)

// cluster has the cluster's defaults in these tests.
func cluster() ClusterDefaults {
	return ClusterDefaults{
		CheckpointStorage: CheckpointStorage{Type: SharedFS, HostPath: "/srv/checkpoints"},
		Seed:              1234567890,
		Name:              "wisely-calm-otter",
	}
}

// TestScripts runs the recorded scripts in testdata. Each command reads a
// document, from its input or with file= from testdata/seeds, and prints what
// became of it; go test -rewrite records again.
//
//	config    the completed configuration, then warnings and what is refused
//	check     the problems found, or ok
//	command   as config, for notebooks and their like
//	merge     documents separated by ===, the strongest first, completed
//	show      only the fields named by fields=a,b of the completed configuration
//	defaults  as show, with the input as task_container_defaults
//	override  the document after the arguments in args
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, runScript)
	})
}

func runScript(t *testing.T, d *datadriven.TestData) string {
	name, src := "in.yaml", []byte(d.Input+"\n")
	if d.HasArg("file") {
		d.ScanArgs(t, "file", &name)
		var err error
		if src, err = os.ReadFile(filepath.Join("testdata", "seeds", name)); err != nil {
			t.Fatal(err)
		}
	}
	switch d.Cmd {
	case "config", "show":
		raw, warnings, err := Parse(name, src)
		if err != nil {
			return err.Error()
		}
		return describeConfig(t, d, raw, warnings)
	case "check":
		return checked(name, src)
	case "merge":
		var merged Raw
		for i, doc := range strings.Split(string(src), "===\n") {
			raw, _, err := Parse(fmt.Sprintf("layer%d.yaml", i+1), []byte(doc))
			if err != nil {
				return err.Error()
			}
			merged = Merge(merged, raw)
		}
		return describeConfig(t, d, merged, nil)
	case "defaults":
		defaults, _, err := ParseTaskContainerDefaults(name, src)
		if err != nil {
			return err.Error()
		}
		return describeConfig(t, d, defaults.Fragment(), nil)
	case "command":
		return describeCommand(t, name, src)
	case "override":
		var args []string
		for _, a := range d.CmdArgs {
			if a.Key == "args" {
				args = a.Vals
			}
		}
		out, err := ApplyOverrides(name, src, args)
		if err != nil {
			return err.Error()
		}
		return string(out)
	}
	t.Fatalf("unknown command %q", d.Cmd)
	return ""
}

func checked(name string, src []byte) string {
	raw, _, err := Parse(name, src)
	if err != nil {
		return err.Error()
	}
	c, err := Complete(raw, cluster())
	if err != nil {
		return err.Error()
	}
	if err := c.Validate(); err != nil {
		return err.Error()
	}
	return "ok"
}

func describeConfig(t *testing.T, d *datadriven.TestData, raw Raw, warnings document.Warnings) string {
	t.Helper()
	c, err := Complete(raw, cluster())
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	if d.HasArg("fields") {
		var fields []string
		for _, a := range d.CmdArgs {
			if a.Key == "fields" {
				fields = a.Vals
			}
		}
		showFields(t, &out, c, fields)
	} else {
		out.WriteString(indented(t, c))
	}
	for _, w := range warnings {
		fmt.Fprintln(&out, "warning:", w)
	}
	if d.HasArg("can") {
		can := Capabilities{Searchers: []string{Single}, Storage: []string{SharedFS, Directory}, BindMounts: true}
		if err := c.Refused(can); err != nil {
			fmt.Fprintln(&out, "refused:", strings.ReplaceAll(err.Error(), "\n", "\nrefused: "))
		}
		for _, w := range c.Unhonoured(can) {
			fmt.Fprintln(&out, "unhonoured:", w)
		}
	}
	if d.HasArg("valid") {
		if err := c.Validate(); err != nil {
			fmt.Fprintln(&out, "invalid:", err)
		}
	}
	return out.String()
}

func showFields(t *testing.T, out *strings.Builder, c Config, fields []string) {
	t.Helper()
	src, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(src, &tree); err != nil {
		t.Fatal(err)
	}
	for _, path := range fields {
		var at any = tree
		for _, name := range strings.Split(path, ".") {
			m, _ := at.(map[string]any)
			at = m[name]
		}
		fmt.Fprintf(out, "%s: %s\n", path, compact(t, at))
	}
}

func describeCommand(t *testing.T, name string, src []byte) string {
	t.Helper()
	raw, warnings, err := ParseCommand(name, src)
	if err != nil {
		return err.Error()
	}
	c, err := CompleteCommand(raw, CommandDefaults{Description: "JupyterLab (wisely-calm-otter)"})
	if err != nil {
		return err.Error()
	}
	if err := c.Validate(false); err != nil {
		return err.Error()
	}
	var out strings.Builder
	out.WriteString(indented(t, c))
	for _, w := range append(warnings, c.Unhonoured(Capabilities{})...) {
		fmt.Fprintln(&out, "warning:", w)
	}
	return out.String()
}

func compact(t *testing.T, v any) string { return encode(t, v, "") }

func indented(t *testing.T, v any) string { return encode(t, v, "  ") + "\n" }

// encode prints JSON for reading: keys sorted, < and > as they are.
func encode(t *testing.T, v any, indent string) string {
	t.Helper()
	src, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(src))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(tree); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// TestSeeds accepts every published configuration that users are expected to
// bring, and reads its stored form back unchanged.
func TestSeeds(t *testing.T) {
	files, err := filepath.Glob("testdata/seeds/*.yaml")
	if err != nil || len(files) < 8 {
		t.Fatalf("found %d documents: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(file, "broken") { // published with a list that is none
				if _, _, err := Parse(file, src); err == nil {
					t.Fatal("accepted")
				}
				return
			}
			if strings.Contains(file, "notebook") {
				raw, _, err := ParseCommand(file, src)
				if err != nil {
					t.Fatal(err)
				}
				c, err := CompleteCommand(raw, CommandDefaults{})
				if err = errors.Join(err, c.Validate(false)); err != nil {
					t.Fatal(err)
				}
				return
			}
			raw, _, err := Parse(file, src)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Complete(raw, cluster())
			if err = errors.Join(err, c.Validate()); err != nil {
				t.Fatal(err)
			}
			roundTrip(t, c)
		})
	}
}

// roundTrip stores a configuration, reads it and stores it again.
func roundTrip(t interface {
	Helper()
	Fatalf(string, ...any)
}, c Config) Config {
	t.Helper()
	before, err := c.JSON()
	if err != nil {
		t.Fatalf("store: %v", err)
	}
	back, err := ParseConfigJSON(before)
	if err != nil {
		t.Fatalf("read back: %v\n%s", err, before)
	}
	after, err := back.JSON()
	if err != nil {
		t.Fatalf("store again: %v", err)
	}
	if !bytes.Equal(before, after) {
		t.Fatalf("changed on the way:\nbefore %s\nafter  %s", before, after)
	}
	return back
}
