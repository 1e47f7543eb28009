package api

import (
	"context"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/about"
)

func TestPatchOfTheMasterConfig(t *testing.T) {
	applied := 0
	r := newRig(t, func(c *Config) { c.ApplySettings = func(context.Context) { applied++ } })
	me, admin := r.user("determined"), r.user("admin")
	const path = "/api/v1/master/config"
	const debug = `{"config":{"log":{"level":"LOG_LEVEL_DEBUG"}},"fieldMask":{"paths":["log.level"]}}`
	r.anyone().patch(path, debug).is(401)
	me.patch(path, debug).is(403)
	for body, word := range map[string]string{
		`{}`: "name what is to be set", `{"config":{"log":{"level":"LOG_LEVEL_INFO"}}}`: "fieldMask.paths",
		`{"fieldMask":{"paths":["log.level"]}}`:                                                  "LOG_LEVEL_TRACE LOG_LEVEL_DEBUG",
		`{"config":{"log":{"level":"LOUD"}},"fieldMask":{"paths":["log.level"]}}`:                `"LOUD"`,
		`{"config":{"log":{"level":"LOG_LEVEL_UNSPECIFIED"}},"fieldMask":{"paths":["log"]}}`:     "config.log.level",
		`{"config":{"log":{"level":"LOG_LEVEL_INFO"}},"fieldMask":{"paths":["log.level","db"]}}`: `"db" cannot be set`,
	} {
		admin.patch(path, body).says(400, word)
	}
	stored := func() (names, values []string) {
		t.Helper()
		list, err := about.SettingsSince(t.Context(), r.db, time.Unix(0, 0))
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			names, values = append(names, s.Name), append(values, s.Value)
		}
		return names, values
	}
	if names, _ := stored(); len(names) != 0 || applied != 0 {
		t.Fatalf("refused requests set %q", names)
	}
	admin.patch(path, debug).ok()
	if _, values := stored(); len(values) != 1 || values[0] != "debug" || applied != 1 {
		t.Errorf("set: %q, applied %d times", values, applied)
	}
	admin.patch(path, `{"config":{"log":{"level":"LOG_LEVEL_ERROR","color":true}},"fieldMask":{"paths":["log","log.level"]}}`).ok()
	if names, values := stored(); len(values) != 2 || names[0] != "log.color" || values[0] != "true" || values[1] != "error" {
		t.Errorf("set: %q %q", names, values)
	}
}
