package task

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestLongTextsLeaveRoomForAProgram(t *testing.T) {
	config := func(name, description, label string) []byte {
		b, err := json.Marshal(map[string]any{"name": name, "description": description, "labels": []string{label}, "entrypoint": "a && b <c>"})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	long := strings.Repeat("é", 70_000)
	for name, c := range map[string]struct{ name, description, label, want string }{
		"short":              {"n", "d", "l", "n d [l]"},
		"long, but it fits":  {long[:60_000], "d", "l", long[:60_000] + " d [l]"},
		"a long name":        {long, "d", "l", long[:1000] + "… d [l]"},
		"a long label":       {"n", "d", long, "n d []"},
		"a long description": {"n", long, "l", "n <nil> [l]"},
		"all":                {long, long, long, long[:1000] + "… <nil> []"},
	} {
		got, err := configVariable(config(c.name, c.description, c.label))
		var f struct {
			Name, Entrypoint string
			Description      any
			Labels           []string
		}
		if err != nil || json.Unmarshal(got, &f) != nil || len("DET_EXPERIMENT_CONFIG=")+len(got)+1 > 128<<10 {
			t.Fatalf("%s: %d bytes, %v", name, len(got), err)
		}
		if s := fmt.Sprint(f.Name, " ", f.Description, " ", f.Labels); s != c.want || f.Entrypoint != "a && b <c>" {
			t.Errorf("%s: %.200s, entrypoint %s", name, s, f.Entrypoint)
		}
	}
}
