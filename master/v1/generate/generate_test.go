package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func generated(t *testing.T) string {
	t.Helper()
	files, err := table("..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := python(files)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestBindingsHaveDeterminedsFunctions: each endpoint that Determined has too has the name and the arguments of
// Determined's client, and its other endpoints are functions too.
func TestBindingsHaveDeterminedsFunctions(t *testing.T) {
	text := generated(t)
	for _, want := range []string{
		"def post_CreateExperiment(\n    session: BaseSession,\n    *,\n    body: v1CreateExperimentRequest,\n) -> v1CreateExperimentResponse:\n",
		"def get_GetExperiment(\n    session: BaseSession,\n    *,\n    experimentId: int,\n) -> v1GetExperimentResponse:\n",
		"-> Iterator[v1TaskLogsResponse]:\n", "def get_ListAudit(", "class experimentv1State(DetEnum):\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the bindings lack %q", want)
		}
	}
	if text != generated(t) {
		t.Error("the bindings have another text each time")
	}
}

// TestBindingsDefineWhatTheyMention: a class that a signature or a field names is in the file.
func TestBindingsDefineWhatTheyMention(t *testing.T) {
	text := generated(t)
	defined := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^class (\w+)`).FindAllStringSubmatch(text, -1) {
		defined[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`\bv1[A-Z]\w+`).FindAllString(text, -1) {
		if !defined[m] {
			t.Errorf("the bindings mention %s and do not define it", m)
			defined[m] = true
		}
	}
	if len(defined) < 400 {
		t.Errorf("only %d classes", len(defined))
	}
}

// TestTypesDefineWhatTheyMention: the file has each endpoint but those of MLflow's interface, and the messages that it names.
func TestTypesDefineWhatTheyMention(t *testing.T) {
	files, err := table("..")
	if err != nil {
		t.Fatal(err)
	}
	text := typescript(files)
	endpoints := regexp.MustCompile(`(?m)^export const \w+: Endpoint<(?:Record<string, )?(\w+)>?, (?:Record<string, )?(\w+)(?:\[\])?>`).FindAllStringSubmatch(text, -1)
	for _, m := range endpoints {
		for _, name := range m[1:] {
			if name != "undefined" && name != "any" && name != "string" && !strings.Contains(text, "export interface "+name+" {") {
				t.Errorf("%s is mentioned and not defined", name)
			}
		}
	}
	ours := 0
	for _, l := range readOurs(files).lines {
		if !l.foreign() {
			ours++
		}
	}
	if len(endpoints) != ours || ours < 300 {
		t.Errorf("found %d endpoints of %d", len(endpoints), ours)
	}
}

func TestWriteLeavesTheSameTextAlone(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.ts")
	if err := write(name, "x"); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(name, "x"); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) {
		t.Error("the file was written anew")
	}
	if err := write(name, "y"); err != nil {
		t.Fatal(err)
	}
	if have, err := os.ReadFile(name); err != nil || string(have) != "y" {
		t.Errorf("got %q, %v", have, err)
	}
}
