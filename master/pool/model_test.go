package pool

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
)

func TestMatchesModel(t *testing.T) {
	const a100, a1000, rtx, part = "NVIDIA A100-SXM4-40GB", "NVIDIA RTX A1000", "NVIDIA GeForce RTX 3090", "NVIDIA H100 80GB HBM3 MIG 1g.10gb"
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"A100", a100, true}, {"a100", a100, true}, {"A100*", a100, true}, {"NVIDIA A100*", a100, true}, {"*40GB", a100, true}, {"A100-SXM4-40GB", a100, true},
		{"A100 SXM4", a100, true}, {"A10", a100, false}, {"A100", a1000, false}, {"A100*", a1000, false}, {"*A100*", a1000, true}, {"40GB A100", a100, false},
		{"RTX 3090", rtx, true}, {"3090", rtx, true}, {"RTX*", rtx, false}, {"GeForce*3090", rtx, true}, {"A100[*", a100, false}, {"?100*", a100, false},
		{"H100", part, false}, {"H100*", part, false}, {"*MIG 1g.10gb", part, true}, {"MIG 1g.10gb", part, true}, {"MIG 1g", part, false},
		{"B200", "Instinct MI300X", false}, {"MI300X", "Instinct MI300X", true}, {"X*", "X", true},
	} {
		if got := MatchesModel(c.pattern, c.name); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.name, got)
		}
	}
}

func TestModelFits(t *testing.T) {
	h100 := &Model{Vendor: "nvidia", Type: "gpu", Name: "NVIDIA H100 80GB HBM3",
		Attributes: map[string]string{"memory": "81559 MiB", "compute_capability": "9", "driver_version": "550.54.15", "power": "700 W", "mig": "false"}}
	bare := &Model{Name: "NVIDIA H100 80GB HBM3"}
	number := func(n float64) *float64 { return &n }
	least := func(c expconf.Capability) *expconf.Capability { return &c }
	text := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		asks         expconf.GPU
		fits, fitsNo bool // h100, and a device of which only the name is known
	}{
		"nothing":          {expconf.GPU{}, true, true},
		"one of two":       {expconf.GPU{Model: expconf.Models{"A100", "H100"}}, true, true},
		"another":          {expconf.GPU{Model: expconf.Models{"A100"}}, false, false},
		"memory as sold":   {expconf.GPU{MemoryGB: number(80)}, true, false},
		"more memory":      {expconf.GPU{MemoryGB: number(96)}, false, false},
		"capability":       {expconf.GPU{Compute: least("8.0")}, true, false},
		"newer capability": {expconf.GPU{Compute: least("10.0")}, false, false},
		"driver":           {expconf.GPU{Driver: text("550")}, true, false},
		"newer driver":     {expconf.GPU{Driver: text("550.90")}, false, false},
		"all":              {expconf.GPU{Model: expconf.Models{"H100*"}, MemoryGB: number(40), Compute: least("9.0"), Driver: text("535.1")}, true, false},
	} {
		if h100.Fits(&c.asks) != c.fits || bare.Fits(&c.asks) != c.fitsNo {
			t.Errorf("%s: %v %v", name, h100.Fits(&c.asks), bare.Fits(&c.asks))
		}
	}
	if !h100.Fits(nil) {
		t.Error("who asks for nothing")
	}
	for _, c := range []struct {
		attribute, operator, value string
		want                       bool
	}{
		{"memory", ">=", "79 GiB", true}, {"memory", ">=", "80 GiB", false}, {"memory", ">", "80 GB", true}, {"memory", ">=", "81559", true}, {"memory", ">", "81559", false},
		{"memory", "<", "0.5 TiB", true}, {"memory", "=", "81559 MiB", true}, {"memory", ">", "3 W", false}, {"power", "<=", "0.7 kW", true},
		{"compute_capability", ">=", "8.0", true}, {"compute_capability", ">=", "9.1", false}, {"driver_version", "version", ">= 550", true},
		{"mig", "=", "false", true}, {"cuda_version", "is_set", "", false}, {"cuda_version", ">", "1", false}, {"memory", "is_set", "", true},
	} {
		if got := h100.Met(Comparison{"${device.attr." + c.attribute + "}", c.operator, c.value}, nil); got != c.want {
			t.Errorf("%s %s %s: %v", c.attribute, c.operator, c.value, got)
		}
	}
	if !h100.Met(Comparison{"${device.model}", "regexp", "H[12]00"}, nil) || h100.Met(Comparison{"${device.vendor}", "=", "amd"}, nil) || h100.Met(Comparison{"${attr.cpu.arch}", "=", "amd64"}, nil) {
		t.Error("names of devices")
	}
}

// TestGlob compares with regular expressions.
func TestGlob(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(from string, most int) string {
		b := make([]byte, r.IntN(most+1))
		for i := range b {
			b[i] = from[r.IntN(len(from))]
		}
		return string(b)
	}
	met := 0
	for range 20_000 {
		pattern, text := draw("ab**", 8), draw("ab", 8)
		parts := strings.Split(pattern, "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		want := regexp.MustCompile("^(?s:" + strings.Join(parts, ".*") + ")$").MatchString(text)
		if got := glob(pattern, text); got != want {
			t.Fatalf("%q matches %q: %v", pattern, text, got)
		}
		if want {
			met++
		}
	}
	if met < 1000 {
		t.Errorf("only %d matches", met)
	}
}
