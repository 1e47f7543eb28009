package security

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// settingsOfMasters: a setting that an administrator changes at one master reaches the other without a restart.
// Masters that start again use their configuration.
func settingsOfMasters(t *testing.T, r *rig.Rig) {
	// levels returns the log levels of both masters; admin is a client of the first.
	levels := func() (both [2]string, admin *client.Client, err error) {
		urls := r.Describe(t.Context()).MasterURLs
		if len(urls) != 2 {
			return both, nil, fmt.Errorf("the masters are %q", urls)
		}
		for i, url := range urls {
			c, err := client.New(client.Options{Master: url})
			if err != nil {
				return both, nil, err
			}
			if _, err := c.Login(t.Context(), "admin", ""); err != nil {
				return both, nil, err
			}
			resp, err := client.Call(t.Context(), c, v1.GetMasterConfig)
			if err != nil {
				return both, nil, err
			}
			var config struct{ Log struct{ Level string } }
			if err := json.Unmarshal(resp.Config, &config); err != nil {
				return both, nil, err
			}
			if both[i] = config.Log.Level; i == 0 {
				admin = c
			}
		}
		return both, admin, nil
	}
	var admin *client.Client
	become := func(want string) {
		t.Helper()
		rig.Eventually(t, "both masters log from level "+want, func() (bool, error) {
			both, c, err := levels()
			admin = c
			if err != nil {
				return false, err
			}
			return both == [2]string{want, want}, fmt.Errorf("the levels are %q", both)
		})
	}
	become("info")
	req := v1.PatchMasterConfigRequest{Config: v1.Config{Log: v1.LogConfig{Level: v1.LogLevelDebug}}, FieldMask: v1.FieldMask{Paths: []string{"log.level"}}}
	if _, err := client.Send(t.Context(), admin, v1.PatchMasterConfig, req); err != nil {
		t.Fatal(err)
	}
	become("debug")
	r.Kill9(t, "master")
	become("info")
}
