package expconf_test

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
)

// TestGPU: the description of a valid resources.gpu, and the errors of an invalid one with line and column.
func TestGPU(t *testing.T) {
	const rest = "name: a\nentrypoint: ./train\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\ncheckpoint_storage: {type: shared_fs, host_path: /tmp}\n"
	for text, want := range map[string]string{
		"gpu: {model: A100}":                                                  "a GPU whose model matches A100",
		"gpu: {model: [A100, 'H100*'], memory_gb: 40}":                        "a GPU whose model matches A100 or H100* with at least 40 GB of memory",
		"gpu: {compute_capability: 8.0}":                                      "a GPU with at least compute capability 8.0",
		"gpu: {compute_capability: '9.0', driver: '550.54', memory_gb: 79.5}": "a GPU with at least 79.5 GB of memory, compute capability 9.0, driver 550.54",
		"gpu: {mixed: true}":                                                  "",
	} {
		raw, _, err := expconf.Parse("x.yaml", []byte(rest+"resources: {"+text+"}\n"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{})
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Resources.GPU.Asks(); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		js, err := cfg.JSON()
		if err != nil {
			t.Fatal(err)
		}
		stored, err := expconf.ParseConfigJSON(js)
		if err != nil || stored.Resources.GPU.Asks() != want {
			t.Errorf("%s: stored and read again: %q %v", text, stored.Resources.GPU.Asks(), err)
		}
		can := expconf.Everything()
		if err := cfg.Refused(can); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if can.GPUs = false; cfg.Refused(can) == nil || !strings.Contains(cfg.Refused(can).Error(), "x.yaml:5:18: resources.gpu: is not available") {
			t.Errorf("%s: in a pool of cores: %v", text, cfg.Refused(can))
		}
	}
	for text, want := range map[string]string{
		"gpu: {model: 100}":              "x.yaml:5:26: resources.gpu.model: expected the name of a model or a list of names",
		"gpu: {model: ''}":               "resources.gpu.model[0]: is empty",
		"gpu: {models: A100}":            "did you mean model?",
		"gpu: {memory: 40}":              "did you mean memory_gb?",
		"gpu: {memory_gb: 0}":            "resources.gpu.memory_gb",
		"gpu: {memory_gb: 40GB}":         "resources.gpu.memory_gb: expected a number",
		"gpu: {compute_capability: new}": "resources.gpu.compute_capability: expected a compute capability",
		"gpu: {driver: newest}":          "resources.gpu.driver: is not the version of a driver",
		"gpu: {count: 2}":                "resources.slots_per_trial sets the number",
		"gpu: A100":                      "resources.gpu: expected a mapping",
		"equal_parts: both":              "resources.equal_parts: expected true or false",
	} {
		err := validated(t, rest+"resources: {"+text+"}\n")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"constraints: [{attribute: '${device.memory}', value: x}]":                          "is not an attribute of a device",
		"affinities: [{attribute: '${device.model}', value: x}]":                            "is an attribute of devices, which affinities cannot compare",
		"constraints: [{attribute: '${device.attr.memory}', operator: '>', value: 40 GiB}]": "",
	} {
		err := validated(t, rest+"environment: {nomad: {"+text+"}}\n")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// validated returns the errors of a document alone.
func validated(t *testing.T, text string) error {
	t.Helper()
	raw, _, err := expconf.Parse("x.yaml", []byte(text))
	if err != nil {
		return err
	}
	cfg, err := expconf.Complete(raw, expconf.ClusterDefaults{})
	if err != nil {
		t.Fatal(err)
	}
	return cfg.Validate()
}
