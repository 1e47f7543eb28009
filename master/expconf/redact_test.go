package expconf

import (
	"bytes"
	"strings"
	"testing"
)

const secretive = `# SECRET0: a comment
name: open
checkpoint_storage: {type: s3, bucket: open, access_key: SECRET1, secret_key: SECRET2, endpoint_url: 'https://SECRET3:SECRET4@open.example/?a=SECRET5'}
data: {path: open, secrets: {token: SECRET6, list: [SECRET7, {a: SECRET8}]}}
tensorboard_storage: {type: azure, container: open, account_url: 'https://open.example/x?sig=SECRET9#SECRET10'}
environment:
  image: open
  environment_variables: ["open=SECRET11=SECRET12", open]
  pod_spec: {metadata: {annotations: {open: SECRET13, number: 7654321}}, spec: {containers: [{args: [SECRET14], env: [{name: SECRET15, value: SECRET16}]}]}}
  registry_auth: {username: open, password: SECRET17}
hyperparameters: {environment_variables: {cpu: [], cuda: [], rocm: []}, token: open}
`

// TestShownToOthers: others than the owner see no secret of a configuration, neither in its JSON nor in its text.
func TestShownToOthers(t *testing.T) {
	c := parsed(t, secretive)
	whole, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	others, secrecy, err := ShownConfig(whole, false)
	if err != nil || secrecy != HiddenFromAll || bytes.Contains(others, []byte("SECRET")) || bytes.Contains(others, []byte("7654321")) {
		t.Errorf("%d %v %s", secrecy, err, others)
	}
	if got, want := bytes.Count(others, []byte("open")), bytes.Count(whole, []byte("open")); got != want {
		t.Errorf("%d public values left of %d in %s", got, want, others)
	}
	own, _, err := ShownConfig(whole, true)
	if err != nil || bytes.Count(own, []byte("SECRET")) != bytes.Count(whole, []byte("SECRET"))-11 {
		t.Errorf("the owner sees %d of %d: %s", bytes.Count(own, []byte("SECRET")), bytes.Count(whole, []byte("SECRET")), own)
	}
	text, ok := ShownText(secretive)
	if !ok || strings.Contains(text, "SECRET") || strings.Contains(text, "#") || strings.Count(text, "open") != strings.Count(secretive, "open") {
		t.Errorf("the text is %v %s", ok, text)
	}
}

// TestHiddenFrom: from whom something of a configuration is hidden.
func TestHiddenFrom(t *testing.T) {
	for src, want := range map[string]Secrecy{
		"name: a": NothingHidden,
		"checkpoint_storage: {type: s3, bucket: b, endpoint_url: 'https://h/p'}": NothingHidden,
		"environment: {environment_variables: [A, B=]}":                          NothingHidden,
		"data: {secrets: {}}": NothingHidden,
		"hyperparameters: {secret_key: a, password: b, secrets: c}": NothingHidden,
		"environment: {environment_variables: [A=1]}":               HiddenFromOthers,
		"environment: {environment_variables: {cuda: [A=1]}}":       HiddenFromOthers,
		"environment: {pod_spec: {metadata: {labels: {a: b}}}}":     HiddenFromOthers,
		"data: {secrets: 1}":                                                                                    HiddenFromAll,
		"environment: {registry_auth: {password: x}}":                                                           HiddenFromAll,
		"integrations: {pachyderm: {pachd: {token: x}}}":                                                        HiddenFromAll,
		"checkpoint_storage: {type: azure, container: c, account_url: 'https://u?sig=x'}":                       HiddenFromAll,
		"tensorboard_storage: {type: s3, secret_key: x}":                                                        HiddenFromAll,
		"{data_layer: {type: s3, secret_key: x}, environment: {environment_variables: {cpu: [], cuda: []}}}":    HiddenFromAll,
		"{data: {'a\": {\"environment_variables': 1}, environment: {environment_variables: ['K=\"secrets\"']}}": HiddenFromOthers,
	} {
		c := parsed(t, src)
		b, err := c.JSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, own := range []bool{true, false} {
			shown, got, err := ShownConfig(b, own)
			if err != nil || got != want {
				t.Errorf("%s: %d, want %d (%v): %s", src, got, want, err, shown)
			}
			same := got == NothingHidden || own && got == HiddenFromOthers
			if _, masked, _ := ShownConfig(shown, own); same != (masked == got && !bytes.Contains(shown, []byte(hidden))) {
				t.Errorf("%s is shown as %s (own: %v)", src, shown, own)
			}
		}
	}
}

// TestShownTextOfAliases: what a text says beside its fields is not shown, and a text that is far longer without aliases not at all.
func TestShownTextOfAliases(t *testing.T) {
	text, ok := ShownText("name: a\nenvironment: {<<: {environment_variables: [A=SECRET]}, environment_variables: &SECRET [], image: *SECRET }\n")
	if strings.Contains(text, "SECRET") {
		t.Errorf("%v %s", ok, text)
	}
	bomb := "data:\n  a: &a [" + strings.Repeat("x, ", 100) + "x]\n  b: &b [" + strings.Repeat("*a, ", 100) + "*a]\n"
	if text, ok := ShownText(bomb); ok {
		t.Errorf("%d bytes of %d", len(text), len(bomb))
	}
	if text, ok := ShownText("{a: "); ok {
		t.Errorf("%s", text)
	}
}

// TestUnknownFieldsAreHidden: a field that this release does not know may be the secret of another release.
func TestUnknownFieldsAreHidden(t *testing.T) {
	shown, secrecy, err := ShownConfig([]byte(`{"name":"a","environment":{"vault_token":{"a":"SECRET"}},"keys":["SECRET"],"n":1e400}`), false)
	if err != nil || secrecy != HiddenFromOthers || bytes.Contains(shown, []byte("SECRET")) || !bytes.Contains(shown, []byte("vault_token")) {
		t.Errorf("%d %v %s", secrecy, err, shown)
	}
}

func BenchmarkShownConfig(b *testing.B) {
	c, err := parsed(b, secretive).JSON()
	if err != nil {
		b.Fatal(err)
	}
	b.Run("config", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := ShownConfig(c, false); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("text", func(b *testing.B) {
		for b.Loop() {
			if _, ok := ShownText(secretive); !ok {
				b.Fatal("not shown")
			}
		}
	})
}
