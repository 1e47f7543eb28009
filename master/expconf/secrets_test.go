package expconf

import (
	"reflect"
	"strings"
	"testing"
)

func secretsProblems(list string) error {
	raw, _, err := Parse("p", []byte("environment:\n  environment_variables: [TAKEN=1]\n  secrets: "+list+"\n"))
	if err != nil {
		return err
	}
	c, err := Complete(raw, cluster())
	if err != nil {
		return err
	}
	return c.Validate()
}

func TestSecretMistakes(t *testing.T) {
	for list, want := range map[string]string{
		"[{name: a, key: k}]":                                              "environment.secrets[0]: requires env, file or both",
		"[{name: 'a/b', key: k, env: T}]":                                  "environment.secrets[0].name: expected letters",
		"[{name: a, env: T}]":                                              "environment.secrets[0].key: expected letters",
		"[{name: a, key: k, env: 1T}]":                                     "environment.secrets[0].env: expected the name of a variable",
		"[{name: a, key: k, env: DET_MASTER}]":                             "names that begin with DET_ are Detent's own",
		"[{name: a, key: k, env: TAKEN}]":                                  "environment.secrets[0].env: TAKEN is set in environment_variables too",
		"[{name: a, key: k, env: T}, {name: b, key: k, env: T, file: x}]":  "environment.secrets[1].env: T is listed twice",
		"[{name: a, key: k, file: x}, {name: b, key: k, env: U, file: x}]": "environment.secrets[1].file: x is listed twice",
		"[{name: a, key: k, file: x}, {name: b, key: k, file: x/y}]":       "x cannot be a file and a folder, for x/y",
		"[{name: a, key: k, file: /x}]":                                    "expected a relative path",
		"[{name: a, key: k, file: ../x}]":                                  "expected a relative path",
		"[{name: a, key: k, file: a/../../x}]":                             "expected a relative path",
		"[{name: a, key: k, file: .}]":                                     "expected a relative path",
		`[{name: a, key: k, file: "x\ny"}]`:                                "expected a relative path",
		"[{name: a, key: k, value: v}]":                                    "environment.secrets[0].value: unknown field",
		"[" + strings.Repeat("{name: a, key: k, file: x},", 51) + "]":      "has 51 secrets; at most 50 are allowed",
		"[{name: " + strings.Repeat("a", 129) + ", key: k, env: T}]":       "environment.secrets[0].name: expected letters",
		"[{name: a, key: k, env: " + strings.Repeat("T", 129) + "}]":       "expected the name of a variable",
	} {
		if err := secretsProblems(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v; want %q", list, err, want)
		}
	}
	if err := secretsProblems("[{name: a.b-c_d, key: k.1, env: T}, {name: a.b-c_d, key: k.1, file: x/y.json}, {name: b, key: k, env: U, file: z}]"); err != nil && strings.Contains(err.Error(), "secrets") {
		t.Error(err)
	}
}

// TestSecretsMerge: secrets of a template stay beside those of the configuration, and a configuration that
// mounts another secret at the same place wins.
func TestSecretsMerge(t *testing.T) {
	over := parsed(t, "environment: {secrets: [{name: mine, key: k, env: T}]}")
	under := parsed(t, "environment: {secrets: [{name: theirs, key: k, env: T}, {name: other, key: k, file: f}]}")
	got := Merge(Raw(over), Raw(under)).Environment.Secrets
	want := Secrets{{Name: "mine", Key: "k", Env: "T"}, {Name: "other", Key: "k", File: "f"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if names := append(got, got[0]).Names(); !reflect.DeepEqual(names, []string{"mine", "other"}) {
		t.Errorf("%v", names)
	}
	if text, err := parsed(t, "name: x").JSON(); err != nil || strings.Contains(string(text), `"secrets"`) {
		t.Errorf("a configuration without secrets has the field: %v, %s", err, text)
	}
}
